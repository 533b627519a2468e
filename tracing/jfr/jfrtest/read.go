package jfrtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// A File is a file of JDK Flight Recorder.
type File struct{ Chunks []*Chunk }

// A Chunk is a part of a file that stands alone.
type Chunk struct {
	Size, StartNanos, DurationNanos, StartTicks, TicksPerSecond int64
	Last                                                        bool
	MetadataID                                                  uint64
	Classes                                                     map[uint64]*Class
	Events                                                      []*Event
	pools                                                       map[*Class]map[uint64]constant
	kinds                                                       string // the metadata, but for its place
}

type constant struct {
	value any
	raw   string
}

// A Struct is a value of a class with fields.
type Struct struct {
	Class  *Class
	Values []any
	chunk  *Chunk
}

// A ref is a value that a key stands for.
type ref struct {
	class *Class
	key   uint64
}

// An Event is one of a chunk. Values of its fields are int64, float64, bool, string, []any, *Struct, or nil.
type Event struct {
	*Struct
	Size int
}

const (
	headerSize = 68
	magic      = "FLR\x00"
)

// Read reads a file. It refuses headers, sizes, offsets and chains of checkpoints that are not exact; metadata that is not complete; keys that stand for nothing, or
// for something else than in a chunk before; chunks that lie on different lines of time; stacks without frames, and symbols that break readers in use.
func Read(data []byte) (*File, error) {
	f := &File{}
	for at := 0; at < len(data); {
		c, err := readChunk(data[at:])
		if err != nil {
			return nil, fmt.Errorf("chunk %d at %d: %w", len(f.Chunks), at, err)
		}
		f.Chunks = append(f.Chunks, c)
		at += int(c.Size)
	}
	if len(f.Chunks) == 0 {
		return nil, errors.New("no chunk")
	}
	return f, f.stable()
}

// Events iterates over the events of a class; over all if name is empty.
func (f *File) Events(name string) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, c := range f.Chunks {
			for _, e := range c.Events {
				if (name == "" || e.Class.Name == name) && !yield(e) {
					return
				}
			}
		}
	}
}

// Counts returns how many events of each class there are.
func (f *File) Counts() map[string]int {
	counts := map[string]int{}
	for e := range f.Events("") {
		counts[e.Class.Name]++
	}
	return counts
}

// Class returns the class of a name, or nil.
func (f *File) Class(name string) *Class {
	for _, c := range f.Chunks {
		for _, k := range c.Classes {
			if k.Name == name {
				return k
			}
		}
	}
	return nil
}

// Constants returns how many constants of a class the chunk has.
func (c *Chunk) Constants(class string) int {
	for k, pool := range c.pools {
		if k.Name == class {
			return len(pool)
		}
	}
	return 0
}

func readChunk(data []byte) (*Chunk, error) {
	if len(data) < headerSize || string(data[:4]) != magic {
		return nil, errors.New("no header")
	}
	word := func(at int) int64 { return int64(binary.BigEndian.Uint64(data[at:])) }
	if v := binary.BigEndian.Uint32(data[4:]); v != 2<<16|1 {
		return nil, fmt.Errorf("version %#x", v)
	}
	c := &Chunk{
		Size: word(8), StartNanos: word(32), DurationNanos: word(40), StartTicks: word(48), TicksPerSecond: word(56), Last: data[67]&2 != 0,
		pools: map[*Class]map[uint64]constant{},
	}
	pools, meta := word(16), word(24)
	switch {
	case c.Size < headerSize || c.Size > int64(len(data)):
		return nil, fmt.Errorf("%d bytes of %d", c.Size, len(data))
	case data[64] != 0 || data[65] != 0 || data[66] != 0:
		return nil, fmt.Errorf("state %v: not finished", data[64:67])
	case data[67]&1 == 0 || data[67] > 3:
		return nil, fmt.Errorf("flags %#x", data[67])
	case pools < headerSize || pools >= c.Size || meta < headerSize || meta >= c.Size:
		return nil, fmt.Errorf("constants at %d, metadata at %d, of %d", pools, meta, c.Size)
	case c.DurationNanos < 0 || c.StartTicks < 0 || c.TicksPerSecond <= 0 || c.StartNanos <= 0:
		return nil, fmt.Errorf("a time below 0")
	}
	data = data[:c.Size]
	var events []int
	types := map[int]uint64{}
	for at := headerSize; at < len(data); {
		cur := cursor{data: data, at: at, end: len(data)}
		size := cur.varint()
		types[at] = cur.varint()
		if cur.err != nil || size == 0 || size > uint64(len(data)-at) || cur.at-at > int(size) {
			return nil, fmt.Errorf("event at %d: size %d", at, size)
		}
		events = append(events, at)
		at += int(size)
	}
	if id, ok := types[int(meta)]; !ok || id != 0 {
		return nil, errors.New("no metadata where the header says")
	}
	if id, ok := types[int(pools)]; !ok || id != 1 {
		return nil, errors.New("no constants where the header says")
	}
	cur := c.open(data, int(meta))
	c.MetadataID = cur.varint()
	from := cur.at
	var err error
	if c.Classes, err = metadata(cur); err == nil {
		err = cur.done()
	}
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	c.kinds = string(data[from:cur.at])
	seen := 0
	for at := int(pools); ; seen++ {
		if id, ok := types[at]; !ok || id != 1 {
			return nil, fmt.Errorf("no checkpoint at %d", at)
		}
		types[at] = 1 << 40 // so that a circle ends
		delta, err := c.checkpoint(data, at)
		if err != nil {
			return nil, fmt.Errorf("checkpoint at %d: %w", at, err)
		}
		if delta == 0 {
			break
		}
		if delta > 0 || delta < -int64(at) {
			return nil, fmt.Errorf("checkpoint at %d: the one before it is at %+d", at, delta)
		}
		at += int(delta)
	}
	for _, at := range events {
		switch id := types[at]; id {
		case 1:
			return nil, fmt.Errorf("checkpoint at %d is not in the chain", at)
		case 0, 1 << 40:
		default:
			k := c.Classes[id]
			if k == nil || !k.IsEvent() {
				return nil, fmt.Errorf("event at %d of class %d", at, id)
			}
			cur := cursor{data: data, at: at, end: len(data)}
			size := int(cur.varint())
			cur.end = at + size
			cur.varint()
			v := c.structure(&cur, k, 0)
			if err := cur.done(); err != nil {
				return nil, fmt.Errorf("event %s at %d: %w", k.Name, at, err)
			}
			c.Events = append(c.Events, &Event{v, size})
		}
	}
	return c, c.resolvable()
}

