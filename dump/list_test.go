package dump_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestListingVisitsEveryThreadOnceInItsScope(t *testing.T) {
	for _, held := range []int{1 << 20, 1000, 100, 1} { // all fit, some scopes, few, and no scope of two
		t.Run(fmt.Sprint("held=", held), func(t *testing.T) {
			dump.HoldAtMost(t, held)
			listsAll(t)
		})
	}
}

func listsAll(t *testing.T) {
	const n = 3000
	r := open(t, flighttest.Write(t, shop(n)).Path)
	only, err := filter.Parse("state=blocked")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []dump.Options{{}, {Filter: only}} {
		snap, err := dump.Take(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dump.List(t.Context(), r, o)
		if err != nil {
			t.Fatal(err)
		}
		seen, at, scopes := map[flight.ThreadID]bool{}, -1, 0
		var states dump.Counts
		if err := l.ByScope(t.Context(), func(scope int) error {
			if scope != at+1 || l.Scopes[scope].Above >= scope {
				t.Errorf("scope %d after %d, below %d", scope, at, l.Scopes[scope].Above)
			}
			at = scope
			scopes++
			return nil
		}, func(th *dump.Thread) error {
			if seen[th.ID] || th.Scope != at {
				t.Errorf("#%d in %d: seen %v, want it once, in %d", th.ID, th.Scope, seen[th.ID], at)
			}
			seen[th.ID] = true
			states[th.State]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if states != snap.States || l.Threads != snap.Threads || scopes != 303 || len(l.Incomplete()) != 0 {
			t.Errorf("got %v, %d threads, %d scopes, missing %q; want %v, %d, 303", states, l.Threads, scopes, l.Incomplete(), snap.States, snap.Threads)
		}
	}
}

func TestListingFindsAThreadAndStopsWhenTold(t *testing.T) {
	r := open(t, flighttest.Write(t, shop(3000)).Path)
	l, err := dump.List(t.Context(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	th, ok, err := l.Find(t.Context(), 1)
	if err != nil || !ok || l.Name(&th) != "main" || th.Stack != 0 || th.State != flight.StateMounted {
		t.Errorf("got %+v, %v, %v", th, ok, err)
	}
	if _, ok, err := l.Find(t.Context(), 1<<40); ok || err != nil {
		t.Errorf("got %v, %v; want no such thread", ok, err)
	}
	enough, n := errors.New("enough"), 0
	if err := l.Each(t.Context(), func(*dump.Thread) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("got %v after %d threads, want %v after one", err, n, enough)
	}
}
