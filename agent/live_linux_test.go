package agent

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// Threads on goroutines wait in operations of Go's own, which the flight file does not tell.
func TestThreadsOnGoroutinesAreFollowedWhereTheyWait(t *testing.T) {
	child := childtest.Start(t, "./fixtures/parade", "-threads", "40", "-drivers", "0", "-adopted", "3")
	child.WaitFor(regexp.MustCompile(`parade: .*pid \d+`))
	file := child.Flight().Process().Path
	a := start(t, Options{Dirs: []string{file[:strings.LastIndexByte(file, os.PathSeparator)]}})
	s := serve(t, a)
	shown(t, a)
	waits := func(snapshot *dump.Snapshot) bool {
		seen := 0
		for i := range snapshot.Groups {
			g := &snapshot.Groups[i]
			if g.Stack < 0 || g.Count != 3 {
				continue
			}
			in := func(name string) bool {
				return slices.ContainsFunc(snapshot.Stacks[g.Stack].Frames, func(f dump.Frame) bool { return f.Func == name })
			}
			switch {
			case in("main.locks") && g.State == flight.StateBlocked && g.Reason == flight.ReasonLock,
				in("main.selects") && g.State == flight.StateWaiting:
				seen++
			}
		}
		return seen == 2
	}
	until(t, "the page with threads in locks and selects", func() bool {
		v := a.views()[0]
		if v.snapshot != nil && strings.Contains(strings.Join(v.snapshot.Incomplete, " "), "permission denied") {
			t.Skipf("this process may not read others: %s", v.snapshot.Incomplete)
		}
		return v.snapshot != nil && waits(v.snapshot)
	})
	until(t, "the text with them", func() bool {
		text := string(get(t, s.URL+"/api/v1/processes/"+strconv.Itoa(child.PID())+"/dump?format=text", 200))
		return regexp.MustCompile(`x 3 blocked <\S+   lock`).MatchString(text) && strings.Contains(text, "main.locks") && strings.Contains(text, "main.selects")
	})
}

func TestItIsSaidWhereMemoryCannotBeRead(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{Threads: 3, Thread: func(i int) flighttest.Thread {
		if i == 0 {
			return flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark}
		}
		return flighttest.Thread{State: flight.StateMounted, Carrier: flight.NoCarrier}
	}})
	r, err := flight.Open(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	var goroutines atomic.Bool
	l := &live{Reader: r, goroutines: &goroutines, blind: errors.New("permission denied")}
	defer l.Close()
	s, err := dump.Take(t.Context(), l, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"2 threads on goroutines may wait in Go, though shown as mounted: permission denied"}; !slices.Equal(s.Incomplete, want) || !goroutines.Load() {
		t.Errorf("got %q, want %q", s.Incomplete, want)
	}
}
