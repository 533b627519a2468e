package durable_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

func register[A, R any](t *testing.T, r *durable.Registry, name string, f func(*durable.Thread, A) (R, error)) {
	t.Helper()
	if err := durable.Register(r, name, f); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, r *durable.Registry, name string, args any) *durable.Thread {
	t.Helper()
	th, err := durable.Start(r, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func result[R any](t *testing.T, th *durable.Thread) R {
	t.Helper()
	v, err := durable.Result[R](th)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func bytesOf(t *testing.T, th *durable.Thread) []byte {
	t.Helper()
	b, err := th.ParkAndSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func onAgain(t *testing.T, b []byte, r *durable.Registry) *durable.Thread {
	t.Helper()
	th, err := durable.DeserializeAndUnpark(b, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// DU-01, DU-05: what was recorded is executed once, wherever the thread goes on.
func TestAThreadGoesOnFromItsBytes(t *testing.T) {
	r := durable.NewRegistry()
	var calls atomic.Int32
	register(t, r, "sum", func(th *durable.Thread, n int) (string, error) {
		sum := 0
		for i := range n {
			v, err := durable.Do(th, fmt.Sprint("call ", i), func(c durable.Call) (int, error) {
				if c.Attempt != 1 || !strings.HasPrefix(c.Key, th.ID()+".") {
					t.Errorf("got call %+v", c)
				}
				return int(calls.Add(1)), nil
			})
			if err != nil {
				return "", err
			}
			sum += v
			durable.Park(th, "between")
		}
		when, random, id := durable.Now(th), durable.Random(th), durable.NewID(th)
		durable.Park(th, "last")
		return fmt.Sprint(sum, " ", when, " ", random, " ", id), nil
	})
	th := start(t, r, "sum", 5)
	for i := range 5 {
		old := th
		until(t, "the next park", func() bool { return len(th.Steps()) == 2*(i+1) })
		th = onAgain(t, bytesOf(t, th), r)
		if err := old.Join(); err != durable.ErrMoved {
			t.Errorf("join of who has moved: %v", err)
		}
	}
	until(t, "the last park", func() bool { s := th.Steps(); return len(s) > 0 && s[len(s)-1].Name == "last" })
	clone, err := th.Clone()
	if err != nil {
		t.Fatal(err)
	}
	th.Unpark()
	clone.Unpark()
	if a, b := result[string](t, th), result[string](t, clone); a != b || !strings.HasPrefix(a, "15 ") {
		t.Errorf("got %q and %q", a, b)
	}
	if n := calls.Load(); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
	if clone.ID() == th.ID() || len(th.Clones()) != 1 {
		t.Errorf("clone %s of %s, clones %v", clone.ID(), th.ID(), th.Clones())
	}
}

func TestErrorsComeBackAsTheyWere(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "fails", func(th *durable.Thread, _ struct{}) (int, error) {
		_, err := durable.Do(th, "read", func(durable.Call) (int, error) { return 0, io.EOF })
		durable.Park(th, "p")
		if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		return 0, fmt.Errorf("reading: %w", err)
	})
	th := start(t, r, "fails", struct{}{})
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	th = onAgain(t, bytesOf(t, th), r)
	if err := th.Join(); err == nil || err.Error() != "reading: EOF" {
		t.Errorf("got %v", err)
	}
	if _, err := durable.Start(r, "unknown", 1); !errors.Is(err, durable.ErrUnknownBody) {
		t.Errorf("got %v", err)
	}
	if err := durable.Register(r, "fails", func(*durable.Thread, int) (int, error) { return 0, nil }); !errors.Is(err, durable.ErrRegistered) {
		t.Errorf("got %v", err)
	}
}

// DU-04: waits of hours take none in a simulation. A hibernated thread has no goroutine.
func TestAThreadHibernatesWhileItWaits(t *testing.T) {
	vttest.Options{Schedules: 20}.Run(t, func(t *testing.T) {
		r := durable.NewRegistry()
		register(t, r, "waits", func(th *durable.Thread, _ int) (string, error) {
			before := durable.Now(th)
			durable.Sleep(th, "an hour", time.Hour)
			slept := durable.Now(th).Sub(before)
			s := durable.Await[string](th, "go")
			_, ok := durable.AwaitFor[int](th, "never", time.Minute)
			durable.Park(th, "park")
			return fmt.Sprint(slept, s, " ", ok), nil
		})
		th, err := durable.Builder{Registry: r, HibernateAfter: time.Second, ID: "one"}.Start("waits", 1)
		if err != nil {
			t.Fatal(err)
		}
		is := func(after time.Duration, state durable.State, steps int) {
			t.Helper()
			vthread.Sleep(after)
			if s := th.State(); s != state || len(th.Steps()) != steps {
				t.Errorf("got %v, steps %v, want %v and %d", s, th.Steps(), state, steps)
			}
		}
		is(time.Second/2, durable.Running, 2)
		is(2*time.Second, durable.Hibernated, 2)
		is(time.Hour, durable.Hibernated, 4)
		if err := th.Signal("go", "!"); err != nil {
			t.Fatal(err)
		}
		is(time.Second/2, durable.Running, 5)
		is(2*time.Minute, durable.Hibernated, 6)
		th.Unpark()
		if got := result[string](t, th); got != "1h0m0s! false" {
			t.Errorf("got %q", got)
		}
	})
}

// DU-15: whoever looks from outside sees a hibernated thread, with its name and where it stands.
func TestAHibernatedThreadIsSeen(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
	r := durable.NewRegistry()
	register(t, r, "seen", func(th *durable.Thread, _ int) (int, error) { durable.Park(th, "p"); return 1, nil })
	th, err := durable.Builder{Registry: r, HibernateAfter: time.Millisecond, ID: "someone"}.Start("seen", 1)
	if err != nil {
		t.Fatal(err)
	}
	file, err := flight.Open(flight.Default().Path())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	row := func() (found *flight.ThreadRow) { // it has its name a moment later than its state
		for _, row := range childtest.Threads(t, file) {
			if row.State == flight.StateHibernated && file.ThreadName(row) == "seen someone" {
				found = &row
			}
		}
		return found
	}
	var seen *flight.ThreadRow
	until(t, "a row", func() bool { seen = row(); return seen != nil })
	if seen.Reason != flight.ReasonPark {
		t.Errorf("got the row %+v", seen)
	}
	if all := childtest.Functions(t, file, *seen); !slices.ContainsFunc(all, func(f string) bool { return strings.Contains(f, "TestAHibernatedThreadIsSeen") }) {
		t.Errorf("it stands in %q", all)
	}
	th.Unpark()
	result[int](t, th)
	if row() != nil {
		t.Error("the row stays")
	}
}

// DU-07: a child goes with its parent; its result is known wherever the parent joins it.
func TestChildrenGoWithTheirParent(t *testing.T) {
	r := durable.NewRegistry()
	var made atomic.Int32
	register(t, r, "child", func(th *durable.Thread, n int) (int, error) {
		made.Add(1) //durable:ok counted, and decides nothing
		durable.Park(th, "child")
		if n == 3 {
			return 0, errors.New("three")
		}
		return n * n, nil
	})
	register(t, r, "parent", func(th *durable.Thread, n int) ([]string, error) {
		var all []durable.Child
		for i := range n {
			c, err := durable.Fork(th, "child", i)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
		durable.Park(th, "parent")
		var results []string
		for _, c := range all {
			v, err := durable.Join[int](th, c)
			results = append(results, fmt.Sprint(v, err))
		}
		return results, nil
	})
	th := start(t, r, "parent", 5)
	until(t, "the children", func() bool { return made.Load() == 5 && len(th.Steps()) == 6 })
	th = onAgain(t, bytesOf(t, th), r) // a park that it was in is over; so are those of the children: no
	until(t, "the children there", func() bool { return made.Load() == 10 })
	for i := range 5 {
		c := th.Child(i + 1)
		if c == nil || c.ID() != fmt.Sprintf("%s/%d", th.ID(), i+1) {
			t.Fatalf("child %d: %v", i+1, c)
		}
		if _, err := c.ParkAndSerialize(); err != durable.ErrChild {
			t.Errorf("bytes of a child: %v", err)
		}
		c.Unpark()
	}
	want := []string{"0 <nil>", "1 <nil>", "4 <nil>", "0 three", "16 <nil>"}
	if got := result[[]string](t, th); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// DU-08
func TestDivergenceIsFoundWhereItBegins(t *testing.T) {
	old := durable.NewRegistry()
	register(t, old, "b", func(th *durable.Thread, _ int) (int, error) {
		durable.Do(th, "first", func(durable.Call) (int, error) { return 1, nil })
		durable.Do(th, "second", func(durable.Call) (int, error) { return 2, nil })
		durable.Park(th, "p")
		return 0, nil
	})
	never := func(durable.Call) (int, error) { t.Error("a call that must not be made"); return 0, nil }
	for name, c := range map[string]struct {
		body      func(th *durable.Thread, _ int) (int, error)
		at        int
		want, got string
	}{
		"another name": {func(th *durable.Thread, _ int) (int, error) {
			durable.Do(th, "first", never)
			durable.Do(th, "other", never)
			return 0, nil
		}, 1, `do "second"`, `do "other"`},
		"another kind": {func(th *durable.Thread, _ int) (int, error) {
			durable.Now(th)
			return 0, nil
		}, 0, `do "first"`, "time"},
		"too short": {func(th *durable.Thread, _ int) (int, error) {
			durable.Do(th, "first", never)
			return 0, nil
		}, 1, `do "second"`, "returns"},
		"another type": {func(th *durable.Thread, _ int) (int, error) {
			durable.Do(th, "first", func(durable.Call) (string, error) { never(durable.Call{}); return "", nil })
			return 0, nil
		}, 0, `do "first"`, `do "first as string: `},
		"swallowed": {func(th *durable.Thread, _ int) (int, error) {
			defer func() { recover() }()
			defer durable.Do(th, "cleaning up", never) //durable:ok this is what is tested
			durable.Now(th)
			return 0, nil
		}, 0, `do "first"`, "time"},
	} {
		t.Run(name, func(t *testing.T) {
			th := start(t, old, "b", 0)
			until(t, "the park", func() bool { return len(th.Steps()) == 3 })
			b := bytesOf(t, th)
			changed := durable.NewRegistry()
			register(t, changed, "b", c.body)
			th = onAgain(t, b, changed)
			var d *durable.Divergence
			if err := th.Join(); !errors.As(err, &d) {
				t.Fatalf("got %v, want a divergence", err)
			}
			if d.At != c.at || d.Want != c.want || !strings.HasPrefix(d.Got, c.got) || d.Body != "b" {
				t.Errorf("got %+v", d)
			}
			if c.got != "returns" && !strings.Contains(d.Stack, "durable_test.go:") {
				t.Errorf("no line of the body in the stack:\n%s", d.Stack)
			}
			if len(th.Steps()) != 3 {
				t.Errorf("the journal was changed: %v", th.Steps())
			}
		})
	}
}

// DU-09
func TestPatchesLetOldThreadsGoOn(t *testing.T) {
	old := durable.NewRegistry()
	register(t, old, "b", func(th *durable.Thread, _ int) (string, error) {
		durable.Do(th, "pay", func(durable.Call) (int, error) { return 1, nil })
		durable.Park(th, "p")
		return "old", nil
	})
	th := start(t, old, "b", 0)
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	b := bytesOf(t, th)
	changed := durable.NewRegistry()
	var checks atomic.Int32
	register(t, changed, "b", func(th *durable.Thread, _ int) (string, error) {
		before := durable.Patch(th, "check before paying", 1)
		if before > 0 {
			durable.Do(th, "check", func(durable.Call) (int, error) { return int(checks.Add(1)), nil })
		}
		durable.Do(th, "pay", func(durable.Call) (int, error) { return 1, nil })
		durable.Park(th, "p")
		after := durable.Patch(th, "after", 7)
		return fmt.Sprint(before, after), nil
	})
	if got := result[string](t, onAgain(t, b, changed)); got != "0 7" || checks.Load() != 0 {
		t.Errorf("an old thread: got %q, %d checks", got, checks.Load())
	}
	th = start(t, changed, "b", 0)
	until(t, "the park", func() bool { return len(th.Steps()) == 4 })
	if got := result[string](t, onAgain(t, bytesOf(t, th), changed)); got != "1 7" || checks.Load() != 1 {
		t.Errorf("a new thread: got %q, %d checks", got, checks.Load())
	}
}

// DU-11
func TestCallsUnderWayFollowTheirPolicy(t *testing.T) {
	for _, c := range []struct {
		policy durable.Policy
		want   string
	}{{durable.AtLeastOnce, "2 <nil>"}, {durable.AtMostOnce, "0 " + durable.ErrInterruptedCall.Error()}} {
		r := durable.NewRegistry()
		var attempts atomic.Int32
		died := make(chan struct{})
		register(t, r, "b", func(th *durable.Thread, _ int) (string, error) {
			v, err := durable.Do(th, "pay", func(c durable.Call) (int, error) {
				if attempts.Add(1) == 1 {
					close(died)
					runtime.Goexit() // as if the process ended here
				}
				return c.Attempt, nil
			}, c.policy)
			return fmt.Sprint(v, " ", err), nil
		})
		th := start(t, r, "b", 0)
		<-died
		if err := th.Join(); err != durable.ErrGoexit {
			t.Fatal(err)
		}
		b, err := durable.PackForTest(th)
		if err != nil {
			t.Fatal(err)
		}
		again := onAgain(t, b, r)
		if got := result[string](t, again); got != c.want {
			t.Errorf("policy %d: got %q, want %q", c.policy, got, c.want)
		}
	}
}

var progress = durable.Checkpoint[int]{Name: "progress", Version: 1}

// DU-10
func TestACheckpointStandsForTheStepsBefore(t *testing.T) {
	r := durable.NewRegistry()
	const n = 1000
	var calls atomic.Int32
	register(t, r, "counts", func(th *durable.Thread, _ int) (int, error) {
		at, _ := progress.Restore(th)
		for ; at < n; at++ {
			durable.Do(th, "step", func(durable.Call) (int, error) { calls.Add(1); return at, nil })
			if at%10 == 9 {
				progress.Save(th, at+1)
			}
			if at == n/2 {
				durable.Park(th, "half")
			}
		}
		return at, nil
	})
	th := start(t, r, "counts", 0)
	until(t, "the park", func() bool { s := th.Steps(); return len(s) > 0 && s[len(s)-1].Name == "half" })
	if s := th.Steps(); len(s) != 3 || s[0].Kind != journal.StepCheckpoint {
		t.Errorf("steps %v", s)
	}
	if got := result[int](t, onAgain(t, bytesOf(t, th), r)); got != n || calls.Load() != n {
		t.Errorf("got %d after %d calls, want %d", got, calls.Load(), n)
	}
}

// DU-10: a body that saves where its loop begins comes there again right after Restore.
func TestASaveRightAfterRestoreIsTheSameOne(t *testing.T) {
	r := durable.NewRegistry()
	var calls atomic.Int32
	register(t, r, "counts", func(th *durable.Thread, n int) (int, error) {
		at, _ := progress.Restore(th)
		for ; at < n; at++ {
			if at%10 == 0 {
				progress.Save(th, at)
			}
			durable.Do(th, "step", func(durable.Call) (int, error) { calls.Add(1); return at, nil })
			if at == 25 {
				durable.Park(th, "p")
			}
		}
		return at, nil
	})
	th := start(t, r, "counts", 40)
	until(t, "the park", func() bool { s := th.Steps(); return len(s) > 0 && s[len(s)-1].Name == "p" })
	if got := result[int](t, onAgain(t, bytesOf(t, th), r)); got != 40 || calls.Load() != 40 {
		t.Errorf("got %d after %d calls, want 40", got, calls.Load())
	}
}

// DU-09
func TestOldCheckpointsAreUpgraded(t *testing.T) {
	old := durable.NewRegistry()
	register(t, old, "b", func(th *durable.Thread, _ int) (int, error) {
		if _, ok := progress.Restore(th); !ok {
			progress.Save(th, 42)
		}
		durable.Park(th, "p")
		return 0, nil
	})
	th := start(t, old, "b", 0)
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	b := bytesOf(t, th)
	type richer struct{ At int }
	for _, upgrades := range []bool{true, false} {
		next := durable.Checkpoint[richer]{Name: "progress", Version: 2}
		if upgrades {
			next.Upgrade = func(version int, decode func(any) error) (r richer, err error) {
				if version != 1 {
					t.Errorf("version %d", version)
				}
				return r, decode(&r.At)
			}
		}
		changed := durable.NewRegistry()
		register(t, changed, "b", func(th *durable.Thread, _ int) (int, error) {
			s, _ := next.Restore(th)
			durable.Park(th, "p")
			return s.At, nil
		})
		th := onAgain(t, b, changed)
		got, err := durable.Result[int](th)
		if upgrades && (got != 42 || err != nil) || !upgrades && !errors.As(err, new(*durable.Divergence)) {
			t.Errorf("upgrades %v: got %v, %v", upgrades, got, err)
		}
	}
}

// DU-05: the proposal's demand for clones: a search that is written as if each choice were right.
func TestClonesFindAllQueens(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "queens", func(th *durable.Thread, n int) ([]int, error) {
		var rows []int
		for column := range n {
			row := durable.Choose(th, "row", n)
			for c, r := range rows {
				if r == row || r-row == c-column || row-r == c-column {
					return nil, nil
				}
			}
			rows = append(rows, row)
		}
		return rows, nil
	})
	for n, want := range map[int]int{4: 2, 6: 4, 8: 92} {
		th := start(t, r, "queens", n)
		found := 0
		for i, all := 0, []*durable.Thread{th}; i < len(all); i++ {
			if result[[]int](t, all[i]) != nil {
				found++
			}
			if i == len(all)-1 { // whoever was cloned by one that has ended is known by now
				all = append(all[:1], th.Clones()...)
			}
		}
		if found != want {
			t.Errorf("%d queens: %d solutions, want %d", n, found, want)
		}
	}
}

// DU-02
func TestAThreadMovesItself(t *testing.T) {
	here, there := durable.NewRegistry(), durable.NewRegistry()
	arrived := make(chan *durable.Thread, 1)
	refused := errors.New("no room")
	body := func(th *durable.Thread, name string) (string, error) {
		c, err := durable.Fork(th, "child", 7)
		if err != nil {
			return "", err
		}
		first := durable.Move(th, "refused", func([]byte) error { return refused })
		if err := durable.Move(th, "to the data", func(b []byte) error {
			moved, err := durable.DeserializeAndUnpark(b, there, nil)
			arrived <- moved
			return err
		}); err != nil {
			return "", err
		}
		where, _ := durable.Do(th, "where", func(durable.Call) (string, error) { return "there", nil })
		v, err := durable.Join[int](th, c)
		return fmt.Sprintf("%s, %v, %s, %d, %v", name, first, where, v, err), nil
	}
	for _, r := range []*durable.Registry{here, there} {
		register(t, r, "b", body)
		register(t, r, "child", func(th *durable.Thread, n int) (int, error) { durable.Sleep(th, "s", time.Millisecond); return n, nil })
	}
	th := start(t, here, "b", "hop")
	if err := th.Join(); err != durable.ErrMoved {
		t.Fatal(err)
	}
	if got := result[string](t, <-arrived); got != "hop, no room, there, 7, <nil>" {
		t.Errorf("got %q", got)
	}
}

// DU-14
func TestBytesAreCheckedSignedAndEncrypted(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "b", func(th *durable.Thread, secret string) (string, error) { durable.Park(th, "p"); return secret, nil })
	keys := func(secrets ...string) *journal.Keys {
		var all [][]byte
		for _, s := range secrets {
			all = append(all, []byte(s))
		}
		k, err := journal.NewKeys(all...)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, both, other := keys("a secret of some length"), keys("another secret, a new one", "a secret of some length"), keys("another secret, a new one")
	made := func(k *journal.Keys) []byte {
		th, err := durable.Builder{Registry: r, Keys: k}.Start("b", "hush-hush")
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the park", func() bool { return len(th.Steps()) == 1 })
		return bytesOf(t, th)
	}
	plain, protected := made(nil), made(one)
	if strings.Contains(string(protected), "hush") || !strings.Contains(string(plain), "hush") {
		t.Error("encrypted bytes tell, or plain ones do not")
	}
	for _, c := range []struct {
		b    []byte
		k    *journal.Keys
		want error
	}{
		{protected, one, nil}, {protected, both, nil}, {plain, nil, nil},
		{protected, other, journal.ErrKey}, {protected, nil, journal.ErrKey}, {plain, one, journal.ErrUnsigned},
		{nil, nil, journal.ErrDamaged}, {plain[:20], nil, journal.ErrDamaged},
	} {
		th, err := durable.Builder{Registry: r, Keys: c.k}.DeserializeAndUnpark(c.b)
		if !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
		if err == nil && result[string](t, th) != "hush-hush" {
			t.Error("another result")
		}
	}
	for _, b := range [][]byte{plain, protected} {
		for i := range b {
			damaged := slices.Clone(b)
			damaged[i] ^= 0x10
			k := one
			if &b[0] == &plain[0] {
				k = nil
			}
			if _, err := (durable.Builder{Registry: r, Keys: k}).DeserializeAndUnpark(damaged); err == nil {
				t.Fatalf("byte %d of %d was changed, and nobody saw it", i, len(b))
			}
		}
	}
	if _, err := journal.NewKeys([]byte("short")); err == nil {
		t.Error("a short secret was taken")
	}
}

// DU-10: a child can be joined behind a checkpoint.
func TestAChildIsAPartOfAState(t *testing.T) {
	type state struct{ Child durable.Child }
	saved := durable.Checkpoint[state]{Name: "s", Version: 1}
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, n int) (int, error) { return n, nil })
	register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
		s, ok := saved.Restore(th)
		if !ok {
			var err error
			if s.Child, err = durable.Fork(th, "child", 7); err != nil {
				return 0, err
			}
			saved.Save(th, s)
		}
		durable.Park(th, "p")
		return durable.Join[int](th, s.Child)
	})
	th := start(t, r, "b", 0)
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	if got := result[int](t, onAgain(t, bytesOf(t, th), r)); got != 7 {
		t.Errorf("got %d", got)
	}
}

// A thread that hibernates goes by the clock of the machine, which may be set, or go on while the process stands still.
func TestAHibernatedThreadSeesThatTheClockWasSet(t *testing.T) {
	vttest.Options{Schedules: 3}.Run(t, func(t *testing.T) {
		r := durable.NewRegistry()
		register(t, r, "waits", func(th *durable.Thread, _ int) (int, error) { durable.Sleep(th, "a day", 24*time.Hour); return 1, nil })
		th, err := durable.Builder{Registry: r, HibernateAfter: time.Second}.Start("waits", 1)
		if err != nil {
			t.Fatal(err)
		}
		vthread.Sleep(time.Minute)
		durable.SetClockForTest(th, 24*time.Hour)
		vthread.Sleep(2 * time.Minute)
		if th.State() != durable.Done {
			t.Errorf("it is %v a day later", th.State())
		}
		result[int](t, th)
	})
}

// A source of random numbers is the same in a replay.
func TestRandIsTheSameInAReplay(t *testing.T) {
	body := func(th *durable.Thread, _ int) ([]int, error) {
		r := durable.Rand(th)
		all := r.Perm(20)
		durable.Park(th, "p")
		if len(all) > 0 {
			all = append(all, r.IntN(1000))
		}
		return append(all, durable.Rand(th).IntN(1000)), nil
	}
	b := parked(t, 0, body)
	r := durable.NewRegistry()
	register(t, r, "b", body)
	th := onAgain(t, b, r)
	first := result[[]int](t, th)
	other := result[[]int](t, onAgain(t, b, r))
	if !slices.Equal(first[:21], other[:21]) || len(first) != 22 {
		t.Errorf("got %v and %v", first, other)
	}
}
