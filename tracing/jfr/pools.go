package jfr

import (
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A pool holds the constants of a class.
//
//	P1  A key means one value in the whole file: readers take what they know of a key from the chunk before. Key 0 is null.
//	P2  A chunk has the constants that its events need, and those that these need: marked and its references.
type pool struct {
	class   string
	entries []constant // by key
	marked  []uint32   // keys of the constants of this chunk
}

// A constant is an entry of a pool.
type constant struct {
	value []byte
	needs []reference
	chunk uint32 // the last chunk that has it
}

// A reference is a constant that another one needs.
type reference struct {
	pool *pool
	key  uint32
}

func newPool(class string) *pool { return &pool{class: class, entries: make([]constant, 1)} }

func (p *pool) add(value []byte, needs ...reference) uint32 {
	p.entries = append(p.entries, constant{value: value, needs: needs})
	return uint32(len(p.entries) - 1)
}

// mark puts a constant into a chunk.
func (p *pool) mark(key, chunk uint32) {
	c := &p.entries[key]
	if c.chunk == chunk || key == 0 {
		return
	}
	c.chunk = chunk
	p.marked = append(p.marked, key)
	for _, r := range c.needs {
		r.pool.mark(r.key, chunk)
	}
}

// append appends the constants of the chunk, and forgets that they are of it. It reports whether there are any: a pool without is not written.
func (p *pool) append(b []byte, id int) ([]byte, bool) {
	if len(p.marked) == 0 {
		return b, false
	}
	b = appendVarint(b, uint64(id))
	b = appendVarint(b, uint64(len(p.marked)))
	for _, key := range p.marked {
		b = appendVarint(b, uint64(key))
		b = append(b, p.entries[key].value...)
	}
	p.marked = p.marked[:0]
	return b, true
}

// pools are all constants but threads. They grow with the code and the words of a program, not with its events.
type pools struct {
	present                                                                                        uint32 // the chunk's number, from 1 on
	symbols, packages, modules, classes, loaders, methods, stacks, strings, frames, states, groups *pool

	symbolKeys, packageKeys, classKeys, methodKeys, stringKeys map[string]uint32
	stackKeys, siteKeys                                        paged
	files                                                      []uint32 // keys of strings, by method: where its code is
	own, standard                                              uint32   // class loaders
	module                                                     uint32   // of the standard library
	virtual, goroutines, carriers                              uint32   // groups
}

const methodDescriptor = "()V"

func newPools(goVersion string) *pools {
	p := &pools{
		present: 1,
		symbols: newPool(typeSymbol), packages: newPool(typePackage), modules: newPool(typeModule), classes: newPool(typeClass), loaders: newPool(typeLoader),
		methods: newPool(typeMethod), stacks: newPool(typeStack), strings: newPool(typeString), frames: newPool(typeFrames), states: newPool(typeStates),
		groups: newPool(typeGroup), files: make([]uint32, 1),
		symbolKeys: map[string]uint32{}, packageKeys: map[string]uint32{}, classKeys: map[string]uint32{}, methodKeys: map[string]uint32{}, stringKeys: map[string]uint32{},
	}
	p.standard = p.loader("bootstrap")
	p.own = p.loader("app")
	name, version := p.symbol("std"), p.symbol(goVersion)
	b := appendVarint(nil, uint64(name))
	b = appendVarint(b, uint64(version))
	b = append(b, 0) // location
	b = appendVarint(b, uint64(p.standard))
	p.module = p.modules.add(b, reference{p.symbols, name}, reference{p.symbols, version}, reference{p.loaders, p.standard})
	for _, name := range frameTypes[1:] {
		p.frames.add(appendUTF8(nil, name))
	}
	for _, name := range states[1:] {
		p.states.add(appendUTF8(nil, name))
	}
	p.virtual = p.group("VirtualThreads", 0)
	system := p.group("system", 0)
	p.goroutines = p.group("main", system)
	p.carriers = p.group("CarrierThreads", system)
	return p
}

func (p *pools) all() []*pool {
	return []*pool{p.symbols, p.packages, p.modules, p.classes, p.loaders, p.methods, p.stacks, p.strings, p.frames, p.states, p.groups}
}

func (p *pools) loader(name string) uint32 {
	key := p.symbol(name)
	return p.loaders.add(appendVarint([]byte{0}, uint64(key)), reference{p.symbols, key})
}

func (p *pools) group(name string, parent uint32) uint32 {
	return p.groups.add(appendUTF8(appendVarint(nil, uint64(parent)), name), reference{p.groups, parent})
}

func (p *pools) symbol(s string) uint32 {
	key, ok := p.symbolKeys[s]
	if !ok {
		key = p.symbols.add(appendUTF8(nil, strings.ToValidUTF8(s, "\uFFFD")))
		p.symbolKeys[s] = key
	}
	return key
}

// string returns the key of a string, which is in the chunk then; 0 of the empty one.
func (p *pools) string(s string) uint32 {
	if s == "" {
		return 0
	}
	key, ok := p.stringKeys[s]
	if !ok {
		key = p.strings.add(appendUTF8(nil, strings.ToValidUTF8(s, "\uFFFD")))
		p.stringKeys[s] = key
	}
	p.strings.mark(key, p.present)
	return key
}

// class returns the key of a class; path is what it is in.
func (p *pools) class(name, pkg string, standard bool) uint32 {
	key, ok := p.classKeys[name]
	if ok {
		return key
	}
	loader := p.own
	if standard {
		loader = p.standard
	}
	symbol := p.symbol(name)
	needs := []reference{{p.loaders, loader}, {p.symbols, symbol}}
	b := appendVarint(nil, uint64(loader))
	b = appendVarint(b, uint64(symbol))
	var in uint32
	if pkg != "" {
		in = p.pkg(pkg, standard)
		needs = append(needs, reference{p.packages, in})
	}
	b = appendVarint(b, uint64(in))
	b = append(b, 1, 0) // public, not hidden
	key = p.classes.add(b, needs...)
	p.classKeys[name] = key
	return key
}

func (p *pools) pkg(name string, standard bool) uint32 {
	key, ok := p.packageKeys[name]
	if ok {
		return key
	}
	symbol := p.symbol(name)
	needs := []reference{{p.symbols, symbol}}
	var module uint32
	if standard && !strings.HasPrefix(name, ourRuntime) {
		module = p.module
		needs = append(needs, reference{p.modules, module})
	}
	b := appendVarint(nil, uint64(symbol))
	b = appendVarint(b, uint64(module))
	key = p.packages.add(append(b, 1), needs...) // exported
	p.packageKeys[name] = key
	return key
}

// method returns the key of a function.
func (p *pools) method(f *flight.Frame) uint32 {
	key, ok := p.methodKeys[f.Func]
	if ok {
		return key
	}
	s := split(f.Func)
	standard := f.Internal || ofStandardLibrary(s.path)
	class, name, descriptor := p.class(s.Class, s.Package, standard), p.symbol(s.Method), p.symbol(methodDescriptor)
	b := appendVarint(nil, uint64(class))
	b = appendVarint(b, uint64(name))
	b = appendVarint(b, uint64(descriptor))
	b = append(b, 1) // public
	b = appendBool(b, f.Internal)
	key = p.methods.add(b, reference{p.classes, class}, reference{p.symbols, name}, reference{p.symbols, descriptor})
	p.methodKeys[f.Func] = key
	var file uint32
	if f.File != "" {
		file = p.string(f.File)
	}
	p.files = append(p.files, file)
	return key
}

// stack returns the key of a stack, which is in the chunk then. A stack without frames is none: readers break on it.
func (p *pools) stack(frames []flight.Frame, truncated bool) uint32 {
	if len(frames) == 0 {
		return 0
	}
	b := appendBool(nil, truncated)
	b = appendVarint(b, uint64(len(frames)))
	needs := make([]reference, 0, len(frames)+len(frameTypes))
	var used [4]bool
	for i := range frames {
		f := &frames[i]
		kind := frameCompiled
		switch {
		case f.Inlined:
			kind = frameInlined
		case strings.HasSuffix(f.File, ".s"):
			kind = frameNative
		}
		method := p.method(f)
		needs = append(needs, reference{p.methods, method})
		used[kind] = true
		b = appendVarint(b, uint64(method))
		b = appendInt(b, int32(f.Line))
		b = append(b, 0, byte(kind)) // bytecode index
	}
	for kind, is := range used {
		if is {
			needs = append(needs, reference{p.frames, uint32(kind)})
		}
	}
	return p.stacks.add(b, needs...)
}

// A paged table has a number for each of many others of which most are near each other.
type paged struct{ pages []*[pageSize]uint32 }

const pageSize = 1 << 12

// at returns where the number of i is kept.
func (t *paged) at(i uint32) *uint32 {
	page := int(i / pageSize)
	if page >= len(t.pages) {
		t.pages = append(t.pages, make([]*[pageSize]uint32, page+1-len(t.pages))...)
	}
	if t.pages[page] == nil {
		t.pages[page] = new([pageSize]uint32)
	}
	return &t.pages[page][i%pageSize]
}
