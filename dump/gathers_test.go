package dump_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/runtime/flight"
)

// waitingGoroutines is what a program with goroutines of these ids would print, which all wait at one place.
func waitingGoroutines(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.wait(...)\n\t/src/wait.go:9 +0x1\ncreated by main.serve in goroutine 1\n\t/src/serve.go:4 +0x2\n\n", id)
	}
	return b.String()
}

// countedGoroutines is the same as a profile, which has no ids.
func countedGoroutines(ids []int) string {
	return fmt.Sprintf("goroutine profile: total %d\n%d @ 0x1 0x2\n#\t0x1\tmain.wait+0x1\t/src/wait.go:9\n\n", len(ids), len(ids))
}

// Goroutines rarely tell since when they wait. A leak is seen by how many there are at each look, and which of them were there before.
func TestALeakOfGoroutinesIsFoundWithoutTheirWaits(t *testing.T) {
	from := func(first, n int) (ids []int) {
		for i := range n {
			ids = append(ids, first+i)
		}
		return ids
	}
	for _, c := range []struct {
		name  string
		text  func([]int) string
		looks [][]int // the ids at each
		apart time.Duration
		want  string // "": nothing is found
	}{
		{"more at each look", waitingGoroutines, [][]int{from(10, 100), from(10, 110), from(10, 120), from(10, 130)}, 10 * time.Second, "30 came and 0 left in 30 s"},
		{"two looks far apart", waitingGoroutines, [][]int{from(10, 100), from(10, 130)}, 30 * time.Second, "30 came and 0 left in 30 s"},
		{"a profile", countedGoroutines, [][]int{from(10, 100), from(10, 110), from(10, 120), from(10, 130)}, 10 * time.Second, "is not known: a profile has no ids"},
		{"two profiles far apart", countedGoroutines, [][]int{from(10, 100), from(10, 130)}, 30 * time.Second, ""},
		{"others leave", waitingGoroutines, [][]int{from(10, 100), from(30, 110), from(50, 120), from(70, 130)}, 10 * time.Second, ""},
		{"not at each look", waitingGoroutines, [][]int{from(10, 100), from(10, 120), from(10, 120), from(10, 130)}, 10 * time.Second, ""},
		{"few", waitingGoroutines, [][]int{from(10, 100), from(10, 105), from(10, 110), from(10, 119)}, 10 * time.Second, ""},
		{"not for long", waitingGoroutines, [][]int{from(10, 100), from(10, 110), from(10, 120), from(10, 130)}, 2 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var looks []*dump.Look
			for i, ids := range c.looks {
				src, err := goroutines.Read(strings.NewReader(c.text(ids)), goroutines.Options{Status: dump.StatusRunning})
				if err != nil {
					t.Fatal(err)
				}
				o := dump.LookOptions{}
				if i > 0 {
					o.Since = looks[0]
				}
				l, err := o.Take(t.Context(), src)
				if err != nil {
					t.Fatal(err)
				}
				l.Taken = l.Taken.Add(time.Duration(i) * c.apart)
				looks = append(looks, l)
			}
			n := len(looks)
			f, err := dump.Check(looks[n-1], looks[n-2], dump.CheckOptions{Earlier: looks[:n-2]})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(f.Findings, func(f dump.Finding) bool { return f.Check == "leak" })
			switch {
			case (i >= 0) != (c.want != ""):
				t.Errorf("got %+v, want a leak: %v", f.Findings, c.want != "")
			case i < 0:
			case !strings.Contains(strings.Join(f.Findings[i].Evidence, "\n"), c.want) || f.Findings[i].Count != 130 || f.Findings[i].Place.Func != "main.wait":
				t.Errorf("got %+v, want 130 at main.wait, and %q", f.Findings[i], c.want)
			}
		})
	}
}

// A profile's goroutines have numbers, and not the ids of the look before.
func TestNumbersOfAProfileAreNoIDs(t *testing.T) {
	src, err := goroutines.Read(strings.NewReader(countedGoroutines(make([]int, 9))), goroutines.Options{})
	if err != nil || !src.Numbered() {
		t.Fatalf("got %v, numbered %v", err, src.Numbered())
	}
	src, err = goroutines.Read(strings.NewReader(waitingGoroutines([]int{5})), goroutines.Options{})
	if err != nil || src.Numbered() {
		t.Fatalf("got %v, numbered %v", err, src.Numbered())
	}
	var id flight.ThreadID
	if _, err := src.Threads(t.Context(), func(rows []flight.ThreadRow) { id = rows[0].ID }); err != nil || id != 5 {
		t.Errorf("got id %d, %v", id, err)
	}
}
