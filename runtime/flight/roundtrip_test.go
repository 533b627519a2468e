package flight_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestRowsComeBackAsTheyWereWritten(t *testing.T) {
	const threads = 40_000 // three segments
	before := flight.Now()
	f := flighttest.Write(t, flighttest.Spec{
		Scopes:  []flighttest.Scope{{Name: "shop", Owner: 1}, {Name: "requests", Parent: 1, State: flight.ScopeJoining}},
		Stacks:  []flighttest.Stack{{{Func: "shop.query", File: "store.go", Line: 88}, {Func: "main.main", File: "main.go", Line: 7}}},
		Threads: threads,
		Thread: func(i int) flighttest.Thread {
			th := flighttest.Thread{Scope: i % 3, Stack: i % 2, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Age: time.Second, Blocker: flight.BlockThread(9)}
			if i%10 == 0 {
				th.Name = fmt.Sprint("worker ", i)
			}
			return th
		},
		Events: 100,
	})
	r := open(t, f.Path)
	seen := map[flight.ThreadID]bool{}
	torn, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			i := int(row.ID) - 1
			if seen[row.ID] {
				t.Fatalf("thread %d comes twice", row.ID)
			}
			seen[row.ID] = true
			wantScope, wantStack, wantName := flight.ScopeIndex(0), flight.StackID(0), ""
			if i%3 > 0 {
				wantScope = f.Scopes[i%3-1]
			}
			if i%2 > 0 {
				wantStack = f.Stacks[0]
			}
			if i%10 == 0 {
				wantName = fmt.Sprint("worker ", i)
			}
			if row.Scope != wantScope || row.Stack != wantStack || r.ThreadName(row) != wantName || row.State != flight.StateTimedParked ||
				row.Reason != flight.ReasonSleep || row.Blocker != flight.BlockThread(9) {
				t.Fatalf("thread %d: got %+v named %q, want scope %d, stack %d, name %q", row.ID, row, r.ThreadName(row), wantScope, wantStack, wantName)
			}
			if i%1000 == 0 { // a second of age, and what writing and reading take; the reader's clock runs by its own measurement
				const near = 20 * time.Millisecond
				if d, most := r.Between(row.Since, r.Now()), time.Second+r.Between(before, r.Now()); d < time.Second-near || d > most+near {
					t.Fatalf("thread %d waits %v, want a second to %v", row.ID, d, most)
				}
			}
		}
	})
	if torn != 0 || err != nil || len(seen) != threads {
		t.Fatalf("got %d threads, %d torn, error %v; want %d, 0, nil", len(seen), torn, err, threads)
	}
	if p := r.Process(); p.Threads != threads || p.Status != flight.StatusRunning || p.Program != "flighttest" {
		t.Errorf("got %+v, want %d threads of flighttest, running", p, threads)
	}
	st, err := r.Stack(f.Stacks[0])
	if err != nil || len(st.Frames) != 2 || st.Frames[0].Func != "shop.query" || st.Frames[0].Line != 88 || st.Frames[1].File != "main.go" {
		t.Errorf("got stack %+v, error %v", st, err)
	}
	scopes, err := r.Scopes()
	if err != nil || len(scopes) != 3 || scopes[0].Name != "root" || scopes[2].Name != "requests" || scopes[2].Parent != f.Scopes[0] || scopes[2].State != flight.ScopeJoining || scopes[1].Owner != 1 {
		t.Errorf("got scopes %+v, error %v", scopes, err)
	}
	if l := r.Lost(); l.Any() {
		t.Errorf("lost %+v, want nothing", l)
	}
}

func open(t testing.TB, path string) *flight.Reader {
	t.Helper()
	r, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func BenchmarkReadThreads(b *testing.B) {
	const threads = 1_000_000
	f := flighttest.Write(b, flighttest.Spec{Threads: threads})
	b.Run("threads=1000000", func(b *testing.B) {
		r := open(b, f.Path)
		for b.Loop() {
			n := 0
			torn, err := r.Threads(context.Background(), func(rows []flight.ThreadRow) { n += len(rows) })
			if n != threads || torn != 0 || err != nil {
				b.Fatalf("got %d threads, %d torn, %v", n, torn, err)
			}
		}
	})
}
