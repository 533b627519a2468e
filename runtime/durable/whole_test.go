package durable_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/sched"
)

// misfits starts a thread that has diverged, or whose child has, and returns both.
func misfits(t *testing.T, dir string, child bool) (k *durable.Keeper, root, diverges *durable.Thread) {
	t.Helper()
	registry := func(park string) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "one", func(th *durable.Thread, _ int) (int, error) { durable.Park(th, park); return 1, nil })
		register(t, r, "two", func(th *durable.Thread, _ int) (int, error) {
			c, err := durable.Fork(th, "one", 1)
			if err != nil {
				return 0, err
			}
			return durable.Join[int](th, c)
		})
		return r
	}
	of := func() {
		root = k.Thread("a")
		if diverges = root; child {
			diverges = root.Child(1)
		}
	}
	k = open(t, dir, registry("first"))
	body := "one"
	if child {
		body = "two"
	}
	if _, err := k.Start("a", body, 1); err != nil {
		t.Fatal(err)
	}
	of()
	until(t, "the park", func() bool {
		of()
		return diverges != nil && len(diverges.Steps()) == 1
	})
	closed(t, k)
	k = open(t, dir, registry("second"))
	of()
	if err := diverges.Unpark(); err != nil {
		t.Fatal(err)
	}
	diverged(t, diverges)
	return k, root, diverges
}

// opens fails the test if the store of a folder cannot be read.
func opens(t *testing.T, dir string) []*journal.Image {
	t.Helper()
	f, err := journal.ReadFolder(dir)
	if err != nil {
		t.Fatalf("nobody can open the store any more: %v", err)
	}
	return f.Trees.Roots()
}

// DU-13: what is sent to a thread that nobody asks for any more, by who still has a hand on it, is refused: a journal with a signal of no thread is damaged.
func TestADroppedThreadTakesNoSignals(t *testing.T) {
	t.Run("forgotten", func(t *testing.T) {
		dir := t.TempDir()
		k, root, _ := misfits(t, dir, false)
		if err := k.Forget("a"); err != nil {
			t.Fatal(err)
		}
		if err := root.Signal("s", 1); err != durable.ErrDone {
			t.Errorf("a signal: got %v, want %v", err, durable.ErrDone)
		}
		if err := root.Unpark(); err != durable.ErrDone {
			t.Errorf("a permit: got %v, want %v", err, durable.ErrDone)
		}
		closed(t, k)
		if left := opens(t, dir); len(left) > 0 {
			t.Errorf("%d threads are left", len(left))
		}
	})
	t.Run("parked to bytes", func(t *testing.T) {
		dir := t.TempDir()
		k, root, child := misfits(t, dir, true)
		if _, err := root.ParkAndSerialize(); err != nil {
			t.Fatal(err)
		}
		if err := child.Signal("s", 1); err != durable.ErrDone {
			t.Errorf("a signal of a child that diverged: got %v, want %v", err, durable.ErrDone)
		}
		closed(t, k)
		if left := opens(t, dir); len(left) > 0 {
			t.Errorf("%d threads are left", len(left))
		}
	})
}

// A refusing scheduler takes no threads while it is full.
type refusing struct {
	sched.Scheduler
	full atomic.Bool
}

var errNoRoom = errors.New("it is full")

func (r *refusing) Execute(t *sched.Task) error {
	if r.full.Load() {
		return errNoRoom
	}
	return r.Scheduler.Execute(t)
}

// DU-13: a thread that could not begin is not there, so that it can be started again: two beginnings in a journal are damage.
func TestAThreadThatCannotBeginCanBeStartedAgain(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, n int) (int, error) { return n, nil })
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scheduler := &refusing{Scheduler: sched.Default()}
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, Scheduler: scheduler})
	if err != nil {
		t.Fatal(err)
	}
	scheduler.full.Store(true)
	if _, err := k.Start("a", "b", 7); !errors.Is(err, errNoRoom) {
		t.Fatalf("got %v, want %v", err, errNoRoom)
	}
	if left := opens(t, dir); len(left) > 0 {
		t.Errorf("%d threads are in the store", len(left))
	}
	scheduler.full.Store(false)
	th, err := k.Start("a", "b", 7)
	if err != nil {
		t.Fatal(err)
	}
	if got := result[int](t, th); got != 7 {
		t.Errorf("got %d", got)
	}
	closed(t, k)
	if left := opens(t, dir); len(left) != 1 || !left[0].Ended {
		t.Errorf("%d threads are left", len(left))
	}
}
