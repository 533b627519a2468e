package agent

import (
	"encoding/json"
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
	told := make(chan int, 1024)
	lost := make(chan uint64, 1024)
	a := start(t, Options{Dirs: []string{file.Dir}, Observe: func(flight.Process, recording.Source) []recording.Observer {
		return []recording.Observer{&census{told, lost}}
	}})
	s := serve(t, a)
	v := shown(t, a)
	// Threads begin that the tables do not have, and never end: their ends were overwritten.
	for id := range 400_000 {
		file.Rings[0].Emit(flight.Now(), flight.EventThreadStart, 0, 0, flight.ThreadID(10_000+id), 0)
	}
	ended := file.Records[1]
	ended.End(flight.Now())
	file.Recorder.PutRecord(ended)
	until(t, "99 threads", func() bool {
		d, err := dump.ParseJSON(get(t, s.URL+"/api/v1/processes/"+v.row.Key+"/dump", 200))
		return err == nil && d.Threads == 99
	})
	sum := uint64(0)
	for deadline := time.After(20 * time.Second); ; {
		select {
		case n := <-lost:
			sum += n
			continue
		case n := <-told:
			if n == 99 && sum > 0 {
				return
			}
		case <-deadline:
			t.Fatalf("after 20 s observers were not told of 99 threads; %d events were lost", sum)
		}
	}
}

// A census tells how many threads each state has that it is given, and what was lost.
type census struct {
	told chan int
	lost chan uint64
}

func (c *census) Reset(t *recording.Tracker)                                   { c.told <- len(t.State().Threads) }
func (c *census) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (c *census) Lost(n uint64)                                                { c.lost <- n }
func (c *census) Flush(*recording.Tracker)                                     {}

// Whoever is started again, process or agent, in whatever order: what lives is shown, and what is gone is told.
func TestProcessesAndAgentsAreStartedAgainInAnyOrder(t *testing.T) {
	dir := flighttest.Dir(t)
	rows := func(a *Agent) (live, killed int) {
		for _, v := range a.views() {
			switch {
			case v.row.Status == "running" && v.snapshot != nil && v.snapshot.Threads == 3:
				live++
			case v.row.Status == "killed":
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
