package flight

import (
	"slices"
	"testing"
	"time"
)

// deadlocked records threads 1 and 2, who wait for each other's mutexes, thread 3, who waits for thread 1, a goroutine that waits for itself over what is done once,
// and thread 4, whose wait for a mutex of its own has a time limit.
func deadlocked(r *Recorder) {
	park := func(id ThreadID, b Blocker) {
		rec := r.GetRecord()
		rec.Init(StateRunnable, id, 0, 0, 0, 0, Now())
		rec.Parked(Now(), StateBlocked, ReasonLock, 0, b)
	}
	hold := func(k BlockerKind, addr uintptr, p Party) Blocker {
		b := BlockAt(k, addr)
		r.OpenBlocker(BlockerSpec{Blocker: b}, Now()).HeldBy(p, Now())
		return b
	}
	g := PartyGoroutine(57)
	park(1, hold(BlockedByMutex, 0x2, PartyThread(2)))
	park(2, hold(BlockedByMutex, 0x1, PartyThread(1)))
	park(3, BlockThread(1))
	park(4, hold(BlockedByMutex, 0x4, PartyThread(4)).Limited())
	park(5, hold(BlockedBySemaphore, 0x5, PartyThread(5)))
	r.OpenWait(WaitSpec{Party: g, State: StateWaiting, Blocker: hold(BlockedByOnce, 0x3, g)}, Now())
}

func TestCirclesAreThoseWhoWaitForEachOther(t *testing.T) {
	r := newTest(t)
	deadlocked(r)
	scope := r.OpenScope(9, "orders", 0, 6, 0, Now())
	for id, b := range map[ThreadID]Blocker{6: BlockScope(9), 7: BlockThread(6)} {
		rec := r.GetRecord()
		rec.Init(StateRunnable, id, []ScopeIndex{0, scope}[id-6], 0, 0, 0, Now())
		rec.Parked(Now(), StateWaiting, []Reason{ReasonScopeJoin, ReasonJoin}[id-6], 0, b)
	}
	var got []string
	for _, c := range findCircles(openFile(t, r)) {
		var members []string
		for _, l := range c {
			members = append(members, l.party.String())
		}
		slices.Sort(members)
		got = append(got, members...)
	}
	slices.Sort(got)
	if want := []string{"#1", "#2", "#6", "#7", "goroutine 57"}; !slices.Equal(got, want) {
		t.Errorf("got members %v, want %v", got, want)
	}
}

func TestACircleThatStaysIsReportedOnce(t *testing.T) {
	r, err := New(Options{Mode: ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reported := func() (ids []ThreadID) {
		rd, err := r.Reader()
		if err != nil {
			t.Fatal(err)
		}
		rings, err := rd.Rings()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range rings {
			events, _, _, err := rd.Events(g.Index, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Kind == EventDeadlock {
					ids = append(ids, e.Thread)
				}
			}
		}
		slices.Sort(ids)
		return ids
	}
	want := []ThreadID{0, 1, 2}
	if watchesCircles { // its own goroutine looks
		deadlocked(r)
		for deadline := time.Now().Add(time.Minute); len(reported()) < len(want) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	} else {
		var w circleWatch
		w.look(r)
		deadlocked(r)
		for i := range 5 {
			noteWait(BlockThread(1))
			w.rest = time.Time{}
			w.look(r)
			if i == 0 && len(reported()) != 0 {
				t.Errorf("after one look: got events of %v, want none yet", reported())
			}
		}
	}
	if got := reported(); !slices.Equal(got, want) {
		t.Errorf("got events of %v, want %v, the first of the goroutine", got, want)
	}
}
