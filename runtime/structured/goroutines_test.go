package structured

import (
	"runtime"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// The table grows, and its tombs are swept, while goroutines of one part look at their entries.
func TestEachGoroutineFindsItsOwnWhileOthersComeAndGo(t *testing.T) {
	var table goroutineTable
	var wg sync.WaitGroup
	const goroutines, rounds = 8, 500
	for i := range goroutines {
		wg.Go(func() {
			for round := range rounds {
				g := int64((1 + i*rounds + round) * len(table)) // of part 0, and never used again
				if table.find(g) != nil {
					t.Error("found before it was set")
				}
				a, b := new(vthread.Scope), new(vthread.Scope)
				for _, s := range []*vthread.Scope{a, b, a} {
					table.set(g, s)
					if round%16 == 0 {
						runtime.Gosched()
					}
					if table.find(g) != s {
						t.Errorf("goroutine %d: got another's, or an old one", g)
					}
				}
				if round%4 > 0 { // others stay
					table.set(g, nil)
					if table.find(g) != nil {
						t.Error("found after it was removed")
					}
				}
			}
		})
	}
	wg.Wait()
	p := &table[0]
	if want := goroutines * rounds / 4; p.mu.live != want {
		t.Errorf("%d are left, want %d", p.mu.live, want)
	}
	if n := len(*p.entries.Load()); n > 8*p.mu.live {
		t.Errorf("the table has %d places for %d", n, p.mu.live)
	}
}

func TestNothingIsLeftOfGoroutinesThatHaveClosedEverything(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := self()
		v := NewScopedValue[int]()
		s := Open(t.Context(), "s")
		if goroutines.find(c.goroutine) != &s.flock.Scope {
			t.Error("the scope is not the innermost")
		}
		if err := v.Bind(1).Run(func() error { return nil }); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if goroutines.find(c.goroutine) != nil {
			t.Error("something is left")
		}
	}()
	<-done
}
