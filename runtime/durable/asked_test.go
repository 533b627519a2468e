package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// asked is what the process answers to who asks through its control socket.
func asked(t *testing.T, q journal.Question) (a journal.Answer) {
	t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(flight.Commands(), func(c flight.Command) bool { return c.Name == journal.Command })
	if i < 0 {
		t.Fatal("there is no such command")
	}
	text, err := flight.Commands()[i].Do(nil, make(chan struct{}), body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// listed are the ids and states of all pages.
func listed(t *testing.T) (all []string) {
	t.Helper()
	for q := (journal.Question{}); ; {
		a := asked(t, q)
		for _, r := range a.Rows {
			all = append(all, fmt.Sprint(r.ID, " ", r.State))
		}
		if a.Next == "" {
			return all
		}
		q.After = a.Next
	}
}

func TestAProcessTellsOfItsKeepers(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, _ int) (int, error) { return durable.Await[int](th, "go"), nil })
	register(t, r, "parent", func(th *durable.Thread, _ int) (int, error) {
		c, err := durable.Fork(th, "child", 1)
		if err != nil {
			return 0, err
		}
		durable.Do(th, "try", func(durable.Call) (int, error) { return 0, errors.New("refused") })
		return durable.Join[int](th, c)
	})
	one, other := open(t, t.TempDir(), r), open(t, t.TempDir(), r)
	for i := range 3 {
		if _, err := one.Start(fmt.Sprint("p", i), "parent", 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Start("q", "child", 1); err != nil {
		t.Fatal(err)
	}
	want := []string{"p0 hibernated", "p0/1 hibernated", "p1 hibernated", "p1/1 hibernated", "p2 hibernated", "p2/1 hibernated", "q hibernated"}
	until(t, "all hibernate", func() bool { return slices.Equal(listed(t), want) })
	defer durable.PagesOf(3)()
	if got := listed(t); !slices.Equal(got, want) {
		t.Errorf("in pages: got %q", got)
	}
	if a := asked(t, journal.Question{}); a.Next != "p1" || len(a.Rows) != 4 || len(a.Stores) != 2 {
		t.Errorf("the first page: got %d rows up to %q, stores %v", len(a.Rows), a.Next, a.Stores)
	}
	h := asked(t, journal.Question{Thread: "p1", Look: journal.Look{Last: 2}}).History
	if h == nil || h.StepsLeft != 1 || len(h.Steps) != 2 || h.Steps[0].Err != "refused" || h.Steps[0].Number != 1 || !h.Steps[1].Open || len(h.Children) != 1 || h.Children[0].ID != "p1/1" {
		t.Errorf("got %+v", h)
	}
	if h := asked(t, journal.Question{Thread: "p1/1"}).History; h == nil || h.Row.Wait.Of() != `signal "go"` {
		t.Errorf("a child: got %+v", h)
	}
	if h := asked(t, journal.Question{Thread: "p1/2"}).History; h != nil {
		t.Errorf("a child that is not there: got %+v", h)
	}
	// Nobody waits for a thread whose lock is held, and the others are told.
	unlock := durable.LockForTest(one.Thread("p1"))
	if got := listed(t); !slices.Equal(got, []string{"p0 hibernated", "p0/1 hibernated", "p1 busy", "p2 hibernated", "p2/1 hibernated", "q hibernated"}) {
		t.Errorf("while one is held: got %q", got)
	}
	unlock()
	closed(t, one)
	closed(t, other)
	if got := listed(t); len(got) != 0 {
		t.Errorf("of closed keepers: got %q", got)
	}
}

// A call that lasts is in the store while it does, and when its process has died, with its attempts.
func TestAStoreHearsOfCallsThatLast(t *testing.T) {
	dir := t.TempDir()
	began := make(chan int, 10)
	release := make(chan struct{})
	var once sync.Once
	defer once.Do(func() { close(release) })
	r := durable.NewRegistry()
	register(t, r, "slow", func(th *durable.Thread, _ int) (int, error) {
		return durable.Do(th, "last", func(c durable.Call) (int, error) {
			began <- c.Attempt
			<-release
			return c.Attempt, nil
		})
	})
	k := open(t, dir, r)
	if _, err := k.Start("one", "slow", 1); err != nil {
		t.Fatal(err)
	}
	<-began
	row := func(dir string) (found journal.DurableRow) {
		folder, err := journal.ReadFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range folder.Trees.Roots() {
			found = journal.RowOf(im)
		}
		return found
	}
	until(t, "the call is in the folder", func() bool { w := row(dir).Wait; return w != nil && w.Kind == journal.StepDo && w.Name == "last" })
	// What a process that dies now leaves: the folder as it is.
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	again := open(t, left, r)
	if n := <-began; n != 2 {
		t.Errorf("attempt %d after the death, want 2", n)
	}
	until(t, "the second attempt is in its folder", func() bool { return row(left).Attempts == 2 })
	once.Do(func() { close(release) })
	for _, k := range []*durable.Keeper{k, again} {
		if err := k.Thread("one").JoinContext(context.Background()); err != nil {
			t.Error(err)
		}
		closed(t, k)
	}
	if got := row(left); got.State != journal.Done || got.Begun.IsZero() || got.Since.Before(got.Begun) || time.Since(got.Since) > time.Hour {
		t.Errorf("at the end: got %+v", got)
	}
}

// A folder is read while its store writes, begins files and folds them: always whole, and never older than what lasted before.
func TestAFolderIsReadWhileItsStoreWrites(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	var reads, folded atomic.Int32
	register(t, r, "busy", func(th *durable.Thread, n int) (int, error) {
		for i := range n {
			durable.Do(th, "step", func(durable.Call) (int, error) {
				for reads.Load() < int32(i/50) || i == n-1 && folded.Load() == 0 { // else all may be over after two of them, or before there is a base
					vthread.Sleep(time.Millisecond)
				}
				return i, nil
			})
		}
		return n, nil
	})
	k := open(t, dir, r)
	const threads, steps = 4, 300
	for i := range threads {
		if _, err := k.Start(fmt.Sprint(i), "busy", steps); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all have ended", func() bool {
		before := make([]int, threads)
		for i := range threads {
			// The last one may not last yet.
			before[i] = len(k.Thread(fmt.Sprint(i)).Steps()) - 1
		}
		folder, err := journal.ReadFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		reads.Add(1)
		if folder.Files.Base > 0 {
			folded.Add(1)
		}
		ended := 0
		roots := folder.Trees.Roots()
		for i, im := range roots {
			if err := im.Check(); err != nil {
				t.Fatal(err)
			}
			if len(im.Steps) < before[i] {
				t.Fatalf("thread %s has %d steps, and had %d before", im.ID, len(im.Steps), before[i])
			}
			if im.Ended {
				ended++
			}
		}
		if len(roots) != threads {
			t.Fatalf("%d threads", len(roots))
		}
		return ended == threads
	})
	if n, bases := reads.Load(), folded.Load(); n < 5 || bases == 0 {
		t.Errorf("the folder was read %d times, %d of them with a base", n, bases)
	}
	closed(t, k)
}
