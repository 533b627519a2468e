package durable_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// taken is what a generator yields next.
func taken(t *testing.T, g *durable.Generator[string], n int) (all []string) {
	t.Helper()
	for range n {
		v, ok, err := g.Next()
		if !ok || err != nil {
			t.Fatalf("after %q: %v, %v", all, ok, err)
		}
		all = append(all, v)
	}
	return all
}

func lettersOf(t *testing.T, calls *atomic.Int32) *durable.Registry {
	r := durable.NewRegistry()
	if err := durable.RegisterGenerator(r, "letters", func(th *durable.Thread, n int, yield func(string)) error {
		for i := range n {
			v, _ := durable.Do(th, "letter", func(durable.Call) (string, error) { calls.Add(1); return string(rune('a' + i)), nil })
			yield(v)
		}
		if n > 5 {
			return errors.New("too many")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// DU-06: a generator is cloned between two values: both have had the same, and each goes on by itself. What was recorded is not done again.
func TestAGeneratorIsCloned(t *testing.T) {
	var calls atomic.Int32
	g := durable.Values[string](start(t, lettersOf(t, &calls), "letters", 4))
	if got := taken(t, g, 2); !slices.Equal(got, []string{"a", "b"}) || calls.Load() != 2 {
		t.Errorf("got %q after %d calls, want a and b after 2", got, calls.Load())
	}
	c, err := g.Clone()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*durable.Generator[string]{c, g} {
		var rest []string
		for v, err := range g.All() {
			if err != nil {
				t.Error(err)
			}
			rest = append(rest, v)
		}
		if !slices.Equal(rest, []string{"c", "d"}) {
			t.Errorf("got %q, want c and d", rest)
		}
		if _, ok, err := g.Next(); ok || err != nil {
			t.Errorf("after the end: %v, %v", ok, err)
		}
	}
	if n := calls.Load(); n != 6 {
		t.Errorf("%d calls, want 2 that both know and 2 of each", n)
	}
}

// DU-06
func TestAGeneratorGoesOnFromItsBytes(t *testing.T) {
	for had := range 4 {
		var calls atomic.Int32
		r := lettersOf(t, &calls)
		g := durable.Values[string](start(t, r, "letters", 4))
		got := taken(t, g, had)
		b, err := g.ParkAndSerialize()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := g.Next(); ok || !errors.Is(err, durable.ErrMoved) {
			t.Errorf("of one that has moved: %v, %v", ok, err)
		}
		g = durable.Values[string](onAgain(t, b, r))
		got = append(got, taken(t, g, 4-had)...)
		if want := []string{"a", "b", "c", "d"}; !slices.Equal(got, want) || calls.Load() != 4 {
			t.Errorf("parked after %d: got %q after %d calls, want %q after 4", had, got, calls.Load(), want)
		}
		if _, ok, err := g.Next(); ok || err != nil {
			t.Errorf("after the end: %v, %v", ok, err)
		}
	}
}

// DU-06
func TestAGeneratorEndsAsItsBody(t *testing.T) {
	var calls atomic.Int32
	r := lettersOf(t, &calls)
	var last error
	n := 0
	for _, err := range durable.Values[string](start(t, r, "letters", 6)).All() {
		if last = err; err == nil {
			n++
		}
	}
	if n != 6 || last == nil || last.Error() != "too many" {
		t.Errorf("%d values, and %v", n, last)
	}
	other := durable.Values[int](start(t, r, "letters", 1))
	if _, ok, err := other.Next(); ok || err == nil {
		t.Errorf("values of another type: %v, %v", ok, err)
	}
	if _, ok, err := other.Next(); ok || err != nil {
		t.Errorf("behind the last one of another type: %v, %v", ok, err)
	}
	durable.RegisterGenerator(r, "other", func(th *durable.Thread, n int, yield func(string)) error { return nil })
	if _, ok, err := durable.Values[string](start(t, r, "other", 1)).Next(); ok || err != nil {
		t.Errorf("of none: %v, %v", ok, err)
	}
}

// DU-06: one that hibernates between two values executes its body again, and yields each value once.
func TestAGeneratorHibernates(t *testing.T) {
	vttest.Options{Schedules: 20}.Run(t, func(t *testing.T) {
		var calls atomic.Int32
		th, err := durable.Builder{Registry: lettersOf(t, &calls), HibernateAfter: time.Second}.Start("letters", 3)
		if err != nil {
			t.Fatal(err)
		}
		g := durable.Values[string](th)
		var got []string
		for range 3 {
			got = append(got, taken(t, g, 1)...)
			vthread.Sleep(time.Minute)
			if th.State() != durable.Hibernated {
				t.Errorf("it is %v", th.State())
			}
		}
		if fmt.Sprint(got) != "[a b c]" || calls.Load() != 3 {
			t.Errorf("got %q after %d calls", got, calls.Load())
		}
		if _, ok, err := g.Next(); ok || err != nil {
			t.Errorf("after the end: %v, %v", ok, err)
		}
	})
}

// DU-06: nobody waits for the values of a generator that is over, or that goes on elsewhere.
func TestNobodyWaitsForAGeneratorThatIsOver(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	if err := durable.RegisterGenerator(r, "late", func(th *durable.Thread, d time.Duration, yield func(int)) error {
		durable.Sleep(th, "before the first", d)
		yield(1)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	next := func(th *durable.Thread) chan error {
		g, c := durable.Values[int](th), make(chan error, 1)
		go func() { //durable:ok this is no body
			_, ok, err := g.Next()
			if ok {
				err = errors.New("a value")
			}
			c <- err //durable:ok
		}()
		return c
	}
	got := func(what string, c chan error, want error) {
		t.Helper()
		select {
		case err := <-c:
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", what, err, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: nobody answers", what)
		}
	}
	k := open(t, dir, r)
	late, err := k.Start("late", "late", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	over, err := k.Start("over", "late", time.Duration(0))
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range durable.Values[int](over).All() {
		if v != 1 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
	}
	if err := over.Join(); err != nil {
		t.Fatal(err)
	}
	until(t, "it hibernates", func() bool { return late.State() == durable.Hibernated })
	waits := next(late)
	time.Sleep(10 * time.Millisecond) // so that it waits
	closed(t, k)
	got("a hibernated one of a closed keeper", waits, durable.ErrClosed)
	k = open(t, dir, r)
	got("one that has ended before", next(k.Thread("over")), nil)
	closed(t, k)
}

// DU-06: a value that nobody has taken is yielded where the thread goes on, and not here.
func TestAValueIsYieldedOnceThoughItsThreadMoves(t *testing.T) {
	var calls atomic.Int32
	r := lettersOf(t, &calls)
	th := start(t, r, "letters", 2)
	g := durable.Values[string](th)
	until(t, "it has a value to yield", func() bool { s := th.Steps(); return len(s) == 2 && s[1].Open })
	b, err := th.ParkAndSerialize()
	if err != nil {
		t.Fatal(err)
	}
	if v, ok, err := g.Next(); ok || err != durable.ErrMoved {
		t.Errorf("here: got %q, %v, %v", v, ok, err)
	}
	g = durable.Values[string](onAgain(t, b, r))
	if got := taken(t, g, 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("there: got %q", got)
	}
	if _, ok, err := g.Next(); ok || err != nil {
		t.Errorf("after the end: %v, %v", ok, err)
	}
}
