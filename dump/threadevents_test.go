package dump_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// busy is a flight file whose rings hold sixteen events each. Thread 2 "clerk" waited for the till, was woken by #1 on another carrier, and waits again; #9 has ended.
func busy(t *testing.T) *flighttest.File {
	till := uint64(flight.BlockLock(0xc000010000))
	e := func(c flight.CarrierID, age time.Duration, k flight.Kind, code flight.Reason, stack int, id flight.ThreadID, arg uint64) flighttest.Event {
		return flighttest.Event{Carrier: c, Age: age, Kind: k, Code: code, Stack: stack, Thread: id, Arg: arg}
	}
	spec := flighttest.Spec{
		Stacks:  []flighttest.Stack{{{Func: "example.org/shop.(*Till).Open", File: "/src/till.go", Line: 7}}},
		Threads: 2,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Name: []string{"main", "clerk"}[i], State: flight.StateParked, Reason: flight.ReasonPark}
		},
		Carriers: 2, RingSize: 16,
		Trace: []flighttest.Event{
			e(0, 90*time.Second, flight.EventThreadStart, 0, 0, 2, 1), // overwritten
			e(0, 80*time.Second, flight.EventMount, 0, 0, 2, 0),       // overwritten
			e(0, 70*time.Second, flight.EventPark, flight.ReasonLock, 1, 2, till),
			e(1, 60*time.Second, flight.EventThreadEnd, flight.ReasonEnd, 0, 9, 0),
			e(1, 50*time.Second, flight.EventUnpark, 0, 0, 2, 1),
			e(1, 49*time.Second, flight.EventMount, 0, 0, 2, 0),
			e(1, 40*time.Second, flight.EventPark, flight.ReasonLock, 1, 2, till),
		},
	}
	for i := range 14 {
		spec.Trace = append(spec.Trace, e(0, time.Duration(30-i)*time.Second, flight.EventYield, 0, 0, 1, 0))
	}
	return flighttest.Write(t, spec)
}

