package profile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
)

const ms = time.Millisecond

// collect lets a collector observe a source.
func collect(t testing.TB, src recording.Source, o CollectorOptions) *Collector {
	t.Helper()
	c, err := NewCollector(src.Stack, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Observe(context.Background(), src, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// made makes a profile, and checks that it is one.
func made(t testing.TB, c *Collector, kind string, from, to *Mark) *pprof.Profile {
	t.Helper()
	p := c.Profile(KindOf(kind), "/srv/script", recordingtest.Began, from, to)
	if err := p.CheckValid(); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return p
}

// lines writes each sample as "VALUES LABELS calls", calls innermost first, in order.
func lines(p *pprof.Profile) []string {
	var all []string
	for _, s := range p.Sample {
		var b strings.Builder
		for i, v := range s.Value {
			if p.SampleType[i].Unit == "nanoseconds" {
				fmt.Fprintf(&b, "%v ", time.Duration(v))
			} else {
				fmt.Fprintf(&b, "%d ", v)
			}
		}
		for _, k := range []string{"scope", "state", "reason", "blocker", "name"} {
			fmt.Fprintf(&b, "%s|", strings.Join(s.Label[k], ","))
		}
		for _, l := range s.Location {
			b.WriteString(" " + l.Line[0].Function.Name)
		}
		all = append(all, b.String())
	}
	slices.Sort(all)
	return all
}

func want(t testing.TB, what string, p *pprof.Profile, samples ...string) {
	t.Helper()
	slices.Sort(samples)
	if got := lines(p); !slices.Equal(got, samples) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(samples, "\n"))
	}
}

// script is a shop: thread 1 "cart 1" in root/requests/GET sleeps, is unparked, waits for a lock, and is in it at the end; thread 2 is pinned.
func script() *recordingtest.Script {
	s := recordingtest.New()
	s.Open(1, "requests", 0, 0)
	s.Open(2, "GET /cart/17", 1, 0)
	s.Name(1, "cart 1")
	s.Start(1, 2, 0)
	s.After(2*ms).Mount(1, 0)
	s.After(3*ms).Park(1, flight.ReasonSleep, 0, s.At("shop.nap nap.go:1", "shop.body body.go:9"))
	s.After(10*ms).Unpark(1, 0)
	s.After(1*ms).Mount(1, 0)
	s.After(4*ms).Park(1, flight.ReasonLock, flight.BlockAt(flight.BlockedByMutex, 0xc000), s.At("shop.lock lock.go:2", "shop.body body.go:9"))
	s.Start(2, 0, 1)
	s.After(1*ms).Mount(2, 1)
	s.After(7 * ms).Emit(recording.Event{
		Kind: flight.EventPinned, Code: flight.ReasonPinnedGo, Thread: 2, Carrier: 1, Ref: uint32(s.At("shop.receive chan.go:3")), Arg: uint64(flight.MakeHeld(6*ms, 4)),
	})
	s.End(2, flight.ReasonEnd)
	return s
}

func TestWhatThreadsDidIsCountedAndTimed(t *testing.T) {
	c := collect(t, script(), CollectorOptions{})
	m := c.Mark()
	want(t, "park", made(t, c, "park", nil, m),
		"1 10ms root/requests/GET /cart/*|timed-parked|sleep||cart *| shop.nap shop.body",
		"1 8ms root/requests/GET /cart/*|blocked|lock|mutex|cart *| shop.lock shop.body")
	want(t, "lock", made(t, c, "lock", nil, m), "1 8ms root/requests/GET /cart/*|blocked|lock|mutex|cart *| shop.lock shop.body")
	want(t, "ready", made(t, c, "ready", nil, m),
		"1 2ms root/requests/GET /cart/*|runnable|||cart *| [runnable]", "1 1ms root/requests/GET /cart/*|runnable|sleep||cart *| shop.nap shop.body",
		"1 1ms root|runnable|||| [runnable]")
	want(t, "run", made(t, c, "run", nil, m),
		"1 3ms root/requests/GET /cart/*|mounted|||cart *| [mounted]", "1 4ms root/requests/GET /cart/*|mounted|sleep||cart *| shop.nap shop.body",
		"1 7ms root|mounted|||| [mounted]")
	want(t, "pinned", made(t, c, "pinned", nil, m), "1 6ms 4 root|pinned|go-operation||| shop.receive")
	if p := made(t, c, "io", nil, m); len(p.Sample) != 0 || len(p.Comments) != 1 || p.Comments[0] != "empty: no thread waited for input or output" {
		t.Errorf("io: got %q and %q, want nothing, and to be told so", lines(p), p.Comments)
	}
	for _, k := range []string{"park", "ready", "lock", "io"} {
		p := made(t, c, k, nil, m)
		if p.PeriodType.Type != "contentions" || p.DefaultSampleType != "delay" || p.SampleType[1].Unit != "nanoseconds" || p.DurationNanos != 0 {
			t.Errorf("%s: got %v, %v, want the types of Go's own profile of waits", k, p.PeriodType, p.SampleType)
		}
	}
}

// A state is of when its reading began: threads whose records were read later may have done since what they do.
func TestWhoBeganAfterTheStateWasReadHasSpentNothing(t *testing.T) {
	s := recordingtest.New()
	c, err := NewCollector(s.Stack, CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tr := recording.NewTracker(s)
	state := func(at time.Duration) {
		tr.Reset(&recording.State{At: at, Scopes: []recording.Scope{{}}, Threads: []recording.Thread{
			{ID: 1, State: flight.StateBlocked, Reason: flight.ReasonLock, Since: 5 * ms, Stack: s.At("shop.lock lock.go:2")},
		}})
		c.Reset(tr)
	}
	state(3 * ms)
	for range 2 {
		if m := c.Mark(); len(m.sums) != 1 || m.sums[0].spent != 0 {
			t.Errorf("got %v, want one that has spent nothing", m.sums)
		}
	}
	state(13 * ms)
	if m := c.Mark(); len(m.sums) != 1 || m.sums[0].spent != float64(8*ms) {
		t.Errorf("got %v after a wait of 8 ms", m.sums)
	}
}

// Each reason for which threads wait for input or output is a sample of io.
func TestWaitsForInputAndOutputAreIO(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.Mount(1, 0)
	for _, r := range ioReasons {
		s.After(ms).Park(1, r, 0, s.At("net.read fd.go:1"))
		s.After(ms).Unpark(1, 0)
		s.Mount(1, 0)
	}
	p := made(t, collect(t, s, CollectorOptions{}), "io", nil, collect(t, s, CollectorOptions{}).Mark())
	if len(ioReasons) == 0 || len(p.Sample) != len(ioReasons) {
		t.Errorf("got %d samples, want one for each of %v", len(p.Sample), ioReasons)
	}
}

func TestADifferenceHasTheTimeOfTheStretchAlone(t *testing.T) {
	s := recordingtest.New()
	c, err := NewCollector(s.Stack, CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Start(1, 0, 0)
	s.Mount(1, 0)
	s.Park(1, flight.ReasonPark, 0, s.At("shop.wait wait.go:1"))
	s.After(100*ms).Start(2, 0, 0)
	s.After(50*ms).Unpark(1, 0)
	s.Mount(1, 0)
	s.After(1*ms).Park(1, flight.ReasonPark, 0, s.At("shop.wait wait.go:1"))
	s.After(9*ms).Start(3, 0, 0)
	marks := map[time.Duration]*Mark{}
	at := func(d time.Duration) { marks[d] = c.markAt(d) }
	if err := recording.Observe(context.Background(), s, observer{c, func(e *recording.Event) {
		if e.Kind == flight.EventThreadStart && e.Thread == 2 {
			at(100 * ms)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	at(160 * ms)
	want(t, "to 100 ms", made(t, c, "park", nil, marks[100*ms]), "1 100ms root|parked|park||| shop.wait")
	p := made(t, c, "park", marks[100*ms], marks[160*ms])
	want(t, "from there to 160 ms", p, "1 59ms root|parked|park||| shop.wait")
	if p.DurationNanos != int64(60*ms) {
		t.Errorf("got a duration of %v, want 60ms", time.Duration(p.DurationNanos))
	}
	at(200 * ms)
	want(t, "and to 200 ms", made(t, c, "park", marks[160*ms], marks[200*ms]), "0 40ms root|parked|park||| shop.wait")
	want(t, "all", made(t, c, "park", nil, marks[200*ms]), "2 199ms root|parked|park||| shop.wait")
}

// An observer is a collector, and is asked after each event.
type observer struct {
	*Collector
	after func(*recording.Event)
}

func (o observer) Event(e *recording.Event, ch recording.Change, t *recording.Tracker) {
	o.Collector.Event(e, ch, t)
	o.after(e)
}

func TestAGapIsNotCountedAsWaitingAndIsTold(t *testing.T) {
	s := recordingtest.New()
	at := s.At("shop.wait wait.go:1")
	for id := flight.ThreadID(1); id <= 3; id++ {
		s.Start(id, 0, 0)
		s.Mount(id, 0)
		s.Park(id, flight.ReasonPark, 0, at)
	}
	s.After(10 * ms).Emit(recording.Event{Kind: flight.EventMark})
	// 10 ms later all that is known is: 1 still waits, 2 has since half of the gap, 3 is gone.
	s.After(10 * ms)
	s.Lose(7)
	state := &recording.State{At: s.Now(), Threads: []recording.Thread{
		{ID: 1, State: flight.StateParked, Reason: flight.ReasonPark, Stack: at, Since: 0},
		{ID: 2, State: flight.StateParked, Reason: flight.ReasonPark, Stack: at, Since: 15 * ms},
	}}
	c, err := NewCollector(s.Stack, CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Observe(context.Background(), s, c); err != nil {
		t.Fatal(err)
	}
	tracker := recording.NewTracker(s)
	tracker.Reset(state)
	c.Reset(tracker)
	p := made(t, c, "park", nil, c.Mark())
	want(t, "park", p, "3 45ms root|parked|park||| shop.wait") // three times 10 ms; then 10 and 5
	told := strings.Join(p.Comments, "\n")
	if !strings.Contains(told, "7 events lost") || !strings.Contains(told, "read again once") {
		t.Errorf("got comments %q, want the loss", told)
	}
}

// Events of threads that are known to be further count; they take no time.
func TestEventsThatComeLateCount(t *testing.T) {
	s := recordingtest.New()
	s.After(10*ms).Start(1, 0, 0)
	s.Mount(1, 0)
	s.After(5*ms).Park(1, flight.ReasonSleep, 0, 0)
	c := collect(t, s, CollectorOptions{})
	tr := recording.NewTracker(s)
	for _, e := range []recording.Event{
		{Kind: flight.EventPark, Code: flight.ReasonLock, Thread: 99, Ref: uint32(s.At("shop.lock lock.go:2"))},
		{Kind: flight.EventMount, Thread: 99},
	} {
		c.Event(&e, recording.Change{}, tr)
	}
	m := c.Mark()
	want(t, "lock", made(t, c, "lock", nil, m), "1 0s |blocked|lock||| shop.lock")
	count := int64(0)
	for _, s := range made(t, c, "run", nil, m).Sample {
		count += s.Value[0]
	}
	if count != 2 {
		t.Errorf("got %d mounts, want 2", count)
	}
}

func TestWhatIsTooMuchIsSummedByReasonAndTold(t *testing.T) {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.Mount(1, 0)
	for i := range 40 {
		why := flight.ReasonSleep
		if i%2 == 1 {
			why = flight.ReasonLock
		}
		s.After(ms).Park(1, why, 0, s.At(fmt.Sprintf("shop.wait%d wait.go:%d", i, i+1)))
		s.After(ms).Unpark(1, 0)
		s.Mount(1, 0)
	}
	c := collect(t, s, CollectorOptions{Samples: 10})
	p := made(t, c, "park", nil, c.Mark())
	sums := map[string][2]int64{}
	for _, s := range p.Sample {
		v := sums[s.Label["reason"][0]]
		sums[s.Label["reason"][0]] = [2]int64{v[0] + s.Value[0], v[1] + s.Value[1]}
	}
	for _, r := range []string{"sleep", "lock"} {
		if sums[r] != [2]int64{20, int64(20 * ms)} {
			t.Errorf("%s: got %v, want 20 times 1 ms", r, sums[r])
		}
	}
	if told := strings.Join(p.Comments, "\n"); !strings.Contains(told, "there are more than 10 distinct samples") {
		t.Errorf("got %q, want to be told", told)
	}
	if n := len(c.mu.keys); n > 10+8 {
		t.Errorf("got %d keys, want no more than 10 and one for each sum", n)
	}
	if _, err := NewCollector(s.Stack, CollectorOptions{Samples: -1}); err == nil {
		t.Error("-1 samples: got no error")
	}
}

// Memory is bounded by the options also when every name and scope is another.
func TestNamesBeyondTheLimitAreOthers(t *testing.T) {
	s := recordingtest.New()
	for i := range 100 {
		word := string([]byte{byte('a' + i/26), byte('a' + i%26)})
		s.Open(flight.ScopeID(i+1), "scope-"+word, 0, 0)
		s.Start(flight.ThreadID(i+1), flight.ScopeID(i+1), 0)
		s.Name(flight.ThreadID(i+1), "thread-"+word)
		s.Mount(flight.ThreadID(i+1), 0)
		s.After(ms).Park(flight.ThreadID(i+1), flight.ReasonPark, 0, 0)
	}
	c := collect(t, s, CollectorOptions{Samples: 20})
	p := made(t, c, "park", nil, c.Mark())
	parks := int64(0)
	for _, s := range p.Sample {
		parks += s.Value[0]
	}
	if len(c.mu.texts.texts) > 42 || parks != 100 {
		t.Errorf("got %d texts and %d parks, want at most 42 and 100", len(c.mu.texts.texts), parks)
	}
	if told := strings.Join(p.Comments, "\n"); !strings.Contains(told, "are called [others]") {
		t.Errorf("got %q, want to be told", told)
	}
}

func TestBlockersHaveTheirNamesOrWhereTheyWereMade(t *testing.T) {
	s := recordingtest.New()
	named, unnamed, other := flight.BlockAt(flight.BlockedBySemaphore, 0x10), flight.BlockAt(flight.BlockedByMutex, 0x20), flight.BlockAt(flight.BlockedByMutex, 0x30)
	made1 := s.At("shop.open store.go:12")
	for id, b := range []flight.Blocker{named, unnamed, other, flight.BlockThread(7), flight.BlockScope(3)} {
		s.Start(flight.ThreadID(id+1), 0, 0)
		s.Mount(flight.ThreadID(id+1), 0)
		s.After(ms).Park(flight.ThreadID(id+1), flight.ReasonPark, b, 0)
	}
	asked, began := 0, time.Now()
	c := collect(t, s, CollectorOptions{Blockers: func() ([]flight.BlockerRow, error) {
		asked++
		return []flight.BlockerRow{{Blocker: named, Name: "db 4"}, {Blocker: unnamed, Made: made1}}, nil
	}})
	var got []string
	for _, s := range made(t, c, "park", nil, c.Mark()).Sample {
		got = append(got, strings.Join(s.Label["blocker"], ","))
	}
	slices.Sort(got)
	if want := []string{"mutex", "mutex made at shop.open store.go:12", "scope", `semaphore "db *"`, "thread"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if most := 1 + int(time.Since(began)/blockersEvery); asked == 0 || asked > most {
		t.Errorf("asked %d times, want once a second, %d times at most", asked, most)
	}
}

// A million threads that wait for a day are more nanoseconds than a profile holds.
func TestTimesThatDoNotFitAreMicroseconds(t *testing.T) {
	s := recordingtest.New()
	for id := flight.ThreadID(1); id <= 1000; id++ {
		s.Start(id, 0, 0)
		s.Mount(id, 0)
		s.Park(id, flight.ReasonPark, 0, 0)
	}
	s.After(100 * 24 * time.Hour).Emit(recording.Event{Kind: flight.EventMark})
	c := collect(t, s, CollectorOptions{})
	p := made(t, c, "park", nil, c.Mark())
	if want := int64(1000 * (100 * 24 * time.Hour / time.Microsecond)); p.SampleType[1].Unit != "microseconds" || p.Sample[0].Value[1] != want {
		t.Errorf("got %v %s, want %v microseconds", p.Sample[0].Value, p.SampleType[1].Unit, want)
	}
}

// Sums of a load are those that the load says; all threads have ended, so nothing is under way.
func TestCountsAreThoseOfTheEvents(t *testing.T) {
	load := &recordingtest.Load{Threads: 200, Events: 50_000, Seed: 3}
	c := collect(t, load, CollectorOptions{})
	m := c.Mark()
	for kind, of := range map[string]flight.Kind{"park": flight.EventPark, "run": flight.EventMount, "ready": flight.EventMount} {
		n := uint64(0)
		for _, s := range made(t, c, kind, nil, m).Sample {
			n += uint64(s.Value[0])
		}
		if n != load.Counts[of] || n == 0 {
			t.Errorf("%s: got %d, want %d", kind, n, load.Counts[of])
		}
	}
	for i, y := range c.mu.tallies {
		if y.live != 0 || y.begun != 0 {
			t.Errorf("sample %d: got %d threads that are at it still, begun %d; want none", i, y.live, y.begun)
		}
	}
}

// What goes on does so without events, in a process that is followed; in a recording time is that of the events.
func TestTimeGoesOnWithoutEvents(t *testing.T) {
	for _, live := range []bool{true, false} {
		s := recordingtest.New()
		s.Start(1, 0, 0)
		s.Mount(1, 0)
		s.Park(1, flight.ReasonPark, 0, s.At("shop.wait wait.go:1"))
		c := collect(t, s, CollectorOptions{Live: live})
		from := c.Mark()
		if !live {
			want(t, "a recording", made(t, c, "park", nil, c.Mark()), "1 0s root|parked|park||| shop.wait")
			continue
		}
		var to *Mark
		eventually(t, "time", func() bool { to = c.Mark(); return to.at > from.at })
		p := made(t, c, "park", from, to)
		if len(p.Sample) != 1 || p.Sample[0].Value[0] != 0 || p.Sample[0].Value[1] != p.DurationNanos {
			t.Errorf("got %q in %v, want the thread to have waited all the while", lines(p), time.Duration(p.DurationNanos))
		}
	}
}

// looped makes a tracker and events that can be told again and again: the threads park and go on.
func looped(threads int) (*recording.Tracker, []recording.Event, *recordingtest.Script) {
	s := recordingtest.New()
	s.Open(1, "requests", 0, 0)
	at := s.At("shop.wait wait.go:1", "shop.body body.go:2")
	tr := recording.NewTracker(s)
	var events []recording.Event
	for id := flight.ThreadID(1); id <= flight.ThreadID(threads); id++ {
		for _, e := range []recording.Event{
			{Kind: flight.EventThreadStart, Thread: id, Ref: 1},
			{Kind: flight.EventMount, Thread: id},
			{Kind: flight.EventPark, Code: flight.ReasonLock, Thread: id, Ref: uint32(at), Arg: uint64(flight.BlockAt(flight.BlockedByMutex, 0x10))},
		} {
			tr.Apply(&e)
		}
		events = append(events,
			recording.Event{Kind: flight.EventUnpark, Thread: id},
			recording.Event{Kind: flight.EventMount, Thread: id},
			recording.Event{Kind: flight.EventPark, Code: flight.ReasonLock, Thread: id, Ref: uint32(at), Arg: uint64(flight.BlockAt(flight.BlockedByMutex, 0x10))},
		)
	}
	return tr, events, s
}

func TestAnEventOfAKnownSampleAllocatesNothing(t *testing.T) {
	tr, events, s := looped(100)
	c, err := NewCollector(s.Stack, CollectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Reset(tr)
	now := time.Duration(0)
	round := func() {
		for i := range events {
			now += time.Microsecond
			events[i].Time = now
			c.Event(&events[i], tr.Apply(&events[i]), tr)
		}
		c.Flush(tr)
	}
	round()
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("got %v allocations in %d events, want none", n, len(events))
	}
}

// BenchmarkEvents tells what the collector adds to a tracker.
func BenchmarkEvents(b *testing.B) {
	for _, collected := range []bool{false, true} {
		b.Run(fmt.Sprintf("collected=%v", collected), func(b *testing.B) {
			tr, events, s := looped(10_000)
			c, err := NewCollector(s.Stack, CollectorOptions{})
			if err != nil {
				b.Fatal(err)
			}
			c.Reset(tr)
			b.ReportAllocs()
			now := time.Duration(0)
			i := 0
			for b.Loop() {
				e := &events[i]
				if i++; i == len(events) {
					i = 0
				}
				now += time.Microsecond
				e.Time = now
				ch := tr.Apply(e)
				if collected {
					c.Event(e, ch, tr)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
