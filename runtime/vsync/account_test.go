package vsync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// me is the caller as a party.
func me() flight.Party {
	if t := sched.Current(); t != nil {
		return flight.PartyThread(t.ID())
	}
	return flight.PartyGoroutine(coro.Goroutine())
}

// A subject is a synchronizer that somebody waits for.
type subject struct {
	kind      flight.BlockerKind
	of        any
	made      bool // its place is known without a name
	hold      func()
	wait      func()
	timed     func() // waits for an hour
	free      func() // ends one wait
	held      int
	holder    bool // is known, too
	capacity  uint64
	available int64
	lock      bool
}

// subjects returns one of each kind.
func subjects() map[string]*subject {
	mu, re, rw, once := new(vsync.Mutex), new(vsync.ReentrantMutex), new(vsync.RWMutex), new(vsync.Once)
	reading := new(vsync.RWMutex)
	c, s, l, b := vsync.NewCond(new(vsync.Mutex)), vsync.NewSemaphore(3), vsync.NewLatch(2), vsync.NewBarrier(3, nil)
	q, x := vsync.NewQueue[int](4), new(vsync.Exchanger[int])
	out := make(chan struct{})
	return map[string]*subject{
		"mutex": {kind: flight.BlockedByMutex, of: mu, hold: mu.Lock, wait: func() { pass(mu) }, timed: func() { mu.LockFor(time.Hour); mu.Unlock() },
			free: mu.Unlock, held: 1, holder: true, lock: true},
		"reentrant": {kind: flight.BlockedByMutex, of: re, hold: re.Lock, wait: func() { pass(re) }, timed: func() { re.LockFor(time.Hour); re.Unlock() },
			free: re.Unlock, held: 1, holder: true, lock: true},
		"writer": {kind: flight.BlockedByRWMutex, of: rw, hold: rw.Lock, wait: func() { pass(rw.RLocker()) }, timed: func() { rw.RLockFor(time.Hour); rw.RUnlock() },
			free: rw.Unlock, held: 1, holder: true, lock: true},
		"reader": {kind: flight.BlockedByRWMutex, of: reading, hold: reading.RLock, wait: func() { pass(reading) }, timed: func() { reading.LockFor(time.Hour); reading.Unlock() },
			free: reading.RUnlock, held: 1, lock: true},
		"cond": {kind: flight.BlockedByCondition, of: c, made: true, wait: func() { c.L.Lock(); c.Wait(); c.L.Unlock() }, timed: func() { c.L.Lock(); c.WaitFor(time.Hour); c.L.Unlock() },
			free: c.Signal},
		"semaphore": {kind: flight.BlockedBySemaphore, of: s, made: true, hold: func() { s.Acquire(2) }, wait: func() { s.Acquire(2); s.Release(2) }, timed: func() { s.AcquireFor(2, time.Hour); s.Release(2) },
			free: func() { s.Release(2) }, held: 1, holder: true, capacity: 3, available: 1},
		"latch": {kind: flight.BlockedByLatch, of: l, made: true, wait: l.Wait, timed: func() { l.WaitFor(time.Hour) }, free: func() { l.Add(-2); l.Add(2) }, available: 2},
		"barrier": {kind: flight.BlockedByBarrier, of: b, made: true, wait: func() { b.Wait() }, timed: func() { b.WaitFor(time.Hour) }, free: b.Reset,
			capacity: 3, available: 2},
		"queue": {kind: flight.BlockedByQueue, of: q, made: true, wait: func() { q.Take() }, timed: func() { q.TakeFor(time.Hour) }, free: func() { q.Put(1) }, capacity: 4},
		"once": {kind: flight.BlockedByOnce, of: once, hold: func() {
			in := make(chan struct{})
			go once.Do(func() { close(in); <-out })
			<-in
		}, wait: func() { once.Do(nil) }, timed: func() { once.DoFor(time.Hour, nil) }, free: func() { out <- struct{}{} }, held: 1},
		"exchanger": {kind: flight.BlockedByExchanger, of: x, wait: func() { x.Exchange(1) }, timed: func() { x.ExchangeFor(1, time.Hour) }, free: func() { x.Exchange(2) }},
	}
}

// rowOf returns what the flight file says of what a thread or goroutine of that blocker waits for.
func rowOf(t *testing.T, r *flight.Reader, b flight.Blocker) (row flight.BlockerRow, found bool) {
	t.Helper()
	rows, err := r.Blockers()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Blocker == b {
			return row, true
		}
	}
	return row, false
}

func TestTheFlightFileTellsOfWhatSomebodyWaitsFor(t *testing.T) {
	r := recorder(t)
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			b := vsync.BlockerOf(s.of)
			if b.Kind() != s.kind {
				t.Fatalf("got %v, want kind %d", b, s.kind)
			}
			if s.hold != nil {
				s.hold()
			}
			if _, found := rowOf(t, r, b); found {
				t.Error("it is told of before anybody waits")
			}
			th := vthread.Start(s.wait)
			awaitWaiting(t, s.of, 1)
			want := flight.StateWaiting
			if s.lock {
				want = flight.StateBlocked
			}
			awaitState(t, th, want)
			if row := threadRow(t, r, th.ID()); row.Blocker != b {
				t.Errorf("the thread waits for %v, want %v", row.Blocker, b)
			}
			row, found := rowOf(t, r, b)
			if !found || row.Name != "" || int(row.Held) != s.held || row.Capacity != s.capacity || row.Available != s.available || row.Waiters != 1 {
				t.Errorf("got %+v, %v; want held %d, capacity %d, available %d, one waiter", row, found, s.held, s.capacity, s.available)
			}
			if known := row.Known(); s.holder && (len(known) != 1 || known[0].Party != me()) {
				t.Errorf("got holders %v, want %v", known, me())
			}
			if s.made {
				until(t, "the place where it was made", func() bool { return stackHas(r, row.Made, "vsync_test.subjects") })
			} else if row.Made != 0 {
				t.Error("it has a place")
			}
			s.free()
			th.Join()
			if _, found := rowOf(t, r, b); found {
				t.Error("it is told of when nobody waits any more")
			}
		})
	}
}

