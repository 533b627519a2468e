package recording

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

// An id table knows what a map knows, whatever was put and removed, and gives back the room of what is gone.
func TestAnIDTableKnowsWhatAMapKnows(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		table, want := newIDTable[int](int(seed)*100), map[flight.ThreadID]int{}
		check := func() {
			t.Helper()
			got := map[flight.ThreadID]int{}
			table.all(func(id flight.ThreadID, v int) bool { got[id] = v; return true })
			if !maps.Equal(got, want) || table.used != len(want) {
				t.Fatalf("seed %d: %d rows of %d that say they are %d, want %d", seed, len(got), len(table.rows), table.used, len(want))
			}
			if n := len(table.rows); 4*table.used > 3*n {
				t.Fatalf("seed %d: %d of %d rows are in use: H2", seed, table.used, n)
			}
		}
		next := flight.ThreadID(1)
		for i := range 30_000 {
			id := next - flight.ThreadID(r.IntN(min(int(next), 5000)))
			switch grows := i/7500%2 == 0; {
			case grows && r.IntN(3) > 0:
				next += flight.ThreadID(1 + r.IntN(3))
				table.put(next, i)
				want[next] = i
			case r.IntN(4) == 0:
				table.put(id, -i)
				want[id] = -i
			default:
				_, known := want[id]
				delete(want, id)
				if got := table.remove(id); got != known {
					t.Fatalf("seed %d: remove %d: %v, want %v", seed, id, got, known)
				}
			}
			if v := table.find(id); (v != nil) != hasKey(want, id) || v != nil && *v != want[id] {
				t.Fatalf("seed %d: after %d steps thread %d has %v, want %v", seed, i, id, v, want[id])
			}
			if i%5000 == 0 {
				check()
			}
		}
		check()
		for id := range want {
			table.remove(id)
		}
		if n := len(table.rows); n > 4096 {
			t.Errorf("seed %d: an empty table has %d rows", seed, n)
		}
		table.put(0, 1)
		if table.find(0) != nil || table.used != 0 || table.remove(0) {
			t.Error("there is a thread 0")
		}
	}
}

func hasKey(m map[flight.ThreadID]int, id flight.ThreadID) bool { _, ok := m[id]; return ok }
