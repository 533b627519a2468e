package durable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// open opens a keeper of a folder with small files, so that they are folded.
func open(t testing.TB, dir string, r *durable.Registry) *durable.Keeper {
	t.Helper()
	s, err := durable.NewFileStore(dir, durable.FileOptions{SegmentSize: 2000})
	if err != nil {
		t.Fatal(err)
	}
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func closed(t testing.TB, k *durable.Keeper) {
	t.Helper()
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// orders is a registry of threads that do a bit of everything, and count in what they are outside.
func orders(t testing.TB, calls *sync.Map) *durable.Registry {
	r := durable.NewRegistry()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(durable.Register(r, "pack", func(th *durable.Thread, n int) (int, error) {
		return durable.Do(th, "pack", func(c durable.Call) (int, error) { calls.Store(c.Key, n); return 10 * n, nil })
	}))
	must(durable.Register(r, "order", func(th *durable.Thread, n int) (string, error) {
		var children []durable.Child
		for i := range 3 {
			c, err := durable.Fork(th, "pack", i)
			if err != nil {
				return "", err
			}
			children = append(children, c)
		}
		random := durable.Random(th)
		paid, err := durable.Do(th, "pay", func(c durable.Call) (uint64, error) { calls.Store(c.Key, n); return random, nil })
		if err != nil || paid != random {
			return "", fmt.Errorf("paid %d, %v", paid, err)
		}
		durable.Sleep(th, "a moment", time.Duration(n)*time.Millisecond)
		sum := 0
		for _, c := range children {
			v, err := durable.Join[int](th, c)
			if err != nil {
				return "", err
			}
			sum += v
		}
		word := durable.Await[string](th, "ship")
		durable.Park(th, "delivered")
		return fmt.Sprint(n, " ", sum, " ", word), nil
	}))
	return r
}

// finish tells all threads what they wait for until they have ended.
func finish(t testing.TB, k *durable.Keeper, n int) {
	t.Helper()
	for i := range n {
		th := k.Thread(fmt.Sprint("order-", i))
		if th == nil {
			t.Fatalf("order %d is gone", i)
		}
		told := slices.ContainsFunc(th.Steps(), func(s journal.Step) bool { return s.Kind == journal.StepSignal && !s.Open })
		if err := th.Unpark(); err != nil && !errors.Is(err, durable.ErrDone) {
			t.Fatal(err)
		}
		if !told && th.State() != durable.Done {
			if err := th.Signal("ship", "go"); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := durable.Result[string](th); err != nil || got != fmt.Sprint(i, " 30 go") {
			t.Errorf("order %d: got %q, %v", i, got, err)
		}
	}
}

// DU-12: a keeper is closed again and again in the middle of everything; the next one goes on.
func TestThreadsGoOnInTheNextKeeper(t *testing.T) {
	dir := t.TempDir()
	var calls sync.Map
	const n = 20
	for round := range 30 {
		k := open(t, dir, orders(t, &calls))
		if round == 0 {
			for i := range n {
				if _, err := k.Start(fmt.Sprint("order-", i), "order", i); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := k.Start("order-0", "order", 0); !errors.Is(err, durable.ErrExists) {
				t.Errorf("a second order 0: %v", err)
			}
		}
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		if round > 10 {
			for i := range rand.IntN(n) {
				_ = k.Thread(fmt.Sprint("order-", i)).Unpark()
			}
		}
		closed(t, k)
	}
	k := open(t, dir, orders(t, &calls))
	finish(t, k, n)
	for i := range n {
		if err := k.Forget(fmt.Sprint("order-", i)); err != nil {
			t.Error(err)
		}
	}
	if all := k.Threads(); len(all) != 0 {
		t.Errorf("%d threads are left", len(all))
	}
	closed(t, k)
	if k = open(t, dir, orders(t, &calls)); len(k.Threads()) != 0 {
		t.Error("forgotten threads are back")
	}
	closed(t, k)
	if files, _ := filepath.Glob(filepath.Join(dir, "*.base")); len(files) != 1 {
		t.Errorf("files were not folded: %q", files)
	}
}

func TestAFolderHasOneKeeper(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir, durable.NewRegistry())
	if _, err := durable.NewFileStore(dir, durable.FileOptions{}); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("got %v", err)
	}
	closed(t, k)
	closed(t, open(t, dir, durable.NewRegistry()))
}

// DU-13: whatever of the last file is missing, what was told to last is there.
func TestAStoreIsRecoveredAfterAnyCut(t *testing.T) {
	dir := t.TempDir()
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(func(journal.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "000000000001.log"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for i := range 4 {
		if err := s.Commit(journal.Entry{Thread: fmt.Sprint(i), Op: journal.OpNew, Body: "b"}, journal.Entry{Thread: fmt.Sprint(i), Op: journal.OpUnpark}); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "000000000001.log"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		for _, tail := range [][]byte{nil, make([]byte, 50), []byte("garbage that is no record at all")} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "000000000001.log"), append(slices.Clone(whole[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := durable.NewFileStore(dir, durable.FileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := s.Load(func(journal.Entry) error { n++; return nil }); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			want := 0
			for _, end := range sizes {
				if int64(cut) >= end {
					want += 2
				}
			}
			if n != want {
				t.Fatalf("cut at %d: %d entries, want %d", cut, n, want)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Damage elsewhere is told.
	if err := os.WriteFile(filepath.Join(dir, "000000000003.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whole[20] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "000000000001.log"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = durable.NewFileStore(dir, durable.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(func(journal.Entry) error { return nil }); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	s.Close()
}

// DU-13: a full store stops the thread where it stands; nothing that was not recorded goes on.
func TestAThreadStopsWithItsStore(t *testing.T) {
	r := durable.NewRegistry()
	var after atomic.Bool
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
		durable.Do(th, "call", func(durable.Call) (int, error) { return 1, nil })
		after.Store(true) //durable:ok counted, and decides nothing
		return 1, nil
	})
	full := errors.New("no space left on device")
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: &failing{after: 1, err: full}})
	if err != nil {
		t.Fatal(err)
	}
	th, err := k.Start("", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := th.Join(); !errors.Is(err, durable.ErrStore) || !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if after.Load() {
		t.Error("the body went on")
	}
	closed(t, k)
}

// failing takes some commits.
type failing struct {
	after int32
	n     atomic.Int32
	err   error
}

func (f *failing) Load(func(journal.Entry) error) error { return nil }
func (f *failing) Close() error                         { return nil }
func (f *failing) Commit(...journal.Entry) error {
	if f.n.Add(1) > f.after {
		return f.err
	}
	return nil
}

// DU-03: the proposal's function that waits: no process has it meanwhile. The hours take none here.
func TestAThreadWaitsWhileNoProcessHasIt(t *testing.T) {
	vttest.Options{Schedules: 3}.Run(t, func(t *testing.T) {
		dir := t.TempDir()
		r := durable.NewRegistry()
		register(t, r, "waits", func(th *durable.Thread, _ int) (time.Duration, error) {
			begun := durable.Now(th)
			durable.Sleep(th, "an hour", time.Hour)
			return durable.Now(th).Sub(begun), nil
		})
		k := open(t, dir, r)
		th, err := k.Start("one", "waits", 1)
		if err != nil {
			t.Fatal(err)
		}
		vthread.Sleep(time.Minute)
		closed(t, k)
		if err := th.Join(); err != durable.ErrClosed {
			t.Errorf("a thread of a closed keeper: %v", err)
		}
		vthread.Sleep(time.Hour)
		k = open(t, dir, r)
		if got, err := durable.Result[time.Duration](k.Thread("one")); err != nil || got < time.Hour+time.Minute || got > time.Hour+2*time.Minute {
			t.Errorf("got %v, %v", got, err)
		}
		closed(t, k)
	})
}

// DU-08: a child that has diverged is none that has failed: mended code goes on with it, and its parent never hears of it.
func TestADivergedChildIsMended(t *testing.T) {
	dir := t.TempDir()
	bodies := func(word string) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "child", func(th *durable.Thread, _ int) (string, error) {
			v, _ := durable.Do(th, word, func(durable.Call) (string, error) { return "made", nil })
			durable.Await[int](th, "go")
			return v, nil
		})
		register(t, r, "parent", func(th *durable.Thread, _ int) (string, error) {
			c, err := durable.Fork(th, "child", 1)
			if err != nil {
				return "", err
			}
			return durable.Join[string](th, c)
		})
		return r
	}
	k := open(t, dir, bodies("first"))
	th, err := k.Start("p", "parent", 1)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the child's wait", func() bool { c := th.Child(1); return c != nil && len(c.Steps()) == 2 })
	closed(t, k)
	k = open(t, dir, bodies("changed"))
	c := k.Thread("p").Child(1)
	if err := c.Signal("go", 1); err != nil {
		t.Fatal(err)
	}
	if err := c.Join(); !errors.As(err, new(*durable.Divergence)) {
		t.Errorf("the child: got %v, want a divergence", err)
	}
	if err := k.Forget("p"); !errors.Is(err, durable.ErrRuns) {
		t.Errorf("forget: got %v, want %v", err, durable.ErrRuns)
	}
	closed(t, k)
	k = open(t, dir, bodies("first"))
	if got, err := durable.Result[string](k.Thread("p")); got != "made" || err != nil {
		t.Errorf("got %q, %v, want what the child has made", got, err)
	}
	closed(t, k)
}

// DU-07: a thread ends after its children, joined or not: nobody would know of them any more.
func TestAThreadEndsAfterItsChildren(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	var ended atomic.Int32
	register(t, r, "waits", func(th *durable.Thread, _ int) (int, error) {
		durable.Await[int](th, "go")
		ended.Add(1) //durable:ok counted, and decides nothing
		return 1, nil
	})
	register(t, r, "between", func(th *durable.Thread, _ int) (int, error) { _, err := durable.Fork(th, "waits", 1); return 1, err })
	register(t, r, "top", func(th *durable.Thread, _ int) (int, error) { _, err := durable.Fork(th, "between", 1); return 1, err })
	k := open(t, dir, r)
	if _, err := k.Start("top", "top", 1); err != nil {
		t.Fatal(err)
	}
	waiting := func() *durable.Thread {
		if c := k.Thread("top").Child(1); c != nil {
			return c.Child(1)
		}
		return nil
	}
	until(t, "all forks", func() bool { return waiting() != nil && len(waiting().Steps()) == 1 })
	for range 2 { // keepers
		until(t, "those who wait hibernate", func() bool {
			return k.Thread("top").State() == durable.Hibernated && waiting().State() == durable.Hibernated
		})
		if err := k.Forget("top"); !errors.Is(err, durable.ErrRuns) {
			t.Errorf("forget: got %v, want %v", err, durable.ErrRuns)
		}
		closed(t, k)
		k = open(t, dir, r)
	}
	if err := waiting().Signal("go", 1); err != nil {
		t.Fatal(err)
	}
	if err := k.Thread("top").Join(); err != nil || ended.Load() != 1 {
		t.Errorf("got %v, and %d ended", err, ended.Load())
	}
	if err := k.Forget("top"); err != nil {
		t.Error(err)
	}
	closed(t, k)
	k = open(t, dir, r)
	if len(k.Threads()) != 0 {
		t.Error("forgotten threads are back")
	}
	closed(t, k)
}

// What a call asks of its own keeper while that is closed is no outcome of the call.
func TestACallThatMeetsItsClosedKeeperIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	var k atomic.Pointer[durable.Keeper]
	calling, calls := make(chan bool, 2), atomic.Int32{}
	register(t, r, "asks", func(th *durable.Thread, _ int) (string, error) {
		return durable.Do(th, "ask", func(durable.Call) (string, error) {
			calls.Add(1)
			calling <- true
			for calls.Load() == 1 {
				if other := k.Load().Thread("other"); other != nil {
					if err := other.Signal("s", 1); err != nil {
						return "", err
					}
				}
				vthread.Sleep(time.Millisecond)
			}
			return "told", nil
		})
	})
	register(t, r, "other", func(th *durable.Thread, _ int) (int, error) { durable.Park(th, "p"); return 0, nil })
	k.Store(open(t, dir, r))
	for _, id := range []string{"asks", "other"} {
		if _, err := k.Load().Start(id, id, 1); err != nil {
			t.Fatal(err)
		}
	}
	<-calling
	closed(t, k.Load())
	k.Store(open(t, dir, r))
	if got, err := durable.Result[string](k.Load().Thread("asks")); got != "told" || err != nil || calls.Load() != 2 {
		t.Errorf("got %q, %v after %d calls", got, err, calls.Load())
	}
	closed(t, k.Load())
}

// Nobody can tell a thread something before its store knows it.
func TestAThreadIsToldWhenItsStoreHasIt(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) { return durable.Await[int](th, "s"), nil })
	slow := &slowStore{begun: make(chan bool), goOn: make(chan bool)}
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: slow})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := k.Start("one", "b", 1)
		done <- err
	}()
	<-slow.begun
	if _, err := k.Start("one", "b", 1); !errors.Is(err, durable.ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	go func() { done <- k.Thread("one").Signal("s", 7) }()
	time.Sleep(10 * time.Millisecond) // so that it would come first
	close(slow.goOn)
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got, err := durable.Result[int](k.Thread("one")); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	closed(t, k)
	if slow.ops[0] != journal.OpNew {
		t.Errorf("got %q, want the thread first", slow.ops)
	}
}

// slowStore takes its first thread when it is told to.
type slowStore struct {
	begun, goOn chan bool
	mu          sync.Mutex
	ops         []journal.Op
}

func (s *slowStore) Load(func(journal.Entry) error) error { return nil }
func (s *slowStore) Close() error                         { return nil }
func (s *slowStore) Commit(all ...journal.Entry) error {
	if all[0].Op == journal.OpNew {
		close(s.begun)
		<-s.goOn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range all {
		s.ops = append(s.ops, e.Op)
	}
	return nil
}

// DU-10: a checkpoint forgets steps, and nothing that came and was not asked for yet.
func TestACheckpointKeepsSignalsPermitsAndChildren(t *testing.T) {
	type state struct{ Child durable.Child }
	saved := durable.Checkpoint[state]{Name: "s", Version: 1}
	dir := t.TempDir()
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, _ int) (int, error) { return durable.Await[int](th, "c"), nil })
	register(t, r, "b", func(th *durable.Thread, _ int) (string, error) {
		s, ok := saved.Restore(th)
		if !ok {
			var err error
			if s.Child, err = durable.Fork(th, "child", 1); err != nil {
				return "", err
			}
			durable.Await[int](th, "save")
			saved.Save(th, s)
		}
		durable.Await[int](th, "go")
		durable.Park(th, "p")
		all := []int{durable.Await[int](th, "s"), durable.Await[int](th, "s")}
		v, err := durable.Join[int](th, s.Child)
		return fmt.Sprint(all, v, err), nil
	})
	k := open(t, dir, r)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []error{th.Signal("s", 1), th.Signal("s", 2), th.Unpark(), th.Signal("save", 1)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	for round := range 3 {
		until(t, "the checkpoint", func() bool {
			s := k.Thread("one").Steps()
			return len(s) == 2 && s[0].Kind == journal.StepCheckpoint && s[1].Kind == journal.StepSignal
		})
		if round == 1 {
			if err := k.Signal("one/1", "c", 3); err != nil {
				t.Fatal(err)
			}
			if err := k.Thread("one").Child(1).Join(); err != nil {
				t.Fatal(err)
			}
		}
		closed(t, k)
		k = open(t, dir, r)
	}
	if err := k.Signal("one", "go", 1); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[string](k.Thread("one")); got != "[1 2] 3 <nil>" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	closed(t, k)
}
