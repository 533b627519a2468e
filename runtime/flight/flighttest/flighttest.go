package flighttest

import (
	"cmp"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Stack is a stack to record, innermost frame first.
type Stack []flight.Frame

// A Scope is a scope to record.
type Scope struct {
	Name   string
	Parent int // position in [Spec.Scopes] counted from 1; 0 is the root scope; must come earlier
	Owner  flight.ThreadID
	State  flight.ScopeState // zero: open

	Deadline time.Duration // from now; zero: none
	Policy   string
	Limit    int
	Queued   int
}

// A Thread is a thread to record.
type Thread struct {
	Name    string
	Scope   int // position in [Spec.Scopes] counted from 1; 0 is the root scope
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	State   flight.State
	Reason  flight.Reason
	Carrier flight.CarrierID // of mounted and pinned ones
	Age     time.Duration    // how long it has been in State
	Blocker flight.Blocker
	Limited bool // it waits for Blocker with a time limit
	Waker   flight.ThreadID
	Creator flight.ThreadID
	Mounts  int // besides the one that State implies
	Labels  map[string]string

	Scheduler flight.SchedulerID
	Flags     flight.RecordFlags // such as what executes it
}

// A Scheduler is a scheduler to record.
type Scheduler struct {
	ID      flight.SchedulerID
	Name    string
	Began   time.Duration            // how long ago
	Age     time.Duration            // of its figures
	Untold  bool                     // it has told nothing yet
	Figures map[flight.Figure]uint64 // the others are 0
	Ready   map[time.Duration]uint64 // counts by duration
	Slice   map[time.Duration]uint64
	Pinned  map[time.Duration]uint64
}

// A Pin is a pin to count by its place.
type Pin struct {
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	Reason  flight.Reason
	Held    time.Duration
	Victims uint64
	Age     time.Duration // since it ended
}

// A LockHold is a hold of a lock to count by the place of its release.
type LockHold struct {
	Blocker flight.Blocker
	Name    string
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	Thread  flight.ThreadID
	Held    time.Duration
	Waiting int
	Age     time.Duration // since it ended
}

// A Carrier is a carrier to record. With the zero value it runs, and its scheduler is not known.
type Carrier struct {
	Scheduler flight.SchedulerID
	State     flight.CarrierState // zero: running
	Hold      *Hold
}

// A Hold is what somebody saw of a carrier's thread.
type Hold struct {
	Thread flight.ThreadID
	Reason flight.Reason
	Age    time.Duration
	Stack  int // position in [Spec.Stacks] counted from 1; 0 is none
}

// An Event is an event to record in a carrier's ring.
type Event struct {
	Carrier flight.CarrierID
	Age     time.Duration
	Kind    flight.Kind
	Code    flight.Reason
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	Thread  flight.ThreadID
	Arg     uint64
}

// A Blocker is something that is waited for, to record.
type Blocker struct {
	Blocker   flight.Blocker
	Name      string
	Made      int // position in [Spec.Stacks] counted from 1; 0 is none
	Capacity  uint64
	Available int64
	Holders   []Holder
	Held      int // holders in all; zero: as many as Holders
	Age       time.Duration
}

// A Holder is one of the holders of a blocker.
type Holder struct {
	Party flight.Party
	Age   time.Duration
}

// A Goroutine is a goroutine that waits and is no thread, to record.
type Goroutine struct {
	ID      uintptr
	State   flight.State
	Reason  flight.Reason
	Stack   int // position in [Spec.Stacks] counted from 1; 0 is none
	Blocker flight.Blocker
	Age     time.Duration
	Limited bool // it waits with a time limit
}

// A Spec says what to write.
type Spec struct {
	Scopes   []Scope
	Stacks   []Stack
	Threads  int                 // threads have the ids 1 … Threads
	Thread   func(i int) Thread  // describes thread i, 0 ≤ i < Threads; nil: all parked in the root scope
	Carriers int                 // rings to make, with ids from 0; zero: 1
	Carrier  func(i int) Carrier // describes carrier i, 0 ≤ i < Carriers; nil: the zero value
	Events   int                 // events to write to each carrier's ring: mounts and parks in turn
	Trace    []Event             // events to write after those, oldest first
	RingSize int                 // events that a carrier's ring holds; zero: 1024

	Schedulers []Scheduler
	Pins       []Pin              // oldest first
	Holds      []LockHold         // oldest first
	Pollers    []flight.PollerRow // Last is not looked at: it is now
	Blockers   []Blocker
	Goroutines []Goroutine
	Ended      bool // close the recorder; the file is kept
}

// A File is a written flight file.
type File struct {
	Path     string
	Dir      string
	Recorder *flight.Recorder // still open, so that a test can go on writing; nil if Spec.Ended
	Scopes   []flight.ScopeIndex
	Stacks   []flight.StackID
	Rings    []*flight.Ring
	Records  []*flight.Record // of the threads, in order
}

// Write writes a flight file; it fails the test if it cannot, and skips it where there are no
// flight files.
func Write(t testing.TB, s Spec) *File {
	t.Helper()
	dir := Dir(t)
	r, err := flight.New(flight.Options{Dir: dir, Program: "flighttest", Warn: func(msg string) { t.Errorf("recorder warns: %s", msg) }})
	if err != nil {
		t.Fatalf("start recorder: %v", err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close recorder: %v", err)
		}
	})
	f := &File{Path: r.Path(), Dir: dir, Recorder: r}
	f.scopesAndStacks(s)
	f.threads(s)
	f.events(s)
	f.schedulers(s)
	f.blockers(s)
	if s.Ended {
		f.end(t)
	}
	return f
}

