package agent

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// What the agent shows comes from the tables. Events that say otherwise, because those between were overwritten, make no ghosts, and those overwritten are counted.
func TestOverwrittenEventsLeaveNoGhosts(t *testing.T) {
	file := flighttest.Write(t, small())
	told := &census{}
	a := start(t, Options{Dirs: []string{file.Dir}, Observe: func(flight.Process, recording.Source) []recording.Observer {
		return []recording.Observer{told}
	}})
	s := serve(t, a)
	v := shown(t, a)
	ended := file.Records[1]
	ended.End(flight.Now())
	file.Recorder.PutRecord(ended)
	// Threads begin that the tables do not have, and never end: their ends were overwritten.
	begin := func() {
		for id := range 400_000 {
			file.Rings[0].Emit(flight.Now(), flight.EventThreadStart, 0, 0, flight.ThreadID(10_000+id), 0)
		}
	}
	begin()
	until(t, "99 threads", func() bool {
		d, err := dump.ParseJSON(get(t, s.URL+"/api/v1/processes/"+v.row.Key+"/dump", 200))
		return err == nil && d.Threads == 99
	})
	// A state is read while threads begin: those that begin after it are none of it. Where nothing is lost any more, no other state follows.
	again := time.Now().Add(3 * time.Second)
	until(t, "observers told of 99 threads after a loss", func() bool {
		if now := time.Now(); now.After(again) {
			begin()
			again = now.Add(3 * time.Second)
		}
		told.mu.Lock()
		defer told.mu.Unlock()
		return told.threads == 99
	})
}

// A census knows how many threads the newest state has that it was given, and what was lost.
type census struct {
	mu      sync.Mutex
	threads int // of the newest state since something was lost
	lost    uint64
}

func (c *census) Reset(t *recording.Tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost > 0 {
		c.threads = len(t.State().Threads)
	}
}
func (c *census) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (c *census) Lost(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost += n
}
func (c *census) Flush(*recording.Tracker) {}

// Whoever is started again, process or agent, in whatever order: what lives is shown, and what is gone is told.
func TestProcessesAndAgentsAreStartedAgainInAnyOrder(t *testing.T) {
	dir := flighttest.Dir(t)
	rows := func(a *Agent) (live, killed int) {
		for _, v := range a.views() {
			switch {
			case v.row.Status == "running" && v.snapshot != nil && v.snapshot.Threads == 3:
				live++
			case v.row.Status == "gone":
				killed++
			}
		}
		return live, killed
	}
	expect := func(a *Agent, live, killed int) {
		t.Helper()
		began := time.Now()
		until(t, "as expected", func() bool { l, k := rows(a); return l == live && k == killed })
		t.Logf("%d live and %d killed after %v", live, killed, time.Since(began).Round(time.Millisecond))
	}
	a := start(t, Options{Dirs: []string{dir}})
	first := startChild(t, dir) // after the agent
	expect(a, 1, 0)
	first.Process.Kill()
	first.Wait()
	expect(a, 0, 1)
	second := startChild(t, dir) // the process again
	expect(a, 1, 1)
	a.Close()
	b := start(t, Options{Dirs: []string{dir}}) // the agent again
	expect(b, 1, 1)
	b.Close()
	second.Process.Kill() // while nobody looks
	second.Wait()
	third := startChild(t, dir)
	c := start(t, Options{Dirs: []string{dir}})
	expect(c, 1, 2)
	if f := c.find(jsonNumber(third.Process.Pid)); f == nil || f.view().row.Gone != 0 {
		t.Errorf("the process that lives is not found by its pid")
	}
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }
