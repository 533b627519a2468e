package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump/goroutines"
)

// ErrNotGo is what errors match of a process, or a core file, that no release of Go has built that is known here.
var ErrNotGo = errors.New("not a vtscope process, nor a Go program whose goroutines can be read")

// A program is where a Go program keeps its goroutines. It needs no symbols and no DWARF.
type program struct {
	unwinder
	version string
	layout  layout
	module  *module
	lists   []uint64 // addresses of runtime.allgs, and of copies of it
	reasons []string // runtime.waitReasonStrings

	again    bool    // it was looked at before, and so may be again
	known    []still // of the look before, by address
	recalled int     // by the newest look
	whole    int     // words of the stacks that the newest whole look found; 0: none was taken

	// registers returns those of an OS thread that stands still; nil if none does.
	registers func(tid int) (r registers, ok bool)
	arm       bool
}

// findProgram searches for what a program keeps. Errors match [ErrNotGo], or say what was not found.
func findProgram(s space) (*program, error) {
	version := findVersion(s)
	if version == "" {
		return nil, ErrNotGo
	}
	l, known := layoutOf(version)
	if !known {
		return nil, fmt.Errorf("%w: it is of %s, and known are %s", ErrNotGo, version, knownReleases)
	}
	m, err := findModule(s, l)
	if err != nil {
		return nil, fmt.Errorf("a program of %s: %w", version, err)
	}
	p := &program{unwinder: unwinder{space: s, stacks: newStackTable(m)}, version: version, layout: l, module: m, arm: m.quantum == 4}
	p.reasons = p.findReasons()
	if len(p.reasons) == 0 {
		return nil, fmt.Errorf("a program of %s: its wait reasons are not in the memory", version)
	}
	if p.lists = p.findLists(); len(p.lists) == 0 {
		return nil, fmt.Errorf("a program of %s: its goroutines are not in the memory", version)
	}
	return p, nil
}

// buildInfo begins what the linker writes of a program into its data (debug/buildinfo). The last byte is set below, so that it is not found in ours.
var buildInfo = []byte("\xff Go buildinf\x00")

func init() { buildInfo[len(buildInfo)-1] = ':' }

const (
	buildInfoAlign  = 16
	buildInfoHeader = 32
	longestVersion  = 100
)

// findVersion returns the version of Go that has built the program, "" if none has.
func findVersion(s space) (version string) {
	scan(s, func(data []byte, address uint64) bool {
		for at := 0; ; {
			i := bytes.Index(data[at:], buildInfo)
			if i < 0 {
				return true
			}
			at += i
			if (address+uint64(at))%buildInfoAlign == 0 {
				if version = versionIn(data[at:]); version != "" {
					return false
				}
			}
			at += len(buildInfo)
		}
	})
	return version
}

// versionIn reads the version out of what begins with buildInfo. Go has written it there since 1.18.
func versionIn(data []byte) string {
	const inline = 2
	if len(data) < buildInfoHeader+1 || data[len(buildInfo)] != 8 && data[len(buildInfo)] != 0 || data[len(buildInfo)+1]&inline == 0 {
		return ""
	}
	n, k := binary.Uvarint(data[buildInfoHeader:])
	if k <= 0 || n == 0 || n > longestVersion || int(n) > len(data)-buildInfoHeader-k {
		return ""
	}
	v := string(data[buildInfoHeader+k:][:n])
	if !strings.HasPrefix(v, "go") && !strings.HasPrefix(v, "devel ") {
		return ""
	}
	return v
}

// variables calls visit with the words of an area in pieces that overlap by some bytes, until it returns false.
func (p *program) variables(a area, visit func(data []byte, address uint64) bool) {
	const most, overlap = 1 << 30, 64
	a.from = (a.from + 7) &^ 7
	if a.from >= a.to || a.to-a.from > most {
		return
	}
	buf := make([]byte, min(scanChunk, a.to-a.from))
	for at := a.from; at < a.to; at += scanChunk - overlap {
		n := p.space.ReadMemory(buf[:min(scanChunk, a.to-at)], at)
		if n > 0 && !visit(buf[:n], at) || a.to-at <= scanChunk {
			return
		}
	}
}

// findReasons searches for the names of wait reasons. The first is empty, and the second is the same in all releases.
func (p *program) findReasons() (reasons []string) {
	const second, most, longest = "GC assist marking", 64, 64
	le := binary.LittleEndian
	text := func(b []byte) string {
		n := le.Uint64(b[8:])
		if n == 0 || n > longest {
			return ""
		}
		s := make([]byte, n)
		return string(s[:p.space.ReadMemory(s, le.Uint64(b))])
	}
	p.variables(p.module.data, func(data []byte, address uint64) bool {
		for i := 0; i+32 <= len(data); i += 8 {
			if le.Uint64(data[i+8:]) != 0 || le.Uint64(data[i+24:]) != uint64(len(second)) || text(data[i+16:]) != second {
				continue
			}
			table := make([]byte, 16*most)
			table = table[:p.space.ReadMemory(table, address+uint64(i))]
			for ; len(table) >= 16; table = table[16:] {
				s := text(table)
				if s == "" && len(reasons) > 0 {
					break
				}
				reasons = append(reasons, s)
			}
			return false
		}
		return true
	})
	return reasons
}

