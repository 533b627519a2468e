package durable_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// diverged wants the thread to end with a divergence.
func diverged(t *testing.T, th *durable.Thread) *durable.Divergence {
	t.Helper()
	var d *durable.Divergence
	if err := th.Join(); !errors.As(err, &d) {
		t.Fatalf("got %v, want a divergence", err)
	}
	return d
}

// parked is a thread of this body that stands in its last step, a park, as bytes.
func parked[A, R any](t *testing.T, args A, body func(*durable.Thread, A) (R, error)) []byte {
	t.Helper()
	r := durable.NewRegistry()
	register(t, r, "b", body)
	th := start(t, r, "b", args)
	until(t, "the park", func() bool {
		s := th.Steps()
		return len(s) > 0 && s[len(s)-1].Kind == journal.StepPark
	})
	return bytesOf(t, th)
}

func changed[A, R any](t *testing.T, b []byte, body func(*durable.Thread, A) (R, error)) *durable.Thread {
	t.Helper()
	r := durable.NewRegistry()
	register(t, r, "b", body)
	return onAgain(t, b, r)
}

// DU-08: what a body returns that is too short is no end, also if it is told to leave at that moment.
func TestABodyThatIsTooShortDivergesWhileItsKeeperCloses(t *testing.T) {
	dir := t.TempDir()
	register := func(body func(th *durable.Thread, _ int) (string, error)) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "b", body)
		return r
	}
	whole := register(func(th *durable.Thread, _ int) (string, error) {
		v, _ := durable.Do(th, "first", func(durable.Call) (string, error) { return "made", nil })
		durable.Park(th, "p")
		return v, nil
	})
	k := open(t, dir, whole)
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	closed(t, k)
	begun, goOn := make(chan bool), make(chan bool)
	k = open(t, dir, register(func(*durable.Thread, int) (string, error) {
		close(begun)
		<-goOn //durable:ok this is what is tested
		return "too short", nil
	}))
	th = k.Thread("one")
	if err := th.Unpark(); err != nil {
		t.Fatal(err)
	}
	<-begun
	done := make(chan error)
	go func() { done <- k.Close() }()
	until(t, "it is told to leave", func() bool { return th.State() == durable.Stopping })
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	diverged(t, th)
	k = open(t, dir, whole)
	if got, err := durable.Result[string](k.Thread("one")); got != "made" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	closed(t, k)
}

// DU-08: a fork with other arguments is found, as those in the order of a map are.
func TestAForkOfOtherArgumentsDiverges(t *testing.T) {
	type args struct {
		Name  string
		Count int `json:",omitempty"`
	}
	type more struct {
		Name  string
		Count int
		Added []string
	}
	bodies := func(fork any) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "child", func(th *durable.Thread, a more) (string, error) { durable.Park(th, "c"); return a.Name, nil })
		register(t, r, "b", func(th *durable.Thread, _ int) (string, error) {
			c, err := durable.Fork(th, "child", fork)
			if err != nil {
				return "", err
			}
			durable.Park(th, "p")
			return durable.Join[string](th, c)
		})
		return r
	}
	th := start(t, bodies(args{Name: "a"}), "b", 0)
	until(t, "the park", func() bool { return len(th.Steps()) == 2 && len(th.Child(1).Steps()) == 1 })
	b := bytesOf(t, th)
	th = onAgain(t, b, bodies(args{Name: "b"}))
	d := diverged(t, th)
	th.Child(1).Unpark()
	if err := th.Child(1).Join(); err != nil {
		t.Error(err)
	}
	if d.At != 0 || d.Want != `fork "child" with arguments {"Name":"a"}` || d.Got != `fork "child" with arguments {"Name":"b"}` {
		t.Errorf("got %+v", d)
	}
	th = onAgain(t, b, bodies(more{Name: "a"})) // a member that is new and zero is none
	until(t, "the join", func() bool { s := th.Steps(); return s[len(s)-1].Kind == journal.StepJoin })
	th.Child(1).Unpark()
	if got := result[string](t, th); got != "a" {
		t.Errorf("got %q", got)
	}
}

// DU-08
func TestWaitsWithAndWithoutALimitAreNotTheSame(t *testing.T) {
	with := func(th *durable.Thread, _ int) (int, error) {
		v, _ := durable.AwaitFor[int](th, "s", time.Millisecond)
		durable.Park(th, "p")
		return v, nil
	}
	without := func(th *durable.Thread, _ int) (int, error) {
		v := durable.Await[int](th, "s")
		durable.Park(th, "p")
		return v, nil
	}
	if d := diverged(t, changed(t, parked(t, 0, with), without)); d.Want != `timeout "s"` || d.Got != `signal "s" without a limit` || d.At != 0 {
		t.Errorf("got %+v", d)
	}
	r := durable.NewRegistry()
	register(t, r, "b", without)
	th := start(t, r, "b", 0)
	until(t, "the wait", func() bool { return len(th.Steps()) == 1 })
	if d := diverged(t, changed(t, bytesOf(t, th), with)); d.Want != `signal "s" without a limit` || d.Got != `signal "s" within a time` || d.At != 0 {
		t.Errorf("got %+v", d)
	}
}

// DU-08
func TestAChoiceThatIsNoneAnyMoreDiverges(t *testing.T) {
	choose := func(n int) func(th *durable.Thread, _ int) (int, error) {
		return func(th *durable.Thread, _ int) (int, error) {
			i := durable.Choose(th, "way", n)
			durable.Park(th, "p")
			return i, nil
		}
	}
	r := durable.NewRegistry()
	register(t, r, "b", choose(3))
	th := start(t, r, "b", 0)
	until(t, "the clones", func() bool { return len(th.Clones()) == 2 && len(th.Clones()[1].Steps()) == 2 })
	b := bytesOf(t, th.Clones()[1])
	for _, other := range []*durable.Thread{th, th.Clones()[0]} {
		until(t, "the park", func() bool { return len(other.Steps()) == 2 })
		bytesOf(t, other)
	}
	if d := diverged(t, changed(t, b, choose(2))); d.Want != `choice "way", of which 2 was chosen` || d.Got != `choice "way" of 2` {
		t.Errorf("got %+v", d)
	}
}