func (f *File) scopesAndStacks(s Spec) {
	now := flight.Now()
	for i, sc := range s.Scopes {
		deadline := flight.Ticks(0)
		if sc.Deadline != 0 {
			deadline = now.Add(sc.Deadline)
		}
		index := f.Recorder.OpenScope(flight.ScopeID(i+1), sc.Name, f.scope(sc.Parent), sc.Owner, deadline, now)
		f.Recorder.DescribeScope(index, sc.Policy, sc.Limit)
		f.Recorder.SetScopeQueued(index, sc.Queued)
		if sc.State != flight.ScopeFree {
			f.Recorder.SetScopeState(index, sc.State)
		}
		f.Scopes = append(f.Scopes, index)
	}
	for _, st := range s.Stacks {
		f.Stacks = append(f.Stacks, f.Recorder.AddStack(st))
	}
}

func (f *File) scope(i int) flight.ScopeIndex {
	if i == 0 {
		return 0
	}
	return f.Scopes[i-1]
}

func (f *File) threads(s Spec) {
	now := flight.Now()
	for i := range s.Threads {
		th := Thread{State: flight.StateParked, Reason: flight.ReasonPark}
		if s.Thread != nil {
			th = s.Thread(i)
		}
		id := flight.ThreadID(i + 1)
		since := now.Add(-th.Age)
		rec := f.Recorder.GetRecord()
		rec.Init(flight.StateNew, id, f.scope(th.Scope), th.Creator, 0, th.Flags.With(th.Scheduler), since)
		f.Recorder.Emit(since, flight.EventThreadStart, 0, 0, id, uint64(th.Creator))
		for range th.Mounts {
			rec.Mounted(since, th.Carrier)
		}
		stack := f.stack(th.Stack)
		if th.Limited {
			th.Blocker = th.Blocker.Limited()
		}
		switch th.State {
		case flight.StateNew, flight.StateFree:
		case flight.StateRunnable:
			rec.Parked(since, flight.StateParked, th.Reason, stack, 0)
			rec.Runnable(since, th.Waker)
		case flight.StateMounted:
			rec.Mounted(since, th.Carrier)
		case flight.StatePinned:
			rec.Mounted(since, th.Carrier)
			rec.Pinned(since, th.Reason, stack, th.Blocker)
		default:
			rec.Parked(since, th.State, th.Reason, stack, th.Blocker)
		}
		if th.Name != "" {
			f.Recorder.SetName(rec, th.Name)
		}
		f.Recorder.OpenLabels(flight.ThreadID(i+1), flight.LabelsText(th.Labels))
		f.Records = append(f.Records, rec)
	}
}

func (f *File) stack(i int) flight.StackID {
	if i == 0 {
		return 0
	}
	return f.Stacks[i-1]
}