func TestTheFlightFileTellsOfGoroutinesThatWait(t *testing.T) {
	r := recorder(t)
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			b := vsync.BlockerOf(s.of)
			if s.hold != nil {
				s.hold()
			}
			var party flight.Party
			join := goroutine.start(func() { party = me(); s.timed() })
			awaitWaiting(t, s.of, 1)
			var rows []flight.WaitRow
			until(t, "the goroutine waits", func() bool { rows = waitsFor(t, r, b); return len(rows) == 1 })
			if w := rows[0]; w.Party != party || w.State != flight.StateTimedParked || w.Until.Sub(flight.Now()) < 50*time.Minute ||
				s.lock != (w.Reason == flight.ReasonLock) {
				t.Errorf("got %+v, want a wait of %v for an hour", w, party)
			}
			until(t, "its stack", func() bool { return stackHas(r, rows[0].Stack, "vsync_test.subjects.func") })
			s.free()
			join()
			if rows := waitsFor(t, r, b); len(rows) != 0 {
				t.Errorf("got %v after the wait", rows)
			}
		})
	}
}

func TestTheFlightFileHasTheNamesOfSynchronizers(t *testing.T) {
	r := recorder(t)
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			nameIt(s.of.(interface{ SetName(string) }), "my "+name)
			if s.hold != nil {
				s.hold()
			}
			th := vthread.Start(s.wait)
			awaitWaiting(t, s.of, 1)
			b := vsync.BlockerOf(s.of)
			var row flight.BlockerRow
			until(t, "it is told of", func() (found bool) { row, found = rowOf(t, r, b); return found })
			if row.Name != "my "+name {
				t.Errorf("got %q", row.Name)
			}
			place := "vsync_test.nameIt"
			if s.made {
				place = "vsync_test.subjects"
			}
			until(t, "its place", func() bool { return stackHas(r, row.Made, place) })
			if known := row.Known(); name == "reader" && (len(known) != 1 || known[0].Party != me()) {
				t.Errorf("got readers %v, want %v", known, me())
			}
			s.free()
			th.Join()
		})
	}
}

//go:noinline
func nameIt(s interface{ SetName(string) }, name string) { s.SetName(name) }

// The holder changes while others wait.
func TestTheFlightFileFollowsTheHolder(t *testing.T) {
	r := recorder(t)
	var mu vsync.Mutex
	s := vsync.NewSemaphore(1)
	for name, c := range map[string]struct {
		of        any
		take, put func()
	}{
		"mutex":     {&mu, mu.Lock, mu.Unlock},
		"semaphore": {s, func() { s.Acquire(1) }, func() { s.Release(1) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := vsync.BlockerOf(c.of)
			c.take()
			var all []*vthread.Thread
			goOn := make(chan struct{})
			for i := range 3 {
				all = append(all, vthread.Start(func() { c.take(); vthread.Recv(goOn); c.put() }))
				awaitWaiting(t, c.of, i+1)
			}
			c.put()
			for i, th := range all[:2] {
				want := flight.PartyThread(th.ID())
				until(t, "the holder is told", func() bool {
					row, found := rowOf(t, r, b)
					return found && row.Waiters == uint32(2-i) && len(row.Known()) == 1 && row.Known()[0].Party == want
				})
				goOn <- struct{}{}
				th.Join()
			}
			goOn <- struct{}{}
			all[2].Join()
			if _, found := rowOf(t, r, b); found {
				t.Error("it is told of when nobody waits any more")
			}
		})
	}
}

// Who releases what another has acquired leaves nobody known, rather than somebody wrong.
func TestPermitsOfAnotherNameNobody(t *testing.T) {
	r := recorder(t)
	s := vsync.NewSemaphore(2)
	thread.start(func() { s.Acquire(1) })()
	s.Release(1)
	s.Acquire(2)
	th := vthread.Start(func() { s.Acquire(1) })
	awaitWaiting(t, s, 1)
	b := vsync.BlockerOf(s)
	until(t, "it is told of", func() bool { _, found := rowOf(t, r, b); return found })
	if row, _ := rowOf(t, r, b); len(row.Known()) != 1 || row.Known()[0].Party != me() {
		t.Errorf("got %v, want %v alone", row.Known(), me())
	}
	s.Release(2)
	th.Join()
}

func waitsFor(t *testing.T, r *flight.Reader, b flight.Blocker) (rows []flight.WaitRow) {
	t.Helper()
	all, err := r.Waits()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if w.Blocker == b {
			rows = append(rows, w)
		}
	}
	return rows
}

func threadRow(t *testing.T, r *flight.Reader, id flight.ThreadID) (row flight.ThreadRow) {
	t.Helper()
	until(t, "the thread is in the file", func() bool {
		_, err := r.Threads(t.Context(), func(rows []flight.ThreadRow) {
			for _, one := range rows {
				if one.ID == id {
					row = one
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return row.ID == id
	})
	return row
}

func stackHas(r *flight.Reader, id flight.StackID, function string) bool {
	stack, err := r.Stack(id)
	if err != nil {
		return false
	}
	for _, f := range stack.Frames {
		if strings.Contains(f.Func, function) {
			return true
		}
	}
	return false
}
