package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestADiffTellsWhatChangedSinceAMoment(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	tab := connect(t, s)
	tab.subscribe("", "", "")
	tab.framesUntil("a moment with all threads", func() bool {
		return tab.whole.Groups != nil && tab.whole.Groups.Total == 100 && tab.whole.Moment.Kept > 0
	})
	then, key := tab.whole.Process.Snapshot.Time, tab.whole.Process.Key
	keep(t, a, then)
	for _, rec := range file.Records[80:] { // those that wait for the lock get it
		rec.Parked(flight.Now(), flight.StateParked, flight.ReasonPark, 1, 0)
	}
	tab.framesUntil("none blocked", func() bool { return tab.whole.Process.Counts[flight.StateBlocked] == 0 })

	path := s.URL + "/api/v1/processes/" + key + "/diff"
	var d dump.Diff
	if err := json.Unmarshal(get(t, fmt.Sprintf("%s?from=%d&top=5", path, then), 200), &d); err != nil {
		t.Fatal(err)
	}
	if d.Old.AsOf.UnixMilli() != then || d.Over <= 0 || d.GroupCounts[dump.New] != 1 || d.GroupCounts[dump.Gone] != 1 || len(d.Groups) != 2 {
		t.Fatalf("diff %+v, want a group that is new and one that is gone since %d", d, then)
	}
	fresh := d.Groups[0]
	if fresh.Change != dump.New || fresh.After != 20 || strings.Join(fresh.Path, "/") != "shop/jobs" {
		t.Errorf("first %+v, want 20 threads that are new in shop/jobs", fresh)
	}
	tab.subscribe("", "", fresh.Group)
	tab.framesUntil("the group that the diff names", func() bool { return tab.whole.Stack.Row != nil && tab.whole.Stack.Row.Count == 20 })
	if text := get(t, fmt.Sprintf("%s?from=%d&format=text", path, then), 200); !strings.Contains(string(text), "1 group new, 1 gone") {
		t.Errorf("as text: %s", text)
	}
	// Back in time, against itself: nothing.
	if err := json.Unmarshal(get(t, fmt.Sprintf("%s?from=%d&to=%d", path, then, then), 200), &d); err != nil || d.Found([]dump.Change{dump.New, dump.Gone, dump.Grew, dump.Shrank}) != 0 {
		t.Errorf("a moment with itself: %+v, %v", d, err)
	}
	get(t, path+"?of="+key, 200)
	for query, status := range map[string]int{"": 400, "?from=1000000000000": 404, "?from=soon": 400, "?of=1": 404, "?from=-1ms&to=12": 400} {
		get(t, path+query, status)
	}
}

func TestAMarkedMomentStaysThatWouldGo(t *testing.T) {
	k := &keeper{}
	begin := time.Now().Add(-3 * time.Hour)
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * time.Second) }
	for i := range 8000 {
		k.add(pastView(at(i), 1), 10*time.Minute)
		if i%10 == 7 && i < 40 {
			k.mark(at(i).UnixMilli(), time.Now())
		}
	}
	for _, i := range []int{7, 17, 27, 37} {
		if v := k.find(at(i).UnixMilli()); v == nil || !v.snapshot.Taken.Equal(at(i)) {
			t.Errorf("the marked moment %d is not kept", i)
		}
	}
	if n := len(k.mu.moments); n > keepMost {
		t.Errorf("%d moments are kept, more than %d", n, keepMost)
	}
	if v := k.find(at(12).UnixMilli()); v == nil || !v.snapshot.Taken.Equal(at(7)) {
		t.Error("a moment that nobody marked is kept")
	}
	for k.drop() {
	}
	if _, n := k.held(); n != 1 || len(k.mu.marked) != 0 {
		t.Errorf("%d moments and %d marks are left without memory, want the newest and none", n, len(k.mu.marked))
	}

	// A mark ends an hour after it was made last.
	k.add(pastView(at(8001), 1), time.Hour)
	k.mark(at(8001).UnixMilli(), time.Now().Add(-keepMarked-time.Second))
	if k.markedLocked(at(8001).UnixMilli()) {
		t.Error("a mark holds for more than an hour after the last page that had it")
	}
	for i := range 3 * mostMarked {
		k.add(pastView(at(9000+i), 1), 3*time.Hour)
		k.mark(at(9000+i).UnixMilli(), time.Now())
	}
	if n := len(k.mu.marked); n != mostMarked {
		t.Errorf("%d moments are marked, want %d at most", n, mostMarked)
	}
}

func TestWhatAClientMarksIsKept(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	tab := connect(t, serve(t, a))
	tab.subscribe("", "", "")
	tab.framesUntil("a moment", func() bool {
		return tab.whole.Moment != nil && tab.whole.Moment.Kept > 0 && tab.whole.Process.Snapshot.Time > 0
	})
	then := tab.whole.Process.Snapshot.Time
	tab.say(fmt.Sprintf(`{"type":"subscribe","process":"","scope":"","group":"","marks":[%d]}`, then))
	k := &shown(t, a).from.keeper
	tab.framesUntil("the mark", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.markedLocked(then)
	})
	if _, p := parse(1, []byte(`{"type":"subscribe","marks":[1,2,3,4,5,6,7,8,9]}`)); p == nil {
		t.Error("nine marks are taken")
	}
}
