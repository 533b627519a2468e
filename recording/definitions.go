package recording

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Definitions tell what the ids in events stand for. A [Source] has them.
type Definitions interface {
	Strings
	Stack(flight.StackID) flight.Stack
	UserKind(number uint32) *flight.UserKindInfo
}

// A needs is the ids that a chunk refers to.
type needs struct {
	strings map[flight.StringID]bool
	stacks  map[flight.StackID]bool
	kinds   map[uint32]bool

	blockers map[flight.Blocker]bool // those that can have a name
}

func newNeeds() *needs {
	return &needs{map[flight.StringID]bool{}, map[flight.StackID]bool{}, map[uint32]bool{}, map[flight.Blocker]bool{}}
}

func (n *needs) reset() { clear(n.strings); clear(n.stacks); clear(n.kinds); clear(n.blockers) }

// referring lists of each kind the fields that refer to something.
var referring = func() (all [flight.KindCount][]flight.Field) {
	for k := range all {
		for _, f := range flight.Kinds[k].Fields {
			switch f.Use {
			case flight.FieldStack, flight.FieldString, flight.FieldUserKind, flight.FieldBlocker:
				all[k] = append(all[k], f)
			}
		}
	}
	return all
}()

func (n *needs) event(e *Event, d Definitions) {
	if e.Kind >= flight.KindCount {
		return
	}
	for _, f := range referring[e.Kind] {
		if f.Use == flight.FieldBlocker {
			n.blocker(flight.Blocker(e.Word(f)))
			continue
		}
		v := uint32(e.Word(f))
		if v == 0 && f.Use != flight.FieldUserKind {
			continue
		}
		switch f.Use {
		case flight.FieldStack:
			n.stacks[flight.StackID(v)] = true
		case flight.FieldString:
			n.strings[flight.StringID(v)] = true
		case flight.FieldUserKind:
			n.kinds[v] = true
			if k := d.UserKind(v); k != nil {
				for _, uf := range k.Fields {
					if uf.Use == flight.FieldString {
						n.strings[flight.StringID(e.Word(uf))] = true
					}
				}
			}
		}
	}
}

func (n *needs) state(s *State) {
	for i := range s.Threads {
		if id := s.Threads[i].Stack; id != 0 {
			n.stacks[id] = true
		}
		n.blocker(s.Threads[i].Blocker)
	}
}

func (n *needs) holds(all []Hold) {
	for i := range all {
		if id := all[i].Stack; id != 0 {
			n.stacks[id] = true
		}
	}
}

// A lexicon holds the texts of a chunk's definitions, each once. 0 is the empty one.
type lexicon struct {
	numbers map[string]uint64
	texts   []string
}

func (l *lexicon) number(s string) uint64 {
	if s == "" {
		return 0
	}
	n, ok := l.numbers[s]
	if !ok {
		if l.numbers == nil {
			l.numbers = map[string]uint64{}
		}
		l.texts = append(l.texts, s)
		n = uint64(len(l.texts))
		l.numbers[s] = n
	}
	return n
}

const (
	frameInlined  = 1
	frameInternal = 2
)

// A frameKey tells frames apart in a chunk.
type frameKey struct {
	fn, file   uint64
	line, bits uint64
	pc         uint64
}

// encode appends the definitions of what a chunk needs: texts, strings, frames, stacks, kinds of the program's own.
func (n *needs) encode(b []byte, d Definitions) []byte {
	var words lexicon
	var body []byte
	put := func(vs ...uint64) {
		for _, v := range vs {
			body = binary.AppendUvarint(body, v)
		}
	}
	ids := keys(n.strings)
	put(uint64(len(ids)))
	var before flight.StringID
	for _, id := range ids {
		put(uint64(id-before), words.number(d.String(id)))
		before = id
	}

	var frames []byte
	frameNumbers := map[frameKey]uint64{}
	var pcBefore uint64
	frame := func(f *flight.Frame) uint64 {
		k := frameKey{fn: words.number(f.Func), file: words.number(f.File), line: uint64(uint32(f.Line)), pc: f.PC}
		if f.Inlined {
			k.bits |= frameInlined
		}
		if f.Internal {
			k.bits |= frameInternal
		}
		num, ok := frameNumbers[k]
		if !ok {
			num = uint64(len(frameNumbers))
			frameNumbers[k] = num
			for _, v := range []uint64{k.fn, k.file, k.line, k.bits, zigzag(int64(k.pc - pcBefore))} {
				frames = binary.AppendUvarint(frames, v)
			}
			pcBefore = k.pc
		}
		return num
	}
	var stacks []byte
	stackIDs := keys(n.stacks)
	var stackBefore flight.StackID
	for _, id := range stackIDs {
		s := d.Stack(id)
		bits := uint64(0)
		if s.Truncated {
			bits = 1
		}
		for _, v := range []uint64{uint64(id - stackBefore), bits, uint64(s.Unsymbolised), uint64(len(s.Frames))} {
			stacks = binary.AppendUvarint(stacks, v)
		}
		for i := range s.Frames {
			stacks = binary.AppendUvarint(stacks, frame(&s.Frames[i]))
		}
		stackBefore = id
	}
	put(uint64(len(frameNumbers)))
	body = append(body, frames...)
	put(uint64(len(stackIDs)))
	body = append(body, stacks...)

	var kinds []*flight.UserKindInfo
	for _, num := range keys(n.kinds) {
		if k := d.UserKind(num); k != nil {
			kinds = append(kinds, k)
		}
	}
	put(uint64(len(kinds)))
	for _, k := range kinds {
		put(uint64(k.Number), words.number(k.Name), uint64(len(k.Fields)))
		for _, f := range k.Fields {
			put(words.number(f.Name), uint64(f.At), uint64(f.Use))
		}
	}

	b = binary.AppendUvarint(b, uint64(len(words.texts)))
	for _, s := range words.texts {
		b = appendText(b, s)
	}
	return append(b, body...)
}

