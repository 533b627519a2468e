package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
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
		told := slices.ContainsFunc(th.Steps(), func(s durable.Step) bool { return s.Kind == durable.StepSignal && !s.Open })
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

// A keeper is closed again and again in the middle of everything; the next one goes on.
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

// Whatever of the last file is missing, what was told to last is there.
func TestAStoreIsRecoveredAfterAnyCut(t *testing.T) {
	dir := t.TempDir()
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(func(durable.Entry) error { return nil }); err != nil {
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
		if err := s.Commit(durable.Entry{Thread: fmt.Sprint(i), Op: durable.OpNew, Body: "b"}, durable.Entry{Thread: fmt.Sprint(i), Op: durable.OpUnpark}); err != nil {
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
			if err := s.Load(func(durable.Entry) error { n++; return nil }); err != nil {
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
	if err := s.Load(func(durable.Entry) error { return nil }); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	s.Close()
}

// A full store stops the thread where it stands; nothing that was not recorded goes on.
func TestAThreadStopsWithItsStore(t *testing.T) {
	r := durable.NewRegistry()
	var after atomic.Bool
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
		durable.Do(th, "call", func(durable.Call) (int, error) { return 1, nil })
		after.Store(true)
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

func (f *failing) Load(func(durable.Entry) error) error { return nil }
func (f *failing) Close() error                         { return nil }
func (f *failing) Commit(...durable.Entry) error {
	if f.n.Add(1) > f.after {
		return f.err
	}
	return nil
}

// The process is killed again and again, at random. A ledger outside counts what was done: at least once each, and recorded once.
func TestThreadsSurviveTheDeathOfTheirProcess(t *testing.T) {
	if os.Getenv("VTSCOPE_DURABLE_DIR") != "" {
		childOfDeath(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	deaths := 5
	if n, err := strconv.Atoi(os.Getenv("VTSCOPE_DEATHS")); err == nil {
		deaths = n
	}
	ledger := filepath.Join(t.TempDir(), "ledger")
	for death := 0; ; death++ {
		c := exec.Command(exe, "-test.run=^TestThreadsSurviveTheDeathOfTheirProcess$")
		c.Env = append(os.Environ(), "VTSCOPE_DURABLE_DIR="+dir, "VTSCOPE_DURABLE_LEDGER="+ledger, "VTSCOPE=off")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		if line != "open\n" {
			t.Fatalf("the child says %q", line)
		}
		if death < deaths {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			c.Process.Kill()
		}
		rest, _ := io.ReadAll(lines)
		err = c.Wait()
		if death < deaths {
			continue
		}
		if err != nil || !strings.Contains(string(rest), "all ended") {
			t.Fatalf("the last one: %v\n%s", err, rest)
		}
		break
	}
	b, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	recorded := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		word := strings.Fields(line)
		switch {
		case len(word) == 3 && word[0] == "did":
			values[word[1]+"="+word[2]] = word[1]
		case len(word) == 3 && word[0] == "saw": // a result that the body saw: always the same
			if recorded[word[1]] && values["saw "+word[1]] != word[2] {
				t.Errorf("%s was seen as %s and as %s", word[1], values["saw "+word[1]], word[2])
			}
			recorded[word[1]], values["saw "+word[1]] = true, word[2]
			if values[word[1]+"="+word[2]] == "" {
				t.Errorf("%s was seen as %s, which nobody did", word[1], word[2])
			}
		}
	}
	if len(recorded) != deathThreads*deathSteps {
		t.Errorf("%d steps were seen, want %d", len(recorded), deathThreads*deathSteps)
	}
}

const (
	deathThreads = 20
	deathSteps   = 10
)

func childOfDeath(t *testing.T) {
	ledger, err := os.OpenFile(os.Getenv("VTSCOPE_DURABLE_LEDGER"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := durable.NewRegistry()
	register(t, r, "work", func(th *durable.Thread, n int) (int, error) {
		for i := range deathSteps {
			v, err := durable.Do(th, fmt.Sprint("step ", i), func(c durable.Call) (int, error) {
				v := rand.IntN(1 << 30)
				fmt.Fprintf(ledger, "did %s %d\n", c.Key, v)
				return v, nil
			})
			if err != nil {
				return 0, err
			}
			fmt.Fprintf(ledger, "saw %s.%d %d\n", th.ID(), 2*i, v)
			durable.Sleep(th, "s", time.Millisecond)
		}
		return n, nil
	})
	k := open(t, os.Getenv("VTSCOPE_DURABLE_DIR"), r)
	fmt.Println("open")
	for i := range deathThreads {
		if _, err := k.Start(fmt.Sprint("w", i), "work", i); err != nil && !errors.Is(err, durable.ErrExists) {
			t.Fatal(err)
		}
	}
	for i := range deathThreads {
		if got, err := durable.Result[int](k.Thread(fmt.Sprint("w", i))); got != i || err != nil {
			t.Fatalf("w%d: %d, %v", i, got, err)
		}
	}
	closed(t, k)
	fmt.Println("all ended")
}

// The proposal's function that waits: no process has it meanwhile. The hours take none here.
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
