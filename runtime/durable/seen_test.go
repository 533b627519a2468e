package durable_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A watch reads the flight file of this process, whose counts others have added to before.
type watch struct {
	*testing.T
	file   *flight.Reader
	before flight.DurableTotals
	kinds  flight.Counts
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	file, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	w := &watch{T: t, file: file}
	w.before, _, err = file.DurableTotals()
	if err != nil {
		t.Fatal(err)
	}
	if w.kinds, err = file.Counts(); err != nil {
		t.Fatal(err)
	}
	return w
}

// row returns what is told of a durable thread, or nil.
func (w *watch) row(id string) *flight.DurableRow {
	w.Helper()
	rows, err := w.file.Durables()
	if err != nil {
		w.Fatal(err)
	}
	for i := range rows {
		if rows[i].ID == id {
			return &rows[i]
		}
	}
	return nil
}

// until waits until the row of a thread is as wanted; nil: there is none.
func (w *watch) until(id string, is func(*flight.DurableRow) bool) *flight.DurableRow {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		row := w.row(id)
		if is(row) {
			return row
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: got %+v", id, row)
		}
	}
}

func (w *watch) counted(what flight.DurableCount, want uint64) {
	w.Helper()
	w.comesTo(flight.DurableCounts[what].Name, want, func() uint64 {
		now, _, err := w.file.DurableTotals()
		if err != nil {
			w.Fatal(err)
		}
		return now.Counts[what] - w.before.Counts[what]
	})
}

func (w *watch) happened(k flight.Kind, want uint64) {
	w.Helper()
	w.comesTo(k.String(), want, func() uint64 {
		now, err := w.file.Counts()
		if err != nil {
			w.Fatal(err)
		}
		return now.Kinds[k] - w.kinds.Kinds[k]
	})
}

// comesTo waits until so many were counted: what happens is in its row first.
func (w *watch) comesTo(what string, want uint64, count func() uint64) {
	w.Helper()
	until(w.T, what, func() bool { return count() >= want })
	if got := count(); got != want {
		w.Errorf("%s: got %d, want %d", what, got, want)
	}
}

// state returns the state of the thread that a durable thread is.
func (w *watch) state(id string) (flight.State, flight.Blocker) {
	w.Helper()
	d := w.row(id)
	if d == nil {
		return flight.StateFree, 0
	}
	row, _, err := w.file.FindThread(d.Thread)
	if err != nil {
		w.Fatal(err)
	}
	return row.State, row.Blocker
}

func TestObserversAreToldWhatADurableThreadDoes(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r := durable.NewRegistry()
	going := make(chan struct{})
	durable.Register(r, "order", func(th *durable.Thread, n int) (int, error) {
		durable.Now(th)
		_, err := durable.Do(th, "pay", func(durable.Call) (int, error) { <-going; return 0, errors.New("no money") })
		if err == nil {
			return 0, errors.New("want an error")
		}
		return durable.Await[int](th, "approved"), nil
	})
	w := newWatch(t)
	th, err := durable.Builder{Registry: r, HibernateAfter: time.Millisecond, ID: "seen-1"}.Start("order", 1)
	if err != nil {
		t.Fatal(err)
	}
	w.until("seen-1", func(d *flight.DurableRow) bool {
		return d != nil && d.Body == "order" && d.Wait == flight.DurableCall && d.Name == "pay" && d.Steps == 2 && d.Errors == 0 && !d.Since.IsZero()
	})
	close(going)
	w.until("seen-1", func(d *flight.DurableRow) bool {
		state, b := w.state("seen-1")
		return d != nil && d.Wait == flight.DurableSignal && d.Name == "approved" && d.Steps == 3 && d.Errors == 1 && state == flight.StateHibernated && b == d.Blocker
	})
	w.counted(flight.DurableStarted, 1)
	w.counted(flight.DurableSteps, 2)
	w.counted(flight.DurableErrors, 1)
	w.counted(flight.DurableHibernations, 1)
	w.counted(flight.DurableResumes, 0)
	w.happened(flight.EventDurableHibernate, 1)

	b, err := th.ParkAndSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if d := w.row("seen-1"); d != nil {
		t.Errorf("parked to bytes: got %+v, want none", d)
	}
	w.counted(flight.DurableParks, 1)
	w.counted(flight.DurableBytes, uint64(len(b)))
	w.happened(flight.EventDurablePark, 1)

	th, err = durable.Builder{Registry: r, HibernateAfter: time.Millisecond}.DeserializeAndUnpark(b)
	if err != nil {
		t.Fatal(err)
	}
	w.until("seen-1", func(d *flight.DurableRow) bool {
		state, _ := w.state("seen-1")
		return d != nil && d.Steps == 3 && d.Errors == 1 && !d.Replays && state == flight.StateHibernated
	})
	w.counted(flight.DurableStarted, 1)
	w.counted(flight.DurableUnparks, 1)
	w.counted(flight.DurableReplays, 1)
	w.counted(flight.DurableReplayed, 3)
	w.happened(flight.EventDurableResume, 1)
	w.happened(flight.EventDurableReplay, 1)

	if err := th.Signal("approved", 7); err != nil {
		t.Fatal(err)
	}
	if n, err := durable.Result[int](th); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	w.until("seen-1", func(d *flight.DurableRow) bool { return d == nil })
	w.counted(flight.DurableResumes, 1)
	w.counted(flight.DurableEnded, 1)
	w.counted(flight.DurableSteps, 3)
	w.happened(flight.EventDurableResume, 2)
	w.happened(flight.EventDurableDivergence, 0)
	w.happened(flight.EventDurableStep, 0) // off
}

