package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestStepsLeaveOutMoreAndMoreAndObserversLast(t *testing.T) {
	if s := steps[0]; s.slower != 1 || s.note != "" || s.noFilters || s.noSurvey || s.noObservers {
		t.Errorf("the first step leaves something out: %+v", s)
	}
	for i := 1; i < len(steps); i++ {
		was, is := steps[i-1], steps[i]
		if is.note == "" || is.slower < was.slower || is.groups > was.groups || is.past < was.past || was.noFilters && !is.noFilters || was.noSurvey && !is.noSurvey || was.noObservers {
			t.Errorf("step %d, %+v, is no more than %+v", i, is, was)
		}
	}
	if !steps[len(steps)-1].noObservers {
		t.Error("the last step keeps the observers")
	}
}

// readings has a meter read a use of memory n times.
func readings(m *meter, use uint64, n int) {
	m.mu.Lock()
	m.memory = func() uint64 { return use }
	m.mu.Unlock()
	for range n {
		m.mu.Lock()
		m.mu.at = m.mu.at.Add(-time.Second) // a second has passed
		m.mu.Unlock()
		m.read()
	}
}

func TestAnAgentOverItsLimitTakesStepsAndUndoesThemWhenThereIsRoom(t *testing.T) {
	m := newMeter()
	m.processCPU = func() (time.Duration, bool) { return 0, true }
	m.maxMemory = 100 << 20
	readings(m, 101<<20, overFor-1)
	if c, _ := m.cost(); c.Step != 0 || c.Note != "" || c.Unread {
		t.Fatalf("after %d readings over the limit: %+v, want no step yet", overFor-1, c)
	}
	readings(m, 101<<20, 1)
	c, _ := m.cost()
	if c.Step != 1 || !strings.Contains(c.Note, steps[1].note) || !strings.Contains(c.Note, "101 MB of memory, more than 100") {
		t.Fatalf("after %d: %+v, want step 1, what it leaves out, and why", overFor, c)
	}
	readings(m, 101<<20, 100*overFor)
	if c, _ = m.cost(); c.Step != len(steps)-1 {
		t.Fatalf("over the limit for long: step %d, want the last, %d", c.Step, len(steps)-1)
	}
	readings(m, 90<<20, 1000) // below the limit, but no room
	if c, _ = m.cost(); c.Step != len(steps)-1 {
		t.Fatalf("just below the limit: step %d, want the last still", c.Step)
	}
	readings(m, 50<<20, roomFor)
	if c, _ = m.cost(); c.Step != len(steps)-2 {
		t.Fatalf("after %d readings with room: step %d, want one less than the last", roomFor, c.Step)
	}
	readings(m, 50<<20, len(steps)*roomFor)
	if c, _ = m.cost(); c.Step != 0 || c.Note != "" {
		t.Fatalf("with room for long: %+v, want no step", c)
	}
}

func TestAStepThatWasUndoneInVainIsKeptLonger(t *testing.T) {
	m := newMeter()
	m.processCPU = func() (time.Duration, bool) { return 0, true }
	m.maxMemory = 100 << 20
	readings(m, 200<<20, overFor)
	readings(m, 50<<20, roomFor)
	readings(m, 200<<20, overFor) // at once
	readings(m, 50<<20, roomFor)
	if c, _ := m.cost(); c.Step != 1 {
		t.Fatalf("step %d, want 1: undoing it was in vain before", c.Step)
	}
	readings(m, 50<<20, roomFor)
	if c, _ := m.cost(); c.Step != 0 {
		t.Fatalf("step %d, want 0 after twice the time", c.Step)
	}
}

func TestTheLimitOfProcessorsCountsToo(t *testing.T) {
	m := newMeter()
	var used time.Duration
	m.processCPU = func() (time.Duration, bool) { used += time.Minute; return used, true } // more than there can be
	m.maxCPU = 0.5
	readings(m, 0, overFor)
	if c, _ := m.cost(); c.Step != 1 || !strings.Contains(c.Note, "of a processor, more than 0.50") {
		t.Errorf("%+v, want step 1 and why", c)
	}
}

