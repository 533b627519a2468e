package memory

import (
	"debug/elf"
	"debug/gosym"
	"runtime"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/childtest"
)

// An image is the memory of a program as its file has it, before it runs.
type image struct{ file *elf.File }

func (m image) ReadMemory(p []byte, address uint64) int {
	for _, s := range m.file.Progs {
		if s.Type == elf.PT_LOAD && s.Vaddr <= address && address < s.Vaddr+s.Filesz {
			n, _ := s.ReadAt(p, int64(address-s.Vaddr)) // what is missing was not read
			return n
		}
	}
	return 0
}

func (image) Alive() (alive, known bool) { return false, true }

func (m image) readMany(spans []span) {
	for i := range spans {
		spans[i].n = m.ReadMemory(spans[i].to, spans[i].address)
	}
}

func (m image) writable() (all []area) {
	for _, s := range m.file.Progs {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_W != 0 {
			all = append(all, area{s.Vaddr, s.Vaddr + s.Filesz})
		}
	}
	return all
}

func (m image) close() error { return m.file.Close() }

func TestFunctionsOfEachArchitectureAreThoseOfTheStandardLibrary(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		path := childtest.BuildWith(t, []string{"GOARCH=" + arch, "CGO_ENABLED=0"}, "./fixtures/parade", "-ldflags=-s -w")
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		program := image{file}
		defer program.close()
		if _, err := findRegistry(program); err == nil || !strings.Contains(err.Error(), "has not started") {
			t.Errorf("%s: registry: got error %v, want that the recorder has not started", arch, err)
		}
		l, ok := layoutOf(runtime.Version())
		if !ok {
			t.Fatalf("no layout for %s", runtime.Version())
		}
		m, err := findModule(program, l)
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		text, err := file.Section(".gopclntab").Data()
		if err != nil {
			t.Fatal(err)
		}
		table, err := gosym.NewTable(nil, gosym.NewLineTable(text, m.text))
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for i := range table.Funcs {
			f := &table.Funcs[i]
			for pc := f.Entry; pc < f.End; pc += 64 {
				got, ok := m.find(pc)
				if !ok {
					t.Fatalf("%s: %#x: got no function, want %s", arch, pc, f.Name)
				}
				if name := m.window.text(m.names + uint64(got.name)); name != f.Name {
					t.Fatalf("%s: %#x: got %s, want %s", arch, pc, name, f.Name)
				}
				wantFile, wantLine, _ := table.PCToLine(pc)
				if path, line := m.position(got, pc); wantLine > 0 && (path != wantFile || line != wantLine) {
					t.Fatalf("%s: %#x in %s: got %s:%d, want %s:%d", arch, pc, f.Name, path, line, wantFile, wantLine)
				}
				compared++
			}
		}
		if compared < 10_000 {
			t.Errorf("%s: compared %d addresses: too few to mean anything", arch, compared)
		}
	}
}