func threadEvents(t *testing.T, src dump.Source, id flight.ThreadID, most int) *dump.ThreadEvents {
	t.Helper()
	e, err := dump.TakeThreadEvents(t.Context(), src, id, most)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func kindsOf(e *dump.ThreadEvents) (kinds []string) {
	for i := range e.Events {
		kinds = append(kinds, e.Events[i].Kind)
	}
	return kinds
}

func TestEventsOfAThreadAreWhatTheRingsStillHold(t *testing.T) {
	r := open(t, busy(t).Path)
	e := threadEvents(t, r, 2, 0)
	// Package flighttest starts the threads when all is written.
	if got, want := kindsOf(e), []string{"park", "unpark", "mount", "park", "thread-start"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got events %v, want %v", got, want)
	}
	if e.ID != 2 || e.Name != "clerk" || e.State != "parked" || !e.Complete || e.Earlier != 0 {
		t.Errorf("got %+v", e)
	}
	first, woken, last := &e.Events[0], &e.Events[1], &e.Events[3]
	if first.For < 19*time.Second || first.For > 21*time.Second || first.Stack < 0 || e.Stacks[first.Stack].Frames[0].Line != 7 || *first.Carrier != 0 ||
		!slices.Contains(first.Fields, dump.EventField{Name: "reason", Text: "lock"}) {
		t.Errorf("first park: got %+v", first)
	}
	if woken.By == nil || woken.By.Thread != 1 || woken.By.Name != "main" {
		t.Errorf("unpark: got by %+v, want #1 main", woken.By)
	}
	if last.For != 0 || *last.Carrier != 1 {
		t.Errorf("the park that lasts: got %+v", last)
	}
	// Carrier 0 has overwritten what was before its oldest event, carrier 1 nothing.
	if early := e.Whole.Sub(first.Time); early < -time.Second || early > 50*time.Second {
		t.Errorf("whole from %v on, want about when the oldest event of the full ring was, %v", e.Whole, first.Time)
	}

	if few := threadEvents(t, r, 2, 2); !reflect.DeepEqual(kindsOf(few), []string{"park", "thread-start"}) || few.Earlier != 3 {
		t.Errorf("the newest two: got %v and %d earlier", kindsOf(few), few.Earlier)
	}
	if gone := threadEvents(t, r, 9, 0); gone.State != "" || !reflect.DeepEqual(kindsOf(gone), []string{"thread-end"}) {
		t.Errorf("of a thread that has ended: got %+v", gone)
	}
	if none := threadEvents(t, r, 77, 0); none.State != "" || len(none.Events) != 0 || none.Events == nil || none.Stacks == nil {
		t.Errorf("of no thread: got %+v", none)
	}
}

func TestEventsOfAThreadAreReadAsTheyWereWritten(t *testing.T) {
	e := threadEvents(t, open(t, busy(t).Path), 2, 0)
	var b bytes.Buffer
	if err := dump.ThreadEventsJSON(&b, e); err != nil {
		t.Fatal(err)
	}
	var got dump.ThreadEvents
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Format != dump.ThreadEventsFormat || !reflect.DeepEqual(kindsOf(&got), kindsOf(e)) {
		t.Errorf("got %+v, %v", got, err)
	}
	b.Reset()
	e.Process.Started = e.Whole.Add(-time.Minute) // the process of the test is younger than its events
	if err := dump.ThreadEventsText(&b, e, dump.TextOptions{Width: 160}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"events of thread #2 \"clerk\"\n", "some are overwritten\n", "     1  unpark          by #1 \"main\"\n", "     0  park            for 20 s  reason lock", "shop.(*Till).Open till.go:7\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}

func TestSettingsThatLeaveEventsOutAreTold(t *testing.T) {
	f := busy(t)
	to, err := flight.ChangeSettings(f.Recorder.Settings(), "unpark=off")
	if err != nil {
		t.Fatal(err)
	}
	f.Recorder.SetSettings(to)
	if e := threadEvents(t, open(t, f.Path), 2, 0); e.Complete || !slices.Contains(e.Incomplete, "events unpark are off") {
		t.Errorf("got incomplete %q, want that unpark is off", e.Incomplete)
	}
}

// A thread that parks for long did little in the last seconds: the recording is read back as far as it must.
func TestEventsOfAThreadInARecordingAreThoseUpToItsMoment(t *testing.T) {
	s := recordingtest.New()
	s.After(time.Second).Start(1, 0, 0)
	s.Name(1, "long")
	s.Mount(1, 3)
	s.Park(1, flight.ReasonSleep, 0, s.At("shop.nap /src/nap.go:3"))
	for i := range 400 { // a state now and then, as recordings have
		s.Batch()
		id := flight.ThreadID(i + 10)
		s.After(500*time.Millisecond).Start(id, 0, 1)
		s.Mount(id, 4)
		s.End(id, flight.ReasonEnd)
	}
	s.After(time.Second).Unpark(1, 0)
	s.After(time.Second).Mount(1, 3)
	s.End(1, flight.ReasonEnd)
	var b bytes.Buffer
	w := recording.NewWriter(&b, s.Info(), s, nil)
	if err := s.Read(t.Context(), func(x *recording.Batch) (ok bool) { return w.WriteBatch(x) == nil }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := recording.NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) dump.Source {
		m, err := f.At(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	e := threadEvents(t, at(200*time.Second), 1, 0)
	if got := fmt.Sprint(kindsOf(e)); e.Name != "long" || e.State != "timed-parked" && e.State != "parked" || got != "[thread-start thread-name mount park unmount]" {
		t.Errorf("before it wakes: got %s of %+v", got, e)
	}
	end := f.Info().To.Sub(f.Info().From)
	if e := threadEvents(t, at(end), 1, 0); e.State != "" || len(e.Events) != 9 || e.Events[8].Kind != "unmount" && e.Events[8].Kind != "thread-end" {
		t.Errorf("after its end: got %v of %+v", kindsOf(e), e)
	}
	if e := threadEvents(t, at(end), 1, 3); len(e.Events) != 3 || e.Whole.After(e.Events[0].Time) {
		t.Errorf("the newest three: got %v, whole from %v", kindsOf(e), e.Whole)
	}
}