// Of an agent whose limit is less than any program has.
func TestAnAgentThatSavesTellsItsClientsAndItsObserversWait(t *testing.T) {
	file := flighttest.Write(t, small())
	told := &witness{}
	a := start(t, Options{
		Dirs: []string{file.Dir}, MaxMemory: 1,
		Observe: func(flight.Process, recording.Source) []recording.Observer { return []recording.Observer{told} },
	})
	tab := connect(t, serve(t, a))
	tab.say(`{"type":"subscribe","filter":"state=parked"}`)
	// The client may have come after the reading with which the last step was taken.
	tab.framesUntil("the last step, and one client", func() bool {
		return tab.whole.Process != nil && tab.whole.Process.Cost.Step == len(steps)-1 && tab.whole.Process.Cost.Clients == 1
	})
	c := tab.whole.Process.Cost
	if !strings.Contains(c.Note, "exports of events are off") || !c.Unread || c.MaxMemory != 1 {
		t.Errorf("cost %+v, want what is off, and the limit", c)
	}
	if got := a.Cost(); got.Step != c.Step || got.Note == "" {
		t.Errorf("Cost returns %+v, the frame has %+v", got, c)
	}
	tab.framesUntil("ten times as few snapshots", func() bool { return tab.whole.Process.Snapshot.Every >= int64(10*interval) })
	tab.framesUntil("no filter", func() bool { return strings.Contains(tab.whole.Groups.Missing, "filter") })

	// Once there is room the observers are told the state anew.
	before, _, _ := told.told()
	readings(a.meter, 0, len(steps)*longestRoom)
	until(t, "a state for the observers", func() bool { n, live, _ := told.told(); return n > before && live == 100 })
	tab.framesUntil("no step", func() bool { return tab.whole.Process.Cost.Step == 0 })
	tab.framesUntil("what the filter matches", func() bool { return tab.whole.Groups.Missing == "" && tab.whole.Groups.Total == 79 })
}

func TestObservingEndsWithTheLastStepAndGoesOnAfterIt(t *testing.T) {
	m := newMeter()
	m.processCPU = func() (time.Duration, bool) { return 0, true }
	m.maxMemory = 100
	ctx, cancel, err := m.thrift.whileObserving(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	readings(m, 200, (len(steps)-2)*overFor)
	if ctx.Err() != nil {
		t.Error("observing has ended before the last step")
	}
	readings(m, 200, overFor)
	until(t, "the end of observing", func() bool { return ctx.Err() != nil })
	again := make(chan error, 1)
	go func() {
		_, cancel, err := m.thrift.whileObserving(t.Context())
		if err == nil {
			cancel()
		}
		again <- err
	}()
	readings(m, 0, roomFor)
	if err := <-again; err != nil {
		t.Error(err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	readings(m, 200, overFor)
	if _, _, err := m.thrift.whileObserving(over); err == nil {
		t.Error("observing goes on in the last step")
	}
}

func TestEventsAreReadOnlyWhileSomebodyWantsThem(t *testing.T) {
	m := newMeter()
	m.processCPU = func() (time.Duration, bool) { return 0, true }
	m.maxMemory = 100
	m.thrift.rest()
	over, stop := context.WithCancel(t.Context())
	stop()
	may := func() bool {
		_, cancel, err := m.thrift.whileObserving(over)
		if err == nil {
			cancel()
		}
		return err == nil
	}
	if may() {
		t.Error("events are read before anybody wants them")
	}
	m.thrift.want(time.Hour)
	ctx, cancel, err := m.thrift.whileObserving(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	m.thrift.rest()
	if ctx.Err() != nil || !may() {
		t.Error("events are not read any more, though they are wanted for an hour")
	}
	readings(m, 200, len(steps)*overFor)
	if may() {
		t.Error("events that are wanted are read, though the agent saves")
	}
	readings(m, 0, roomFor)
	if !may() {
		t.Error("events are not read again")
	}
	m.thrift.want(-time.Second)
	m.thrift.rest()
	until(t, "the end of reading", func() bool { return ctx.Err() != nil })
	if may() {
		t.Error("events are read that nobody wants any more")
	}
}

func TestObserversAreToldAfterAWishAndNotBefore(t *testing.T) {
	file := flighttest.Write(t, small())
	told := &witness{}
	a := start(t, Options{
		Dirs: []string{file.Dir}, ObserveFor: time.Hour,
		Observe: func(flight.Process, recording.Source) []recording.Observer { return []recording.Observer{told} },
	})
	shown(t, a)
	if n, _, _ := told.told(); n != 0 {
		t.Errorf("the observers were told %d states before anybody wanted it", n)
	}
	a.Want()
	until(t, "a state for the observers", func() bool { n, live, _ := told.told(); return n > 0 && live == 100 })
}
