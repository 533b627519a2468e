package vttest_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

var update = flag.Bool("update", false, "rewrite the golden scripts")

// tour does a little of everything.
func tour() {
	named := func(name string) vthread.Builder { return vthread.Builder{Name: name} }
	var mu vsync.Mutex
	ch := make(chan int)
	var late vthread.Promise[int]
	structured.Run(context.Background(), "tour", func(s *structured.Scope) error {
		s.ForkNamed("sleeper", func() error { return vthread.SleepContext(s.Context(), time.Hour) })
		s.ForkNamed("guilty", func() error {
			vthread.Sleep(time.Minute)
			return errors.New("no")
		})
		return s.Join()
	})
	holder := named("holder").Start(func() {
		mu.Lock()
		defer mu.Unlock()
		vthread.Sleep(time.Second)
		late.Complete(1)
	})
	pinned := named("pinned").Start(func() {
		continuation.Pin()
		defer continuation.Unpin()
		mu.Lock()
		vthread.Yield()
		mu.Unlock()
	})
	sender := named("sender").Start(func() { vthread.Send(ch, 1) })
	receiver := named("receiver").Start(func() {
		vthread.Recv(ch)
		vthread.Recv(ch)
	})
	caller := named("caller").Start(func() { vthread.Blocking(func() { time.Sleep(time.Second) }) })
	parked := named("parked").Start(func() { vthread.Park() })
	parked.Unpark()
	late.GetFor(time.Millisecond)
	late.Get()
	for _, t := range []*vthread.Thread{holder, pinned, sender, caller, parked} {
		t.Join()
	}
	receiver.JoinFor(time.Millisecond)
	receiver.Interrupt()
	receiver.Join()
}

// The golden scripts are the same under the race detector, with the recorder off, with whatever number of processors, and in all other builds.
func TestSeedsGiveTheirGoldenScripts(t *testing.T) {
	for _, test := range []struct {
		file string
		seed string
		f    func()
	}{
		{"tour-bounded.txt", "0f1e2d3c4b500203", tour},
		{"tour-uniform.txt", "0f1e2d3c4b500205", tour},
		{"tour-ranked.txt", "0f1e2d3c4b500209", tour},
		{"deadlock.txt", "ee7466db0af00105", func() { transfer(false) }},
	} {
		t.Run(test.file, func(t *testing.T) {
			path := filepath.Join("testdata", test.file)
			r := vttest.Explore(t, vttest.Options{Seed: test.seed}, 1, func(*testing.T) { test.f() })
			if *update {
				if err := os.WriteFile(path, []byte(r.Script), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if r.Script != string(want) {
				t.Errorf("seed %s gave\n%s\nwant\n%s", test.seed, r.Script, want)
			}
		})
	}
}
