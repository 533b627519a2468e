package memory

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A module is the table of functions that each Go program has in its memory: pclntab, by which tracebacks are made. It is there without
// symbols, without DWARF, and wherever the program was loaded. Its numbers are not trusted: what makes no sense is a function without a name.
type module struct {
	window
	header      uint64 // address of the table
	text, etext uint64
	quantum     uint64 // of program counters
	gofunc      uint64
	names       uint64 // addresses of parts
	units       uint64
	files       uint64
	pcs         uint64
	functions   uint64 // index and functions, which are relative to it
	count       uint64

	data, bss area // where the program's variables are

	functionSize                       uint64
	inlineSize                         int
	inlineID, inlineName, inlineParent int
	wrapper                            uint8
}

const (
	maxFunctions = 1 << 24
	maxTries     = 1 << 12 // words that could be the address of the table
)

var errNoModule = errors.New("its table of functions is not in the memory")

// findModule searches for the program's moduledata: it begins with the address of the table of functions, and repeats the addresses of the parts.
func findModule(s space, l layout) (*module, error) {
	var found *module
	first := map[uint64]bool{} // words that were looked at
	scan(s, func(data []byte, address uint64) bool {
		le := binary.LittleEndian
		for i := 0; i+max(l.gofunc, l.bss+8)+8 <= len(data); i += 8 {
			header := le.Uint64(data[i:])
			// A cheap test first: the parts of the table lie behind its header, in this order.
			names, units := le.Uint64(data[i+8:]), le.Uint64(data[i+32:])
			if header == 0 || names <= header || units <= names || le.Uint64(data[i+16:]) != le.Uint64(data[i+24:]) || first[header] {
				continue
			}
			if m := readModule(s, l, data[i:]); m != nil {
				found = m
				return false
			}
			if first[header] = true; len(first) > maxTries {
				return false
			}
		}
		return true
	})
	if found == nil {
		return nil, errNoModule
	}
	return found, nil
}

// readModule checks a moduledata, and is nil if it is none.
func readModule(memory flight.Memory, l layout, data []byte) *module {
	le := binary.LittleEndian
	m := &module{window: window{memory: memory}, header: le.Uint64(data), functionSize: uint64(l.functionSize), inlineSize: l.inlineSize, inlineID: l.inlineID, inlineName: l.inlineName, inlineParent: l.inlineParent, wrapper: l.wrapper}
	h := m.bytes(m.header, 72)
	if len(h) < 72 || le.Uint32(h) != l.magic || h[4] != 0 || h[5] != 0 || h[6] == 0 || h[7] != 8 {
		return nil
	}
	m.quantum, m.count = uint64(h[6]), le.Uint64(h[8:])
	m.names, m.units, m.files = m.header+le.Uint64(h[32:]), m.header+le.Uint64(h[40:]), m.header+le.Uint64(h[48:])
	m.pcs, m.functions = m.header+le.Uint64(h[56:]), m.header+le.Uint64(h[64:])
	m.text, m.etext, m.gofunc = le.Uint64(data[l.text:]), le.Uint64(data[l.etext:]), le.Uint64(data[l.gofunc:])
	m.data, m.bss = area{le.Uint64(data[l.data:]), le.Uint64(data[l.data+8:])}, area{le.Uint64(data[l.bss:]), le.Uint64(data[l.bss+8:])}
	if m.count == 0 || m.count > maxFunctions || m.text == 0 || m.text >= m.etext ||
		m.names != le.Uint64(data[8:]) || m.pcs != le.Uint64(data[l.pctab:]) || m.functions != le.Uint64(data[l.ftab:]) {
		return nil
	}
	if _, _, ok := m.entry(m.count - 1); !ok {
		return nil
	}
	return m
}

// entry returns where function i begins, as offset from the text, and where it is described.
func (m *module) entry(i uint64) (start, at uint32, ok bool) {
	b := m.bytes(m.functions+8*i, 8)
	if len(b) < 8 {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), true
}

// A function is one of a module.
type function struct {
	start uint64 // address of its code
	at    uint64 // address of its description

	name           uint32
	pcsp           uint32
	pcfile, pcline uint32
	unit           uint32
	npcdata        uint32
	nfuncdata      uint8
	id             uint8
}

