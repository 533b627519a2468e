package durable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A body that panics ends its thread, and neither its process nor the next one: the journal would lead each into the same panic.
func TestAPanicOfABodyIsMended(t *testing.T) {
	dir := t.TempDir()
	bodies := func(mended bool) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "b", func(th *durable.Thread, n int) (int, error) {
			v, _ := durable.Do(th, "first", func(durable.Call) (int, error) { return n, nil })
			if !mended {
				var none *int
				v = *none
			}
			return v, nil
		})
		register(t, r, "parent", func(th *durable.Thread, n int) (int, error) {
			c, err := durable.Fork(th, "b", n)
			if err != nil {
				return 0, err
			}
			return durable.Join[int](th, c)
		})
		return r
	}
	for round := range 3 {
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan string, 9)
		k, err := durable.Open(durable.KeeperOptions{Registry: bodies(round == 2), Store: s, OnPanic: func(id string, v any, stack []byte) {
			told <- fmt.Sprint(id, v, string(stack))
		}})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if _, err := k.Start("one", "parent", 7); err != nil {
				t.Fatal(err)
			}
		}
		if round == 2 {
			if got, err := durable.Result[int](k.Thread("one")); got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
			closed(t, k)
			continue
		}
		if text := <-told; !strings.Contains(text, "one/1") || !strings.Contains(text, "nil pointer") || !strings.Contains(text, "TestAPanicOfABodyIsMended") {
			t.Errorf("told %s", text)
		}
		var p *vthread.Panic
		if err := k.Thread("one").Child(1).Join(); !errors.As(err, &p) {
			t.Errorf("got %v", err)
		}
		closed(t, k)
	}
}

// A step where none can be is a fault that is seen at once.
func TestAStepInACallPanics(t *testing.T) {
	for name, c := range map[string]struct {
		body func(th *durable.Thread)
		want string
	}{
		"in a call": {func(th *durable.Thread) {
			durable.Do(th, "a", func(durable.Call) (int, error) { durable.Now(th); return 1, nil }) //durable:ok this is what is tested
		}, "time in a call"},
		"in a call of its name": {func(th *durable.Thread) {
			durable.Do(th, "a", func(durable.Call) (int, error) { return durable.Do(th, "a", nil1) }) //durable:ok this is what is tested
		}, `do "a" in a call`},
		"on another goroutine": {func(th *durable.Thread) {
			said := make(chan any)
			go func() { defer func() { said <- recover() }(); durable.Now(th) }() //durable:ok this is what is tested
			panic(<-said)                                                         //durable:ok
		}, "on another goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			r := durable.NewRegistry()
			register(t, r, "b", func(th *durable.Thread, _ int) (int, error) { c.body(th); return 1, nil })
			s, err := durable.NewFileStore(t.TempDir(), durable.FileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, OnPanic: func(string, any, []byte) {}})
			if err != nil {
				t.Fatal(err)
			}
			th, err := k.Start("", "b", 1)
			if err != nil {
				t.Fatal(err)
			}
			var p *vthread.Panic
			if err := th.Join(); !errors.As(err, &p) || !strings.Contains(fmt.Sprint(p.Value), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			closed(t, k)
		})
	}
}

func nil1(durable.Call) (int, error) { return 1, nil }
