package memory

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

// gapThreads is how many threads the process has whose gaps are measured: VTSCOPE_GAP_THREADS in the environment, or this.
const gapThreads = 30_000

// TestAWalkIsNoPauseForTheProcess compares the longest gap that an OS thread of the process sees while its memory is walked with what it sees while nobody looks,
// while somebody only computes for as long, and while it is stopped for the walk.
func TestAWalkIsNoPauseForTheProcess(t *testing.T) {
	threads := gapThreads
	if s := os.Getenv("VTSCOPE_GAP_THREADS"); s != "" {
		var err error
		if threads, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	pulses := make(chan time.Duration, 1)
	pid := startAndRead(t, childtest.Build(t, "./fixtures/parade"), private, func(line string) {
		if us, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pulse:"))); err == nil {
			pulses <- time.Duration(us) * time.Microsecond
		}
	}, "-threads", strconv.Itoa(threads), "-drivers", "0", "-pulse")
	pulse := func() time.Duration { // the longest gap since the one before
		if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-pulses:
			return d
		case <-time.After(60 * time.Second):
			t.Fatal("the process tells nothing")
		}
		return 0
	}
	free, stopped := attachTo(t, pid, Options{}), func() (held time.Duration) {
		src := attachTo(t, pid, Options{Stop: true})
		began := time.Now()
		if n := len(rowsOf(t, src)); n < threads {
			t.Errorf("got %d threads of a stopped process, want %d", n, threads)
		}
		held = time.Since(began)
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		return held
	}
	walk := func() time.Duration {
		began := time.Now()
		if n := len(rowsOf(t, free)); n < threads {
			t.Errorf("got %d threads, want %d", n, threads)
		}
		return time.Since(began)
	}
	long := walk()
	held := time.Duration(1 << 62)
	gaps := map[string][]time.Duration{}
	for range 5 {
		for _, c := range []struct {
			name string
			do   func()
		}{
			{"idle", func() { time.Sleep(long) }},
			{"burner", func() {
				for began := time.Now(); time.Since(began) < long; {
				}
			}},
			{"walk", func() { walk() }},
			{"stop", func() { held = min(held, stopped()) }},
		} {
			pulse()
			c.do()
			gaps[c.name] = append(gaps[c.name], pulse())
		}
	}
	for _, all := range gaps {
		slices.Sort(all)
	}
	t.Logf("%d threads, a walk of %v; longest gaps: idle %v, burner %v, walk %v, stop %v", threads, long, gaps["idle"], gaps["burner"], gaps["walk"], gaps["stop"])
	// The check can fail: the process sees it when it is stopped.
	if least := gaps["stop"][0]; least < held {
		t.Errorf("the process was stopped for %v, and saw a gap of %v", held, least)
	}
	// The walk computes, so the control is the burner. A gap that a walk makes is in each of them; what other processes take is not.
	if got, control := gaps["walk"][0], gaps["burner"][4]; got > control && got > gaps["idle"][4] {
		t.Errorf("every walk makes a gap of %v or more, and none is longer than %v while others compute", got, control)
	}
}