func (f *File) events(s Spec) {
	now := flight.Now()
	for c := range max(s.Carriers, 1) {
		var is Carrier
		if s.Carrier != nil {
			is = s.Carrier(c)
		}
		g := f.Recorder.AcquireRing(flight.CarrierID(c), is.Scheduler, cmp.Or(s.RingSize, 1024))
		g.SetCarrier(cmp.Or(is.State, flight.CarrierRunning))
		if h := is.Hold; h != nil {
			g.Hold(h.Thread, now.Add(-h.Age), h.Reason, f.stack(h.Stack))
		}
		for i := range s.Events {
			id := flight.ThreadID(i/2%max(s.Threads, 1) + 1)
			if i%2 == 0 {
				g.Emit(flight.Now(), flight.EventMount, 0, 0, id, 0)
			} else {
				g.Emit(flight.Now(), flight.EventPark, flight.ReasonPark, 0, id, 0)
			}
		}
		f.Rings = append(f.Rings, g)
	}
	for _, e := range s.Trace {
		f.Rings[e.Carrier].Emit(now.Add(-e.Age), e.Kind, e.Code, f.stack(e.Stack), e.Thread, e.Arg)
	}
}

func (f *File) schedulers(s Spec) {
	now := flight.Now()
	for _, sc := range s.Schedulers {
		rec := f.Recorder.OpenScheduler(sc.ID, sc.Name, now.Add(-sc.Began))
		if sc.Untold {
			continue
		}
		var figures [flight.FigureCount]uint64
		for which, v := range sc.Figures {
			figures[which] = v
		}
		rec.Write(now.Add(-sc.Age), &figures, histogram(sc.Ready), histogram(sc.Slice), histogram(sc.Pinned))
	}
	for i := range s.Pollers {
		p := &s.Pollers[i]
		f.Recorder.OpenPoller(p.Kind, p.Number).Write(&p.PollerFigures, now)
	}
	for _, p := range s.Pins {
		f.Recorder.CountPin(f.stack(p.Stack), p.Reason, p.Held, p.Victims, now.Add(-p.Age))
	}
	for _, h := range s.Holds {
		f.Recorder.CountHold(h.Blocker, h.Name, f.stack(h.Stack), h.Thread, h.Held, h.Waiting, now.Add(-h.Age))
	}
}

func (f *File) blockers(s Spec) {
	now := flight.Now()
	for _, b := range s.Blockers {
		rec := f.Recorder.OpenBlocker(flight.BlockerSpec{Blocker: b.Blocker, Name: b.Name, Made: f.stack(b.Made), Capacity: b.Capacity}, now.Add(-b.Age))
		holders := make([]flight.Holder, len(b.Holders))
		for i, h := range b.Holders {
			holders[i] = flight.Holder{Party: h.Party, Since: now.Add(-h.Age)}
		}
		rec.SetHolders(cmp.Or(b.Held, len(holders)), holders...)
		rec.Count(b.Available, 0)
	}
	for _, g := range s.Goroutines {
		w := flight.WaitSpec{Party: flight.PartyGoroutine(g.ID), State: g.State, Reason: g.Reason, Stack: f.stack(g.Stack), Blocker: g.Blocker}
		if g.Limited {
			w.Until = now.Add(time.Hour)
		}
		f.Recorder.OpenWait(w, now.Add(-g.Age))
	}
}

func histogram(counts map[time.Duration]uint64) *flight.Histogram {
	h := new(flight.Histogram)
	for d, n := range counts {
		h[flight.BucketOf(d)] += n
	}
	return h
}

// end closes the recorder and puts a copy of the file where it was, as a process leaves it that
// ended in between.
func (f *File) end(t testing.TB) {
	t.Helper()
	file, err := os.Open(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := f.Recorder.Close(); err != nil {
		t.Fatalf("close recorder: %v", err)
	}
	content, err := io.ReadAll(file)
	if err == nil {
		err = os.WriteFile(f.Path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Recorder = nil
}

// Dir makes an empty directory on a tmpfs, removed by the test's cleanup; it skips the test with
// the reason where there is none.
func Dir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("flight files exist on Linux only")
	}
	dir, err := os.MkdirTemp("/dev/shm", "vtscope-test-")
	if err != nil {
		t.Skipf("needs a tmpfs at /dev/shm: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