// find returns the function that an address of code is in.
func (m *module) find(pc uint64) (function, bool) {
	if pc < m.text || pc >= m.etext || pc-m.text > 1<<32-1 {
		return function{}, false
	}
	offset := uint32(pc - m.text)
	lo, hi := uint64(0), m.count
	for lo < hi { // the first that begins behind it
		mid := (lo + hi) / 2
		start, _, ok := m.entry(mid)
		if !ok {
			return function{}, false
		}
		if start > offset {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == 0 {
		return function{}, false
	}
	start, at, ok := m.entry(lo - 1)
	b := m.bytes(m.functions+uint64(at), int(m.functionSize))
	if !ok || len(b) < int(m.functionSize) {
		return function{}, false
	}
	le := binary.LittleEndian
	return function{
		start: m.text + uint64(start), at: m.functions + uint64(at),
		name: le.Uint32(b[4:]), pcsp: le.Uint32(b[16:]), pcfile: le.Uint32(b[20:]), pcline: le.Uint32(b[24:]),
		npcdata: le.Uint32(b[28:]), unit: le.Uint32(b[32:]), id: b[m.functionSize-4], nfuncdata: b[m.functionSize-1],
	}, true
}

// nameAt returns the name of a function, with "[...]" for type arguments, as tracebacks have it.
func (m *module) nameAt(offset uint32) string {
	name := m.window.text(m.names + uint64(offset))
	if i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']'); 0 <= i && i < j {
		name = name[:i] + "[...]" + name[j+1:]
	}
	return name
}

const maxSteps = 1 << 20

// value looks up one of the tables that give a number for each address of a function.
func (m *module) value(table uint32, f function, pc uint64) (int32, bool) {
	if table == 0 {
		return 0, false
	}
	var (
		at    = m.pcs + uint64(table)
		here  = f.start
		val   = int32(-1)
		chunk []byte
	)
	number := func() (uint32, bool) {
		var v uint32
		for shift := 0; shift < 35; shift += 7 {
			if len(chunk) == 0 {
				if chunk = m.bytes(at, 64); len(chunk) == 0 {
					return 0, false
				}
			}
			c := chunk[0]
			chunk = chunk[1:]
			at++
			v |= uint32(c&0x7f) << shift
			if c < 0x80 {
				return v, true
			}
		}
		return 0, false
	}
	for step := range maxSteps {
		delta, ok := number()
		if !ok || delta == 0 && step > 0 {
			return 0, false
		}
		val += int32(delta>>1) ^ -int32(delta&1)
		length, ok := number()
		if !ok {
			return 0, false
		}
		here += uint64(length) * m.quantum
		if pc < here {
			return val, true
		}
	}
	return 0, false
}

// pcdata looks up one of the numbered tables.
func (m *module) pcdata(f function, i uint32, pc uint64) (int32, bool) {
	if i >= f.npcdata {
		return 0, false
	}
	table, ok := m.uint32(f.at + m.functionSize + 4*uint64(i))
	if !ok {
		return 0, false
	}
	return m.value(table, f, pc)
}

// position returns the file and line of an address of f.
func (m *module) position(f function, pc uint64) (string, int) {
	line, _ := m.value(f.pcline, f, pc)
	i, ok := m.value(f.pcfile, f, pc)
	if !ok || i < 0 {
		return "?", int(line)
	}
	offset, ok := m.uint32(m.units + 4*(uint64(f.unit)+uint64(i)))
	if !ok || offset == 1<<32-1 {
		return "?", int(line)
	}
	return m.window.text(m.files + uint64(offset)), int(line)
}

const (
	pcdataInline   = 2
	funcdataInline = 3
	maxInlined     = 255
)

// inlineTree returns the address of the table of calls inlined into f, 0 if there are none.
func (m *module) inlineTree(f function) uint64 {
	if f.nfuncdata <= funcdataInline || f.npcdata > 1<<10 {
		return 0
	}
	offset, ok := m.uint32(f.at + m.functionSize + 4*(uint64(f.npcdata)+funcdataInline))
	if !ok || offset == 1<<32-1 {
		return 0
	}
	return m.gofunc + uint64(offset)
}

// frames returns the calls at a return address, innermost first: those that were inlined, and the function itself, without wrappers of the compiler.
func (m *module) frames(pc uint64) []flight.Frame {
	f, ok := m.find(pc - 1)
	if !ok {
		return nil
	}
	var all []flight.Frame
	add := func(name, file string, line int, inlined bool) {
		if frame, shown := flight.NewFrame(name, file, line, pc, inlined); shown {
			all = append(all, frame)
		}
	}
	at := pc - 1
	if tree := m.inlineTree(f); tree != 0 {
		for range maxInlined {
			i, ok := m.pcdata(f, pcdataInline, at)
			if !ok || i < 0 {
				break
			}
			call := m.bytes(tree+uint64(m.inlineSize)*uint64(i), m.inlineSize)
			if len(call) < m.inlineSize {
				break
			}
			file, line := m.position(f, at)
			if call[m.inlineID] != m.wrapper {
				add(m.nameAt(binary.LittleEndian.Uint32(call[m.inlineName:])), file, line, true)
			}
			at = f.start + uint64(binary.LittleEndian.Uint32(call[m.inlineParent:]))
		}
	}
	if f.id != m.wrapper {
		file, line := m.position(f, at)
		add(m.nameAt(f.name), file, line, false)
	}
	return slices.Clip(all)
}