// open returns what follows size, type, time and duration of an event that is none of a class.
func (c *Chunk) open(data []byte, at int) *cursor {
	cur := &cursor{data: data, at: at, end: len(data)}
	size := cur.varint()
	cur.end = at + int(size)
	cur.varint()
	cur.varint()
	cur.varint()
	return cur
}

func (c *cursor) done() error {
	if c.err == nil && c.at != c.end {
		return fmt.Errorf("%d bytes are left over", c.end-c.at)
	}
	return c.err
}

func (c *Chunk) checkpoint(data []byte, at int) (delta int64, err error) {
	cur := c.open(data, at)
	delta = int64(cur.varint())
	cur.byte()
	for n := cur.count(); n > 0 && cur.err == nil; n-- {
		k := c.Classes[cur.varint()]
		entries := cur.count()
		if k == nil || entries == 0 {
			cur.fail("a pool of no class, or without entries")
			break
		}
		pool := c.pools[k]
		if pool == nil {
			pool = map[uint64]constant{}
			c.pools[k] = pool
		}
		for ; entries > 0 && cur.err == nil; entries-- {
			key := cur.varint()
			from := cur.at
			if k.Name == "jdk.types.Symbol" && cur.left() > 0 && cur.data[cur.at] != 3 {
				cur.fail("a symbol of encoding %d", cur.data[cur.at])
			}
			v := c.value(cur, k, 0)
			if _, twice := pool[key]; twice {
				cur.fail("%s %d twice", k.Name, key)
			}
			if cur.err == nil {
				pool[key] = constant{v, string(data[from:cur.at])}
			}
		}
	}
	return delta, cur.done()
}

// value reads a value of a class in place.
func (c *Chunk) value(cur *cursor, k *Class, depth int) any {
	switch k.Name {
	case "boolean":
		return cur.byte() != 0
	case "byte":
		return int64(int8(cur.byte()))
	case "short":
		return int64(int16(cur.varint()))
	case "char":
		return int64(uint16(cur.varint()))
	case "int":
		return int64(int32(cur.varint()))
	case "long":
		return int64(cur.varint())
	case "float":
		return cur.float()
	case "double":
		return cur.double()
	case "java.lang.String":
		s := cur.string()
		if p, ok := s.(pooledString); ok {
			return ref{k, uint64(p)}
		}
		return s
	}
	s := c.structure(cur, k, depth+1)
	if k.Simple && len(s.Values) == 1 {
		return s.Values[0]
	}
	return s
}

func (c *Chunk) structure(cur *cursor, k *Class, depth int) *Struct {
	s := &Struct{Class: k, chunk: c}
	if depth > maxDepth {
		cur.fail("values too deep")
		return s
	}
	for _, f := range k.Fields {
		if cur.err != nil {
			break // else values within values would take for ever to fail
		}
		one := func() any {
			if f.Pooled {
				return ref{f.Class, cur.varint()}
			}
			return c.value(cur, f.Class, depth)
		}
		if !f.List {
			s.Values = append(s.Values, one())
			continue
		}
		list := make([]any, 0)
		for n := cur.count(); n > 0 && cur.err == nil; n-- {
			list = append(list, one())
		}
		s.Values = append(s.Values, list)
	}
	return s
}

// Get returns the value at a path of fields, such as "eventThread.group.name"; nil if there is none on the way. A number in it is a position in a list.
func (s *Struct) Get(path string) any {
	var v any = s
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case *Struct:
			v = nil
			for i, f := range x.Class.Fields {
				if f.Name == name {
					v = x.chunk.resolve(x.Values[i])
				}
			}
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = s.chunk.resolve(x[i])
		default:
			return nil
		}
	}
	return v
}

// Has reports whether the class has the field.
func (s *Struct) Has(field string) bool {
	for _, f := range s.Class.Fields {
		if f.Name == field {
			return true
		}
	}
	return false
}

// Duration returns the duration of an event, 0 if it has none, in ticks.
func (e *Event) Duration() int64 { d, _ := e.Get("duration").(int64); return d }

// Start returns when an event began, in ticks.
func (e *Event) Start() int64 { t, _ := e.Get("startTime").(int64); return t }

// Stack returns the names of the functions of an event's stack, class and method joined by a dot, innermost first.
func (e *Event) Stack() (functions []string) {
	frames, _ := e.Get("stackTrace.frames").([]any)
	for _, f := range frames {
		frame := f.(*Struct)
		functions = append(functions, fmt.Sprint(frame.Get("method.type.name"), ".", frame.Get("method.name")))
	}
	return functions
}

// resolve returns what a key stands for. A key may stand for another one, but not for itself.
func (c *Chunk) resolve(v any) any {
	for range maxDepth {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		k, ok := c.pools[r.class][r.key]
		if !ok {
			return nil
		}
		v = k.value
	}
	return nil
}
