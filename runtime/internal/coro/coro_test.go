package coro

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"
)

func TestSwitchExchangesCallerAndOccupant(t *testing.T) {
	var got []int
	r := New(func(r *Routine) {
		for i := range 3 {
			got = append(got, i)
			r.At.Switch()
		}
	})
	for range 3 {
		r.At.Switch()
		got = append(got, -1)
	}
	r.End()
	want := []int{0, -1, 1, -1, 2, -1}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestRoutinesWanderBetweenSlotsAndMigrateBetweenGoroutines(t *testing.T) {
	check()
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				check()
			}
		}()
	}
	wg.Wait()
	// One routine, continued by many goroutines in turn.
	n := 0
	r := New(func(r *Routine) {
		for range 100 {
			n++
			r.At.Switch()
		}
	})
	for range 100 {
		done := make(chan struct{})
		go func() { r.At.Switch(); close(done) }()
		<-done
	}
	r.End()
	if n != 100 {
		t.Fatalf("ran %d times, want 100", n)
	}
}

func TestSelfIsTheRoutineOnItsGoroutineOnly(t *testing.T) {
	if Self() != nil {
		t.Fatal("a plain goroutine has a routine")
	}
	var rs []*Routine
	for range 5000 { // the table grows and shrinks
		r := New(func(r *Routine) {
			for range 2 {
				if Self() != r {
					t.Error("Self is not the running routine")
				}
				r.At.Switch()
			}
		})
		r.At.Switch()
		rs = append(rs, r)
	}
	for _, r := range rs {
		r.At.Switch()
	}
	for _, r := range rs {
		r.End()
	}
	if n := living(); n != 0 {
		t.Fatalf("%d routines left in the table, want 0", n)
	}
}

// living is how many routines are in the tables.
func living() (n int) {
	for i := range tables {
		n += tables[i].mu.live
	}
	return n
}

func TestGoexitEndsTheRoutineNotItsResumer(t *testing.T) {
	var ran []string
	r := New(func(r *Routine) {
		defer func() {
			ran = append(ran, "ours")
			r.At.Switch()
			r.Exit()
		}()
		func() {
			defer func() { ran = append(ran, "user's") }()
			runtime.Goexit()
		}()
	})
	r.At.Switch()
	r.End()
	if len(ran) != 2 || ran[0] != "user's" || ran[1] != "ours" {
		t.Fatalf("deferred calls ran: %v, want user's, ours", ran)
	}
}

// If this fails on a new Go release: look where runtime.g keeps the lock (lockedm, in runtime2.go), and
// whether coroswitch_m still compares it. Until the probe is mended, parking on a locked OS thread
// is fatal there; say so in the release notes.
func TestLockProbe(t *testing.T) {
	if !CanProbe() {
		t.Skipf("no way to read the lock of a goroutine on %s", runtime.GOARCH)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 {
			if Locked() {
				t.Error("locked before LockOSThread")
			}
			runtime.LockOSThread()
			runtime.LockOSThread()
			if !Locked() {
				t.Error("not locked after LockOSThread")
			}
			runtime.UnlockOSThread()
			if !Locked() {
				t.Error("not locked after one of two UnlockOSThread")
			}
			runtime.UnlockOSThread()
			if Locked() {
				t.Error("locked after the last UnlockOSThread")
			}
		}
	}()
	<-done
}

func TestALockedMakerFitsOnlyItself(t *testing.T) {
	if !Binds {
		t.Skip("this form of slots is not bound to OS threads")
	}
	if !CanProbe() {
		t.Skip("no lock probe")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r := New(func(r *Routine) { r.At.Switch() })
		if !r.At.Fits() {
			t.Error("does not fit its own maker")
		}
		r.At.Switch() // must not be fatal
		runtime.LockOSThread()
		if r.At.Fits() {
			t.Error("fits its maker after another LockOSThread, which would be fatal")
		}
		r.At.Refit()
		if !r.At.Fits() || !Locked() {
			t.Error("does not fit again after Refit")
		}
		other := make(chan bool)
		go func() { other <- r.At.Fits() }()
		if <-other {
			t.Error("fits a goroutine that is not locked")
		}
		r.End()
	}()
	<-done
}

func BenchmarkSwitch(b *testing.B) {
	r := New(func(r *Routine) {
		for {
			r.At.Switch()
		}
	})
	for b.Loop() {
		r.At.Switch()
	}
}

func BenchmarkSelf(b *testing.B) {
	r := New(func(r *Routine) {
		for b.Loop() {
			Self()
		}
		r.At.Switch()
	})
	r.At.Switch()
	r.End()
}

func TestRetireBringsEveryRoutineHomeAndEndsIt(t *testing.T) {
	const n = 50
	before := living()
	task := new(int)
	var rs []*Routine
	var back *Slot // where the test's goroutine waits
	ran := 0
	main := func(r *Routine) {
		for {
			ran++
			to := back
			if len(rs) > ran { // hand over to the next, as threads do
				to = rs[ran].At
				rs[ran].Task = unsafe.Pointer(task)
			}
			if !r.Idle(to) {
				return
			}
		}
	}
	for range n {
		rs = append(rs, New(main))
	}
	for round := range 3 { // every round shifts everybody by one slot
		ran = 0
		back = rs[0].At
		rs[0].Task = unsafe.Pointer(task)
		rs[0].At.Switch()
		if ran != n {
			t.Fatalf("round %d: %d ran, want %d", round, ran, n)
		}
	}
	home := 0
	for _, r := range rs {
		if r.Home() {
			home++
		}
	}
	if home == n {
		t.Fatal("nobody wandered: the test shows nothing")
	}
	some, rest := rs[:n/2], rs[n/2:]
	left, _ := Retire(some, n, nil)
	t.Logf("%d of %d at home; %d of %d could not end before the rest was idle", home, n, len(left), len(some))
	if left, _ = Retire(append(left, rest...), n, nil); len(left) != 0 {
		t.Fatalf("%d routines left, want 0", len(left))
	}
	if got := living(); got != before {
		t.Fatalf("%d routines in the table, want %d", got, before)
	}
}