func TestObserversAreToldOfCheckpointsChildrenAndDivergences(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r := durable.NewRegistry()
	progress := durable.Checkpoint[int]{Name: "progress", Version: 1}
	var changed atomic.Bool
	durable.Register(r, "leaf", func(th *durable.Thread, n int) (int, error) { return durable.Await[int](th, "go"), nil })
	durable.Register(r, "tree", func(th *durable.Thread, n int) (int, error) {
		progress.Restore(th)
		durable.Now(th)
		durable.Now(th)
		progress.Save(th, 2)
		c, err := durable.Fork(th, "leaf", 1)
		if err != nil {
			return 0, err
		}
		if changed.Load() { //durable:ok the code is changed meanwhile
			durable.Random(th)
		}
		return durable.Join[int](th, c)
	})
	w := newWatch(t)
	th, err := durable.Builder{Registry: r, HibernateAfter: time.Millisecond, ID: "seen-2"}.Start("tree", 1)
	if err != nil {
		t.Fatal(err)
	}
	w.until("seen-2", func(d *flight.DurableRow) bool {
		state, _ := w.state("seen-2")
		return d != nil && d.Steps == 5 && d.Wait == flight.DurableChild && d.Child == 1 && state == flight.StateHibernated // two times, a checkpoint, a fork, a join
	})
	w.until("seen-2/1", func(d *flight.DurableRow) bool {
		state, _ := w.state("seen-2/1")
		return d != nil && d.Body == "leaf" && d.Wait == flight.DurableSignal && state == flight.StateHibernated
	})
	w.counted(flight.DurableCheckpoints, 1)
	w.happened(flight.EventDurableCheckpoint, 1)
	changed.Store(true)
	if err := th.Child(1).Signal("go", 1); err != nil {
		t.Fatal(err)
	}
	var d *durable.Divergence
	if err := th.Join(); !errors.As(err, &d) {
		t.Fatalf("got %v, want a divergence", err)
	}
	w.counted(flight.DurableDivergences, 1)
	w.happened(flight.EventDurableDivergence, 1)
	w.until("seen-2", func(d *flight.DurableRow) bool { return d == nil })
}

// What a thread waits for in a store, it has waited for since before this process was there.
func TestAThreadFromAStoreHasWaitedSinceItBegan(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r := durable.NewRegistry()
	durable.Register(r, "waits", func(th *durable.Thread, n int) (int, error) {
		v, _ := durable.AwaitFor[int](th, "approved", time.Hour)
		return v, nil
	})
	dir := t.TempDir()
	open := func() *durable.Keeper {
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := open()
	if _, err := k.Start("seen-3", "waits", 1); err != nil {
		t.Fatal(err)
	}
	w := newWatch(t)
	w.until("seen-3", func(d *flight.DurableRow) bool { return d != nil && d.Wait == flight.DurableSignal })
	begun := time.Now()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if d := w.row("seen-3"); d != nil {
		t.Errorf("its keeper is closed: got %+v", d)
	}
	w.happened(flight.EventDurableLeave, 0) // it had its stack
	k = open()
	d := w.until("seen-3", func(d *flight.DurableRow) bool { return d != nil })
	row, found, err := w.file.FindThread(d.Thread)
	if err != nil || !found || row.State != flight.StateHibernated || !row.Limited {
		t.Fatalf("got %+v, %v, %v", row, found, err)
	}
	if !d.Since.Before(begun) || w.file.Time(row.Since).After(begun.Add(time.Second)) || time.Until(d.Until) > time.Hour || time.Until(d.Until) < 50*time.Minute {
		t.Errorf("got since %v and %v, until %v; want since before %v", d.Since, w.file.Time(row.Since), d.Until, begun)
	}
	// Who follows the events hears that it is not here any more.
	w.happened(flight.EventDurableHibernate, 1)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	w.happened(flight.EventDurableLeave, 1)
	if d := w.row("seen-3"); d != nil {
		t.Errorf("its keeper is closed: got %+v", d)
	}
	if row, found, err := w.file.FindThread(d.Thread); found || err != nil {
		t.Errorf("its keeper is closed: got %+v, %v", row, err)
	}
}

// A child that hibernates goes with the bytes of its parent, and is no more here.
func TestAHibernatedChildLeavesWithItsParent(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r := durable.NewRegistry()
	durable.Register(r, "leaf", func(th *durable.Thread, n int) (int, error) { return durable.Await[int](th, "go"), nil })
	durable.Register(r, "tree", func(th *durable.Thread, n int) (int, error) {
		c, err := durable.Fork(th, "leaf", 1)
		if err != nil {
			return 0, err
		}
		return durable.Join[int](th, c)
	})
	w := newWatch(t)
	th, err := durable.Builder{Registry: r, HibernateAfter: time.Millisecond, ID: "seen-4"}.Start("tree", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"seen-4", "seen-4/1"} {
		w.until(id, func(d *flight.DurableRow) bool {
			state, _ := w.state(id)
			return state == flight.StateHibernated
		})
	}
	if _, err := th.ParkAndSerialize(); err != nil {
		t.Fatal(err)
	}
	w.happened(flight.EventDurableLeave, 2)
	w.happened(flight.EventDurablePark, 1)
	for _, id := range []string{"seen-4", "seen-4/1"} {
		if d := w.row(id); d != nil {
			t.Errorf("got %+v", d)
		}
	}
}
