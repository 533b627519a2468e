package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func (t *tab) rewind(process string, at int64, filter string) {
	t.Helper()
	b, err := json.Marshal(Subscription{Type: TypeSubscribe, Process: process, At: at, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	t.say(string(b))
}

// keep has the moment stay to which a test comes back: others go when there are some hundred newer ones, which is soon at the interval of tests.
func keep(t *testing.T, a *Agent, at int64) {
	t.Helper()
	k := &shown(t, a).from.keeper
	k.mark(at, time.Now())
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.markedLocked(at) {
		t.Fatalf("the moment %d is gone already", at)
	}
}

func TestAPageGoesBackToAMomentAndForthAgain(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.rewind("", 0, "")
	tab.framesUntil("moments", func() bool {
		return tab.whole.Moment != nil && tab.whole.Moment.Kept >= 3 && tab.whole.Process.Snapshot.Time > 0 && tab.whole.Groups.Total == 100
	})
	then := tab.whole.Process.Snapshot.Time
	keep(t, a, then)
	key := tab.whole.Process.Key

	// The threads that wait for the lock get it.
	for _, rec := range file.Records[80:] {
		rec.Parked(flight.Now(), flight.StateParked, flight.ReasonPark, 0, 0)
	}
	tab.framesUntil("none blocked", func() bool { return tab.whole.Process.Counts[flight.StateBlocked] == 0 })

	tab.rewind("", then, "")
	tab.framesUntil("the moment before", func() bool { return tab.whole.Moment.Shown == then && tab.whole.Process.Snapshot.Time == then })
	w := tab.whole
	if w.Process.Counts[flight.StateBlocked] != 20 || w.Process.Key != key {
		t.Errorf("process %+v, want 20 blocked as then", w.Process)
	}
	if !slices.ContainsFunc(w.Groups.Rows, func(g GroupRow) bool { return g.State == "blocked" && g.Count == 20 }) {
		t.Errorf("groups %+v, want 20 blocked as then", w.Groups)
	}
	if !slices.ContainsFunc(w.Scopes.Rows, func(r ScopeRow) bool { return r.Path == "root/shop/jobs" && r.Counts[flight.StateBlocked] == 20 }) {
		t.Errorf("scopes %+v, want 20 blocked in jobs as then", w.Scopes)
	}
	if m := w.Moment; m.At != then || len(m.Forth) == 0 || m.Forth[0] <= then || m.Oldest == 0 || m.Oldest > then {
		t.Errorf("moment %+v, want later ones to step to", m)
	}
	points := 0
	tab.framesUntil("the time line going on, and the moment staying", func() bool {
		if tab.whole.Points != nil && len(tab.whole.Points.Time) > 0 && tab.whole.Points.Time[0] > then {
			points++
		}
		return points >= 3
	})
	if tab.whole.Process.Counts[flight.StateBlocked] != 20 {
		t.Errorf("after a while: %+v, want the moment still", tab.whole.Process)
	}

	// The same document over HTTP.
	of := s.URL + "/api/v1/processes/" + key
	if d, err := dump.ParseJSON(get(t, fmt.Sprintf("%s/dump?at=%d", of, then), 200)); err != nil || d.States[flight.StateBlocked] != 20 || d.Taken.UnixMilli() != then {
		t.Errorf("dump of the moment: %v, %+v; want 20 blocked", err, d)
	}
	if text := string(get(t, fmt.Sprintf("%s/groups/1?at=%s&format=text", of, time.UnixMilli(then).UTC().Format(time.RFC3339Nano)), 200)); !strings.Contains(text, "query") {
		t.Errorf("the largest group of the moment: %s", text)
	}

	tab.rewind("", 1e12, "")
	tab.framesUntil("that nothing is kept of it", func() bool { return strings.Contains(tab.whole.Moment.Missing, "Nothing is kept of") })
	if w := tab.whole; w.Moment.Shown != 0 || w.Groups.Missing != w.Moment.Missing || len(w.Groups.Rows)+len(w.Scopes.Rows)+len(w.Carriers.Rows) != 0 {
		t.Errorf("of a moment that is not kept: moment %+v, groups %+v, want nothing and why", w.Moment, w.Groups)
	}

	tab.rewind("", 0, "")
	tab.framesUntil("now again", func() bool { return tab.whole.Moment.At == 0 && tab.whole.Process.Counts[flight.StateBlocked] == 0 })
	if m := tab.whole.Moment; m.Shown != 0 || m.Missing != "" || len(m.Forth) != 0 {
		t.Errorf("moment %+v, want now", m)
	}

	// The past stays when the process has ended.
	if err := file.Recorder.Close(); err != nil {
		t.Fatal(err)
	}
	tab.framesUntil("ended", func() bool { return tab.whole.Process.Status == "ended" })
	tab.rewind(key, then, "")
	tab.framesUntil("as it was", func() bool {
		return tab.whole.Moment.Shown == then && tab.whole.Process.Counts[flight.StateBlocked] == 20 && tab.whole.Process.Status == "running"
	})
}

func TestAMomentHasTheFiltersThatWereUsedThen(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.rewind("", 0, "state=blocked")
	tab.framesUntil("filtered", func() bool {
		return tab.whole.Groups != nil && tab.whole.Groups.Total == 20 && tab.whole.Moment.Kept > 1
	})
	then := tab.whole.Process.Snapshot.Time
	keep(t, a, then)
	tab.rewind("", then, "state=blocked")
	tab.framesUntil("filtered then", func() bool {
		return tab.whole.Moment.Shown == then && tab.whole.Groups.Total == 20 && tab.whole.Groups.Filter == "state=blocked"
	})
	get(t, fmt.Sprintf("%s/api/v1/processes/%s/dump?at=%d&filter=state%%3Dblocked", s.URL, tab.whole.Process.Key, then), 200)
	tab.rewind("", then, "state=mounted")
	tab.framesUntil("why not", func() bool { return strings.Contains(tab.whole.Groups.Missing, "not kept with this filter") })
	tab.rewind("", then, "")
	tab.framesUntil("all then", func() bool { return tab.whole.Moment.Shown == then && tab.whole.Groups.Total == 100 })
}

func TestAPageGoesToAnyMomentOfARecording(t *testing.T) {
	vtr, bundle := recordedFiles(t)
	a := start(t, Options{NoLocal: true, Files: []string{vtr, bundle}, Points: 20})
	s := serve(t, a)
	for _, v := range a.views() {
		tab := connect(t, s)
		tab.rewind(v.row.Key, 0, "")
		tab.framesUntil("a time line", func() bool {
			return tab.whole.Points != nil && tab.whole.Moment.Newest > 0 && tab.whole.Moment.Note == "" && len(tab.whole.Points.Time) > 0
		})
		w := tab.whole
		if n := len(w.Points.Time); n > 20 || w.Points.Counts[flight.StateBlocked][n-1] != 20 || w.Points.Counts[flight.StateTimedParked][n-1]+w.Points.Counts[flight.StateParked][n-1] != 79 {
			t.Errorf("%s: the time line has %d points, the last %v; want at most 20, with 20 blocked and 79 parked", v.row.Key, n, w.Points.Counts)
		}
		if m := w.Moment; m.Oldest == 0 || m.Newest <= m.Oldest || m.Kept != 0 || len(m.Back) == 0 {
			t.Errorf("%s: moment %+v, want any from its beginning to its end", v.row.Key, m)
		}
		at := w.Moment.Newest - 10 // a bundle begins before there were threads
		tab.rewind(v.row.Key, at, "state=blocked")
		tab.framesUntil("the moment, with a filter", func() bool {
			return tab.whole.Moment.Shown != 0 && !tab.whole.Moment.Busy && tab.whole.Groups.Total == 20 && tab.whole.Process.Gone == at
		})
		if p := tab.whole.Process; p.Key != v.row.Key || p.Status != statusRecorded {
			t.Errorf("process %+v, want the same one", p)
		}
		tab.rewind(v.row.Key, 1, "")
		tab.framesUntil("the first moment", func() bool { return tab.whole.Moment.Shown == tab.whole.Moment.Oldest && tab.whole.Groups.Total >= 79 })
		get(t, fmt.Sprintf("%s/api/v1/processes/%s/dump?at=%d", s.URL, v.row.Key, at), 200)
	}
}

func TestTheTimeLineTellsDelaysMarksAndFlags(t *testing.T) {
	file := flighttest.Write(t, flighttest.Spec{})
	f := following(t, file)
	record := file.Recorder.OpenScheduler(1, "s", flight.Now())
	at, ticks := time.Now(), flight.Now()
	f.latest = &dump.Snapshot{Taken: at}
	tick := func(after time.Duration) point {
		f.read(at.Add(after))
		f.hear(at.Add(after))
		f.due = true
		f.publish(f.reader.Process())
		return f.history.points[len(f.history.points)-1]
	}
	tell(record, ticks, 10)
	file.Recorder.Emit(ticks, flight.EventPinned, flight.ReasonPinnedGo, 0, 1, 0)
	if p := tick(0); len(p.ready.bars) != 0 || p.marks != [markCount]uint64{} {
		t.Errorf("the first point: %+v, want nothing of what was before", p)
	}
	tell(record, ticks.Add(time.Second), 30)
	for range 3 {
		file.Recorder.Emit(ticks, flight.EventPinned, flight.ReasonPinnedGo, 0, 1, 0)
	}
	file.Recorder.Emit(ticks, flight.EventStarved, 0, 0, 1, 0)
	f.lookout.found = &dump.Findings{Findings: []dump.Finding{{Key: "a", Check: "deadlock", Severity: dump.SeverityError, What: "2 threads wait"}, {Key: "b", Severity: dump.SeverityInfo}}}
	p := tick(time.Second)
	if int(p.ready.first) != flight.BucketOf(time.Microsecond) || !slices.Equal(p.ready.bars, []uint32{20}) {
		t.Errorf("delays %+v, want 20 of 1 µs", p.ready)
	}
	if p.marks != [markCount]uint64{3, 0, 1} {
		t.Errorf("marks %v, want three pins and one starvation", p.marks)
	}
	if len(p.flags) != 1 || p.flags[0].Kind != FlagFinding || p.flags[0].What != "deadlock: 2 threads wait" {
		t.Errorf("flags %+v, want one of the deadlock", p.flags)
	}
	sent := newPoints(f.history.points, true)
	if !slices.Equal(sent.Ready[1], []uint32{uint32(p.ready.first), 20}) || len(sent.Ready[0]) != 0 || !slices.Equal(sent.Pinned, []uint64{0, 3}) || len(sent.Flags) != 1 {
		t.Errorf("points %+v", sent)
	}
	for i := range mostFlags + 5 {
		f.flags.add(Flag{Kind: FlagIncident, What: fmt.Sprint(i)})
	}
	p = tick(2 * time.Second)
	if len(p.ready.bars) != 0 || p.marks != [markCount]uint64{} || len(p.flags) != mostFlags || p.flags[mostFlags-1].Rest != 5 {
		t.Errorf("the next point: %+v, want what is new: %d flags, and 5 more", p, mostFlags)
	}
}

func TestALargeRecordingHasATimeLineThatTellsWhereItEnds(t *testing.T) {
	before := longestLine
	longestLine = time.Nanosecond
	defer func() { longestLine = before }()
	vtr, _ := recordedFiles(t)
	a := start(t, Options{NoLocal: true, Files: []string{vtr}})
	tab := connect(t, serve(t, a))
	tab.rewind("", 0, "")
	tab.framesUntil("why the time line ends", func() bool {
		return tab.whole.Moment != nil && strings.Contains(tab.whole.Moment.Note, "reading it was ended after")
	})
	a.Close() // nobody reads longestLine any more
}

// Delays of a recording are exact, and so are its counts at each point.
func TestTheTimeLineOfARecordingCountsWhatHappened(t *testing.T) {
	d := &drawing{line: timeline{most: 100}, from: time.UnixMilli(1e12), to: time.Second, step: 100 * time.Millisecond, next: 100 * time.Millisecond, shown: time.Now().Add(time.Hour)}
	d.flags = []Flag{{Time: 1e12 + 250, Kind: FlagIncident, What: "a test"}}
	src := recording.NewTracker(nil)
	d.Reset(src)
	event := func(at time.Duration, kind flight.Kind, id flight.ThreadID, code flight.Reason) {
		e := &recording.Event{Time: at, Kind: kind, Thread: id, Code: code}
		d.Event(e, src.Apply(e), src)
	}
	event(10*time.Millisecond, flight.EventThreadStart, 1, 0)
	event(12*time.Millisecond, flight.EventMount, 1, 0)
	event(20*time.Millisecond, flight.EventPark, 1, flight.ReasonLock)
	event(120*time.Millisecond, flight.EventThreadStart, 2, 0)
	event(220*time.Millisecond, flight.EventPinned, 1, flight.ReasonPinnedGo)
	d.Lost(5)
	event(350*time.Millisecond, flight.EventUnpark, 1, 0)
	event(360*time.Millisecond, flight.EventMount, 1, 0)
	event(370*time.Millisecond, flight.EventThreadEnd, 1, 0)
	d.until(d.to)
	points := d.line.points
	if len(points) != 10 || points[9].time != 1e12+1000 {
		t.Fatalf("%d points, want ten up to the end: %+v", len(points), points)
	}
	if p := points[0]; p.starts != 10 || p.switches != 10 || p.counts[flight.StateBlocked] != 1 || int(p.ready.first) != flight.BucketOf(2*time.Millisecond) || !slices.Equal(p.ready.bars, []uint32{1}) {
		t.Errorf("the first point: %+v", p)
	}
	if p := points[1]; p.counts[flight.StateBlocked] != 1 || p.counts[flight.StateRunnable] != 1 || len(p.ready.bars) != 0 {
		t.Errorf("the second point: %+v, want one blocked and one runnable", p)
	}
	if p := points[2]; p.marks[0] != 1 || p.drops != 50 || len(p.flags) != 1 {
		t.Errorf("the third point: %+v, want a pin, loss, and a flag", p)
	}
	if p := points[3]; p.ends != 10 || p.counts[flight.StateBlocked] != 0 || p.counts[flight.StateRunnable] != 1 || int(p.ready.first) != flight.BucketOf(10*time.Millisecond) {
		t.Errorf("the fourth point: %+v, want one thread left", p)
	}
	if p := points[9]; p.counts[flight.StateRunnable] != 1 || p.starts != 0 {
		t.Errorf("the last point: %+v, want one thread still", p)
	}
}

func TestTheSettingsOfAMomentAreThoseOfThen(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.rewind("", 0, "")
	tab.framesUntil("a moment", func() bool { return tab.whole.Moment != nil && tab.whole.Moment.Kept >= 2 && tab.whole.Events != nil })
	then, of := tab.whole.Moment.Newest, s.URL+"/api/v1/processes/"+tab.whole.Process.Key+"/settings"
	keep(t, a, then)

	to, err := flight.ChangeSettings(file.Recorder.Settings(), "steal=on")
	if err != nil {
		t.Fatal(err)
	}
	file.Recorder.SetSettings(to)
	tab.framesUntil("a moment with other settings", func() bool {
		return tab.whole.Moment.Newest > then && strings.Contains(tab.whole.Events.Settings, "changed")
	})

	steals := func(path string) (on bool, d dump.RecorderSettings) {
		t.Helper()
		if err := json.Unmarshal(get(t, path, 200), &d); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Kinds, func(row dump.SettingRow) bool { return row.Name == "steal" })
		if i < 0 {
			t.Fatalf("settings %+v, want a row of steal", d)
		}
		return d.Kinds[i].On, d
	}
	if on, d := steals(of); !on || d.Status == dump.StatusRecorded {
		t.Errorf("now steal is %v in %q, status %s; want on, of a process that is no past", on, d.Name, d.Status)
	}
	if on, d := steals(fmt.Sprintf("%s?at=%d", of, then)); on || d.Name != "default" || d.Status != dump.StatusRecorded || d.AsOf.UnixMilli() != then {
		t.Errorf("then steal is %v in %q, status %s as of %v; want off, as it was", on, d.Name, d.Status, d.AsOf)
	}
	get(t, of+"?at=12:00:00.5x", 400)
	get(t, fmt.Sprintf("%s?at=%d", of, then-time.Hour.Milliseconds()), 404)
}

// A dump is a flag of the time line; one that follows another one soon is none, however long that goes on.
func TestADumpIsFlaggedUnlessThereWasOneJustBefore(t *testing.T) {
	var f flags
	now := time.UnixMilli(1e12)
	for _, after := range []time.Duration{0, time.Second, 40 * time.Second, 80 * time.Second, 120 * time.Second, 180 * time.Second, 239 * time.Second} {
		f.dumped(now.Add(after), "text")
	}
	var at []int64
	for _, x := range f.take() {
		if x.Kind != FlagDump || x.Severity != "info" || !strings.Contains(x.What, "text") {
			t.Errorf("got %+v, want a flag of the dump as text", x)
		}
		at = append(at, x.Time-now.UnixMilli())
	}
	if !slices.Equal(at, []int64{0, 180_000}) {
		t.Errorf("flags at %v ms, want those with a minute of quiet before", at)
	}
}

// Who takes a dump over HTTP sees it in the time line.
func TestADumpOverHTTPIsAFlagInTheTimeLine(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	shown(t, a)
	get(t, fmt.Sprintf("%s/api/v1/processes/%d/dump?format=text", s.URL, os.Getpid()), 200)
	tab := connect(t, s)
	tab.subscribe(fmt.Sprint(os.Getpid()), "", "")
	tab.framesUntil("the flag", func() bool {
		return tab.whole.Points != nil && slices.ContainsFunc(tab.whole.Points.Flags, func(x Flag) bool { return x.Kind == FlagDump })
	})
}