// DU-08, DU-10: a type that was changed is no other value.
func TestChangedTypesDiverge(t *testing.T) {
	type paid struct {
		ID     string
		Amount int
	}
	type renamed struct {
		PaymentID string
		Amount    int
	}
	type more struct {
		ID     string
		Amount int
		Note   string
	}
	state := durable.Checkpoint[paid]{Name: "s", Version: 1}
	stateRenamed := durable.Checkpoint[renamed]{Name: "s", Version: 1}
	stateMore := durable.Checkpoint[more]{Name: "s", Version: 1}
	old := parked(t, 0, func(th *durable.Thread, _ int) (int, error) {
		v, _ := durable.Do(th, "pay", func(durable.Call) (paid, error) { return paid{"x", 7}, nil })
		durable.Park(th, "p")
		return v.Amount, nil
	})
	if d := diverged(t, changed(t, old, func(th *durable.Thread, _ int) (int, error) {
		v, _ := durable.Do(th, "pay", func(durable.Call) (renamed, error) { return renamed{}, nil })
		durable.Park(th, "p")
		return v.Amount, nil
	})); d.At != 0 || !strings.Contains(d.Got, "unknown field") {
		t.Errorf("got %+v", d)
	}
	if got := result[int](t, changed(t, old, func(th *durable.Thread, _ int) (int, error) {
		v, _ := durable.Do(th, "pay", func(durable.Call) (more, error) { return more{}, nil })
		durable.Park(th, "p")
		return v.Amount, nil
	})); got != 7 {
		t.Errorf("got %d", got)
	}
	saved := parked(t, 0, func(th *durable.Thread, _ int) (int, error) {
		if _, ok := state.Restore(th); !ok {
			state.Save(th, paid{"x", 7})
		}
		durable.Park(th, "p")
		return 0, nil
	})
	if d := diverged(t, changed(t, saved, func(th *durable.Thread, _ int) (int, error) {
		s, _ := stateRenamed.Restore(th)
		durable.Park(th, "p")
		return s.Amount, nil
	})); !strings.Contains(d.Got, "unknown field") || !strings.Contains(d.Got, "Version") {
		t.Errorf("got %+v", d)
	}
	if got := result[int](t, changed(t, saved, func(th *durable.Thread, _ int) (int, error) {
		s, _ := stateMore.Restore(th)
		durable.Park(th, "p")
		return s.Amount, nil
	})); got != 7 {
		t.Errorf("got %d", got)
	}
	// A body that has lost its Restore ends its thread, and not its process.
	if d := diverged(t, changed(t, saved, func(th *durable.Thread, _ int) (int, error) {
		state.Save(th, paid{})
		return 0, nil
	})); d.Want != `checkpoint "s"` {
		t.Errorf("got %+v", d)
	}
}

// A thread whose arguments the body does not take any more has not ended: mended code goes on with it.
func TestArgumentsOfAnotherTypeDiverge(t *testing.T) {
	dir := t.TempDir()
	numbers, texts := durable.NewRegistry(), durable.NewRegistry()
	var mayBegin atomic.Bool
	register(t, numbers, "b", func(th *durable.Thread, n int) (int, error) {
		if mayBegin.Load() { //durable:ok this is what is tested
			return n, nil
		}
		durable.Park(th, "p")
		return n, nil
	})
	register(t, texts, "b", func(_ *durable.Thread, s string) (string, error) { return s, nil })
	if _, err := durable.Start(numbers, "b", "text"); err == nil || !strings.Contains(err.Error(), "arguments") {
		t.Errorf("a thread that takes a number was started with a text: %v", err)
	}
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(func(journal.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(journal.Entry{Thread: "one", Op: journal.OpNew, Body: "b", Args: []byte("7")}); err != nil { // its process died before it did anything
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	k := open(t, dir, texts)
	if d := diverged(t, k.Thread("one")); d.Want != "arguments 7" {
		t.Errorf("got %+v", d)
	}
	closed(t, k)
	mayBegin.Store(true)
	k = open(t, dir, numbers)
	if got, err := durable.Result[int](k.Thread("one")); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	closed(t, k)
}

// DU-08: what is sent to a thread that has diverged is there when mended code goes on.
func TestSignalsOfADivergedThreadAreKept(t *testing.T) {
	dir := t.TempDir()
	body := func(name string) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "b", func(th *durable.Thread, _ int) (int, error) {
			durable.Do(th, name, func(durable.Call) (int, error) { return 1, nil })
			durable.Park(th, "p")
			return durable.Await[int](th, "s"), nil
		})
		return r
	}
	k := open(t, dir, body("first"))
	th, err := k.Start("one", "b", 1)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	closed(t, k)
	k = open(t, dir, body("changed"))
	if err := k.Thread("one").Unpark(); err != nil {
		t.Fatal(err)
	}
	diverged(t, k.Thread("one"))
	if err := k.Signal("one", "s", 7); err != nil {
		t.Fatal(err)
	}
	closed(t, k)
	k = open(t, dir, body("first"))
	if got, err := durable.Result[int](k.Thread("one")); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if err := k.Signal("one", "s", 7); err != durable.ErrDone {
		t.Errorf("a signal to one that has ended: %v", err)
	}
	closed(t, k)
}