// findLists searches for runtime.allgs among the program's variables: a slice of goroutines, each of which has its own address in it, and of which the first is that of
// main. While the garbage collector works it has a copy of the slice.
func (p *program) findLists() (found []uint64) {
	const most = 1 << 28 // goroutines
	le := binary.LittleEndian
	p.variables(p.module.bss, func(data []byte, address uint64) bool {
		var candidates []int
		for i := 0; i+24 <= len(data); i += 8 {
			if at, n, room := le.Uint64(data[i:]), le.Uint64(data[i+8:]), le.Uint64(data[i+16:]); at != 0 && at%8 == 0 && n >= 2 && n <= room && room <= most {
				candidates = append(candidates, i)
			}
		}
		firsts := make([]byte, 16*len(candidates))
		spans := make([]span, len(candidates))
		for j, i := range candidates {
			spans[j] = span{address: le.Uint64(data[i:]), to: firsts[16*j:][:16]}
		}
		p.space.readMany(spans)
		for j, i := range candidates {
			if at := address + uint64(i); spans[j].n == 16 && p.isMain(le.Uint64(spans[j].to)) && p.isG(le.Uint64(spans[j].to[8:])) && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
		return true
	})
	return found
}

// list returns the longest of the lists: goroutines are added at the end of runtime.allgs, and none is taken away.
func (p *program) list() (at, first, n uint64) {
	const most = 1 << 24
	le := binary.LittleEndian
	for _, list := range p.lists {
		var header [16]byte
		if p.space.ReadMemory(header[:], list) < len(header) {
			continue
		}
		first0, ok := word(p.space, le.Uint64(header[:]))
		if k := le.Uint64(header[8:]); ok && k > n && k <= most && p.isMain(first0) {
			at, first, n = list, le.Uint64(header[:]), k
		}
	}
	return at, first, n
}

// isG reports whether there is a goroutine at an address.
func (p *program) isG(at uint64) bool {
	self, ok := word(p.space, at+uint64(p.layout.gSelf))
	return ok && at != 0 && self == at
}

func (p *program) isMain(at uint64) bool {
	id, ok := word(p.space, at+uint64(p.layout.gID))
	return ok && id == 1 && p.isG(at)
}

// addresses returns where the goroutines are, those that have ended among them.
func (p *program) addresses() ([]uint64, error) {
	const tries = 5
	for range tries {
		at, first, n := p.list()
		if n == 0 {
			p.lists = p.findLists()
			continue
		}
		b := make([]byte, 8*n)
		read := 0
		for read < len(b) { // a call copies at most 2 GiB
			k := p.space.ReadMemory(b[read:min(len(b), read+scanChunk)], first+uint64(read))
			if k == 0 {
				break
			}
			read += k
		}
		after, ok := word(p.space, at)
		if read < len(b) || !ok || after != first { // it grew elsewhere, and its memory may be used again
			continue
		}
		all := make([]uint64, n)
		for i := range all {
			all[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return all, nil
	}
	return nil, errors.New("the list of goroutines cannot be read")
}

// osThread returns the id of the OS thread that executes a goroutine, 0 if none does or that is not known.
func (p *program) osThread(g *goroutine) int {
	if g.m == 0 {
		return 0
	}
	tid, ok := word(p.space, g.m+uint64(p.layout.mProcID))
	if now, known := word(p.space, g.m+uint64(p.layout.mCurG)); !ok || !known || now != g.at || tid > 1<<31 {
		return 0
	}
	return int(tid)
}

// reason returns the name of a wait reason.
func (p *program) reason(i uint8) string {
	if int(i) < len(p.reasons) && p.reasons[i] != "" {
		return p.reasons[i]
	}
	return fmt.Sprintf("wait reason %d", i)
}

// labelsAt reads labels of Go's profiler.
func (p *program) labelsAt(at uint64) (all []goroutines.Label) {
	const most = 64
	le := binary.LittleEndian
	text := func(b []byte) string {
		s := make([]byte, min(le.Uint64(b[8:]), 256))
		return strings.ToValidUTF8(string(s[:p.space.ReadMemory(s, le.Uint64(b))]), "?")
	}
	if !p.layout.labelMap {
		var slice [16]byte
		p.space.ReadMemory(slice[:], at)
		b := make([]byte, 32*min(le.Uint64(slice[8:]), most))
		for b = b[:p.space.ReadMemory(b, le.Uint64(slice[:]))]; len(b) >= 32; b = b[32:] {
			all = append(all, goroutines.Label{Key: text(b), Value: text(b[16:])})
		}
		return all
	}
	// A map of Go before 1.24: buckets of eight, with a byte for each entry, the keys, the values, and where there are more.
	const keys, values, more, used, mostBuckets = 8, 8 + 8*16, 8 + 16*16, 5, 256
	buckets := 0
	at, _ = word(p.space, at)
	var h [24]byte
	if at == 0 || p.space.ReadMemory(h[:], at) < len(h) {
		return nil
	}
	for i := uint64(0); i < 1<<min(h[9], 6); i++ {
		b := make([]byte, more+8)
		for bucket := le.Uint64(h[16:]) + i*uint64(len(b)); bucket != 0 && p.space.ReadMemory(b, bucket) == len(b) && buckets < mostBuckets; bucket = le.Uint64(b[more:]) {
			buckets++
			for j := range 8 {
				if b[j] >= used {
					all = append(all, goroutines.Label{Key: text(b[keys+16*j:]), Value: text(b[values+16*j:])})
				}
			}
		}
	}
	return all
}
