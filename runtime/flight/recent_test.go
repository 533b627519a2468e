package flight

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// recentOf returns the steps of the only place of a kind, oldest first.
func recentOf(t *testing.T, r *Recorder, kind RecentKind) (RecentSite, []RecentStep) {
	t.Helper()
	all, err := openFile(t, r).Recent()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s RecentSite) bool { return s.Kind == kind })
	if i < 0 {
		t.Fatalf("got %+v, want a place of kind %d", all, kind)
	}
	slices.SortFunc(all[i].Steps, func(a, b RecentStep) int { return cmp.Compare(a.Began, b.Began) })
	return all[i], all[i].Steps
}

func TestAPlaceKeepsTheStepsOfTheLastMinute(t *testing.T) {
	r := newTest(t)
	stack := r.AddStack([]Frame{{Func: "a"}})
	now := Now()
	for i := range 100 { // ten in ten seconds and a little
		at := now.Add(time.Duration(i-100) * 1001 * time.Millisecond)
		r.CountPin(stack, ReasonPinnedSection, 10*time.Millisecond, 2, at)
		r.CountHold(BlockAt(BlockedByMutex, 0x100), "stock", stack, ThreadID(i+1), time.Duration(i%10+1)*time.Millisecond, i, at)
	}
	site, steps := recentOf(t, r, RecentPin)
	if site.Reason != ReasonPinnedSection || site.Stack != stack || len(steps) != recentSteps {
		t.Errorf("got %+v, want %d steps of pin sections", site, recentSteps)
	}
	for _, s := range steps {
		if s.Count != 10 || s.Waiting != 20 || s.Total != 100*time.Millisecond || s.Longest != 10*time.Millisecond || s.Crowd != 2 {
			t.Errorf("pins: got step %+v, want 10 of 10 ms with 20 that waited", s)
		}
	}
	_, steps = recentOf(t, r, RecentLock)
	newest := steps[len(steps)-1]
	if newest.Name != "stock" || newest.Blocker != BlockAt(BlockedByMutex, 0x100) || newest.Thread != 100 || newest.Crowd != 99 || newest.Longest != 10*time.Millisecond {
		t.Errorf("lock: got %+v, want the hold of thread 100", newest)
	}
	r.CountPin(stack, ReasonPinnedSection, time.Millisecond, 1, now.Add(time.Second)) // the oldest makes room
	if _, steps = recentOf(t, r, RecentPin); len(steps) != recentSteps || steps[len(steps)-1].Count != 1 || steps[len(steps)-1].Longest != time.Millisecond {
		t.Errorf("got %+v, want a new step with one pin", steps)
	}
	var off *Recorder
	off.CountHold(0, "", 0, 0, 0, 0, 0)
}

func TestThePlaceThatWasUsedLeastRecentlyMakesRoom(t *testing.T) {
	r := newTest(t)
	const places = maxRecentSegments*recentPerSegment + 10
	for i := range places {
		r.CountHold(BlockAt(BlockedByMutex, 0x100), "", StackID(i+1), 0, time.Second, 1, Now().Add(time.Duration(i)))
	}
	all, err := openFile(t, r).Recent()
	if err != nil || len(all) != places-10 {
		t.Fatalf("got %d places, %v; want %d", len(all), err, places-10)
	}
	for _, s := range all {
		if s.Stack <= 10 || len(s.Steps) != 1 || s.Steps[0].Count != 1 {
			t.Errorf("got %+v, want places from 11 on, each with one hold", s)
		}
	}
}
