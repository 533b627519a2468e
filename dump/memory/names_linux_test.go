package memory

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

// nameless copies a flight file without its symbols: as if the process had been killed before it wrote any.
func nameless(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const directory, entry, symbols = 4096, 32, 7 // docs/flight-format.md
	le := binary.LittleEndian
	emptied := 0
	for i := range int(le.Uint32(b[68:])) {
		e := b[directory+entry*i:]
		if le.Uint16(e[20:]) == symbols {
			le.PutUint64(b[le.Uint64(e):], 64)
			emptied++
		}
	}
	if emptied == 0 {
		t.Fatal("the file has no segment of symbols")
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

// stacksOf returns the stacks at which the threads of a file are, by id.
func stacksOf(t *testing.T, r *flight.Reader) map[flight.StackID]flight.Stack {
	t.Helper()
	all := map[flight.StackID]flight.Stack{}
	_, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if row.Stack == 0 || all[row.Stack].ID != 0 {
				continue
			}
			s, err := r.Stack(row.Stack)
			if err != nil {
				t.Errorf("stack %d: %v", row.Stack, err)
			}
			all[row.Stack] = s
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func openNamed(t *testing.T, path string, open func(flight.Executable) flight.Namer) *flight.Reader {
	t.Helper()
	r, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	r.NamesFrom(open)
	return r
}

func TestAKilledProcessHasNamesByItsExecutable(t *testing.T) {
	for name, flags := range map[string][]string{
		"default":  {},
		"trimpath": {"-trimpath"},
		"stripped": {"-ldflags=-s -w"},
		"pie":      {"-buildmode=pie"},
		"piestrip": {"-buildmode=pie", "-ldflags=-s -w"},
	} {
		t.Run(name, func(t *testing.T) {
			program := childtest.Build(t, "./fixtures/parade", flags...)
			pid := start(t, program, nil, "-drivers", "0")
			live, err := flight.OpenPID(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			childtest.AwaitNames(t, live)
			want := stacksOf(t, live)
			asked := 0
			live.NamesFrom(func(flight.Executable) flight.Namer { asked++; return nil })
			stacksOf(t, live)
			if asked != 0 {
				t.Error("the executable of a process that lives was asked for")
			}
			path := strings.TrimPrefix(live.Process().Path, fmt.Sprintf("/proc/%d/root", pid))
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for live.Status() == flight.StatusRunning {
			}
			path = nameless(t, path)
			var got flight.Executable
			r := openNamed(t, path, func(x flight.Executable) flight.Namer { got = x; return Executable(x) })
			named := 0
			for id, s := range stacksOf(t, r) {
				if s.Unsymbolised != 0 || !slices.Equal(s.Frames, want[id].Frames) {
					t.Fatalf("stack %d: got %d without a name of\n%+v\nwant\n%+v", id, s.Unsymbolised, s.Frames, want[id].Frames)
				}
				named++
			}
			if named != len(want) || named < 50 {
				t.Errorf("got %d stacks with names, want %d, of many ways to where threads park", named, len(want))
			}
			if got.Path != program || got.BuildID == "" {
				t.Errorf("got executable %+v, want path %s and a build id", got, program)
			}
			for what, r := range map[string]*flight.Reader{
				"without the executable": openNamed(t, path, nil),
				"of another build":       openNamed(t, path, func(x flight.Executable) flight.Namer { x.BuildID += "x"; return Executable(x) }),
				"removed":                openNamed(t, path, func(x flight.Executable) flight.Namer { x.Path += "x"; return Executable(x) }),
				"no executable":          openNamed(t, path, func(x flight.Executable) flight.Namer { x.Path = path; return Executable(x) }),
			} {
				for id, s := range stacksOf(t, r) {
					if s.Unsymbolised != len(s.PCs) {
						t.Fatalf("%s: stack %d has names: %+v", what, id, s.Frames)
					}
				}
			}
		})
	}
}

func TestAnExecutableWithoutABuildIDIsNotTrusted(t *testing.T) {
	f, err := os.Open(childtest.Build(t, "./fixtures/parade", "-ldflags=-buildid="))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := flight.BuildID(f); got != "" {
		t.Errorf("got build id %q, want none", got)
	}
	if n := Executable(flight.Executable{Path: f.Name(), GoVersion: "go1.26.8", Function: "main.main", Address: 1}); n != nil {
		t.Error("got names of an executable whose build id is not known")
	}
}

func TestDamagedExecutablesHaveNoNames(t *testing.T) {
	program := childtest.Build(t, "./fixtures/parade")
	whole, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := flight.Executable{BuildID: flight.BuildID(f), GoVersion: "go1.26.8", Function: "main.main", Address: 1 << 40}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	x.Path = fifo
	if Executable(x) != nil {
		t.Error("a pipe has names")
	}
	damages := map[string]func(b []byte) []byte{
		"whole":            func(b []byte) []byte { return b },
		"empty":            func(b []byte) []byte { return nil },
		"cut in half":      func(b []byte) []byte { return b[:len(b)/2] },
		"cut after header": func(b []byte) []byte { return b[:64] },
	}
	for at := range 2048 { // the headers
		damages[fmt.Sprint("byte ", at)] = func(b []byte) []byte { b[at] ^= 0xff; return b[:4096] }
	}
	tried := 0
	x.Path = filepath.Join(t.TempDir(), "damaged")
	for what, damage := range damages {
		if err := os.WriteFile(x.Path, damage(slices.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		n := Executable(x)
		if (n != nil) != (what == "whole") {
			t.Errorf("%s: got names: %v", what, n != nil)
		}
		if n != nil {
			if _, ok := n.Frames(0); ok {
				t.Error("got a function at 0")
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
		tried++
	}
	t.Logf("%d damages", tried)
}