func keys[K cmp.Ordered](m map[K]bool) []K {
	all := make([]K, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// Bounds on what a reader remembers of a recording that may be hostile.
const (
	maxStrings   = 1 << 18
	maxStacks    = 1 << 17
	maxUserKinds = 1 << 12
	maxFrames    = 1 << 10 // of a stack
)

// A glossary is the definitions of the chunks that were read.
type glossary struct {
	strings map[flight.StringID]string
	stacks  map[flight.StackID]flight.Stack
	kinds   map[uint32]*flight.UserKindInfo

	blockers map[flight.Blocker]string // names
}

func newGlossary() glossary {
	return glossary{map[flight.StringID]string{}, map[flight.StackID]flight.Stack{}, map[uint32]*flight.UserKindInfo{}, map[flight.Blocker]string{}}
}

// decode adds the definitions of a chunk.
func (g *glossary) decode(c *cursor) error {
	word := c.words()
	id := uint32(0)
	for range c.count(2) {
		id += uint32(c.uvarint())
		s := word()
		if len(g.strings) < maxStrings && !c.bad {
			g.strings[flight.StringID(id)] = s
		}
	}
	frames := make([]flight.Frame, c.count(5))
	pc := uint64(0)
	for i := range frames {
		f := &frames[i]
		f.Func, f.File = word(), word()
		f.Line = int(int32(c.uvarint()))
		bits := c.uvarint()
		f.Inlined, f.Internal = bits&frameInlined != 0, bits&frameInternal != 0
		pc += uint64(c.varint())
		f.PC = pc
	}
	id = 0
	for range c.count(4) {
		id += uint32(c.uvarint())
		s := flight.Stack{ID: flight.StackID(id), Truncated: c.uvarint()&1 != 0, Unsymbolised: int(c.uvarint() & 0xffff)}
		n := c.count(1)
		if n > maxFrames {
			c.fail()
			break
		}
		s.Frames = make([]flight.Frame, 0, n)
		for range n {
			at := c.uvarint()
			if at >= uint64(len(frames)) {
				c.fail()
				break
			}
			f := frames[at]
			if len(s.PCs) == 0 || s.PCs[len(s.PCs)-1] != f.PC {
				s.PCs = append(s.PCs, f.PC)
			}
			s.Frames = append(s.Frames, f)
		}
		was, ok := g.stacks[s.ID]
		if c.bad || ok && was.Unsymbolised <= s.Unsymbolised || !ok && len(g.stacks) == maxStacks {
			continue
		}
		g.stacks[s.ID] = s
	}
	for range c.count(3) {
		k := &flight.UserKindInfo{Number: uint32(c.uvarint()), Name: word()}
		for range c.count(3) {
			k.Fields = append(k.Fields, flight.Field{Name: word(), At: flight.Place(c.uvarint()), Use: flight.FieldUse(c.uvarint())})
			if f := &k.Fields[len(k.Fields)-1]; f.Use >= flight.FieldUseCount {
				c.fail()
			}
		}
		if len(g.kinds) < maxUserKinds && !c.bad {
			g.kinds[k.Number] = k
		}
	}
	if len(c.b) > 0 {
		c.fail()
	}
	return c.err("definitions")
}

// encodeInfo appends what is known of the source.
func encodeInfo(b []byte, in *Info) []byte {
	b = binary.AppendUvarint(b, uint64(in.PID))
	for _, s := range []string{in.Program, in.Exe, in.GoVersion, in.GoArch, in.Settings} {
		b = appendText(b, s)
	}
	b = binary.AppendVarint(b, in.Started.UnixNano())
	b = binary.AppendVarint(b, in.From.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(in.Incomplete)))
	for _, s := range in.Incomplete {
		b = appendText(b, s)
	}
	return b
}

func decodeInfo(c *cursor) (Info, error) {
	in := Info{PID: int(uint32(c.uvarint()))}
	for _, s := range []*string{&in.Program, &in.Exe, &in.GoVersion, &in.GoArch, &in.Settings} {
		*s = safeText(c.text())
	}
	in.Started = time.Unix(0, c.varint())
	in.From = time.Unix(0, c.varint())
	for range c.count(1) {
		in.Incomplete = append(in.Incomplete, safeText(c.text()))
	}
	if len(c.b) > 0 {
		c.fail()
	}
	return in, c.err("info")
}

// safeText replaces what a hostile file could use to confuse a terminal: control characters and broken UTF-8.
func safeText(s string) string {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == utf8.RuneError }
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// words reads a table of texts, and returns a function that reads the number of one and returns that: 0 is the empty text.
func (c *cursor) words() func() string {
	texts := []string{""}
	for range c.count(1) {
		texts = append(texts, safeText(c.text()))
	}
	return func() string {
		n := c.uvarint()
		if n >= uint64(len(texts)) {
			c.fail()
			return ""
		}
		return texts[n]
	}
}
