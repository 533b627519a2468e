package structured_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// runs runs a scope with a policy that forks all of fs, and joins.
func runs[T any](p structured.Policy, deadline time.Time, fs ...func() (T, error)) error {
	return structured.Options{Name: "s", Policy: p, Deadline: deadline}.Run(context.Background(), func(s *structured.Scope) error {
		for _, f := range fs {
			structured.Fork(s, f)
		}
		return s.Join()
	})
}

func succeed(v int) func() (int, error) { return func() (int, error) { return v, nil } }

func fail(err error) func() (int, error) { return func() (int, error) { return 0, err } }

func stay() (int, error) { return 0, untilCancelled() }

var never time.Time

type mappedError struct{ of error }

func (m mappedError) Error() string { return "mapped: " + m.of.Error() }
func (m mappedError) Unwrap() error { return m.of }

func mapTo(err error) error { return mappedError{err} }

// ST-41
func TestAllMustSucceedAndTheirValuesAreInTheOrderOfTheForks(t *testing.T) {
	both(t, func(t *testing.T) {
		var none structured.All[int]
		if err := runs[int](&none, never); err != nil || len(none.Values()) != 0 || none.Values() == nil {
			t.Errorf("without forks: got %v, %v", none.Values(), err)
		}
		var all structured.All[string]
		var fs []func() (string, error)
		var want []string
		for i := range 50 {
			want = append(want, strconv.Itoa(i))
			fs = append(fs, func() (string, error) {
				vthread.Sleep(time.Duration(50-i) % 7 * time.Millisecond)
				return strconv.Itoa(i), nil
			})
		}
		if err := runs(&all, never, fs...); err != nil || !slices.Equal(all.Values(), want) {
			t.Errorf("got %v, %v", all.Values(), err)
		}
		all.Values()[0] = "changed"
		if all.Values()[0] != "0" {
			t.Error("the slice is not the caller's own")
		}

		var failed structured.All[int]
		if err := runs(&failed, never, succeed(1), stay, fail(errBoom), stay); err != errBoom || failed.Values() != nil {
			t.Errorf("got %v, %v, want boom", failed.Values(), err)
		}
		var late structured.All[int]
		if err := runs(&late, soon(), succeed(1), stay); !errors.Is(err, context.DeadlineExceeded) || late.Values() != nil {
			t.Errorf("got %v, %v, want a time-out", late.Values(), err)
		}

		mapping := structured.All[int]{Successful: structured.Successful{Map: mapTo}}
		if err := runs(&mapping, never, fail(errBoom)); err != (mappedError{errBoom}) {
			t.Errorf("mapped: got %v", err)
		}
		panicsWith(t, "mapped an error to nil", func() {
			runs(&structured.Successful{Map: func(error) error { return nil }}, never, fail(errBoom))
		})
	})
}

// ST-43
func TestSuccessfulIsThePolicyOfScopesWithoutOne(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, p := range []structured.Policy{nil, new(structured.Successful)} {
			if err := runs[int](p, never); err != nil {
				t.Errorf("%T: without forks: got %v", p, err)
			}
		}
		for range 2 { // a policy is for one scope
			if err := runs(nil, never, succeed(1), succeed(2)); err != nil {
				t.Errorf("got %v", err)
			}
			if err := runs(nil, never, stay, fail(errBoom)); err != errBoom {
				t.Errorf("got %v, want boom", err)
			}
		}
		if err := runs(nil, soon(), stay); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a time-out", err)
		}
		if err := runs(&structured.Successful{Map: mapTo}, past, stay); !errors.As(err, new(mappedError)) {
			t.Errorf("got %v, want a mapped time-out", err)
		}
	})
}

func TestErrorsMayBeJoinedInTheOrderOfTheForks(t *testing.T) {
	both(t, func(t *testing.T) {
		p := &structured.Successful{Joined: true}
		first, third := errors.New("first"), errors.New("third")
		err := runs(p, never, func() (int, error) { vthread.Sleep(3 * time.Millisecond); return 0, first }, succeed(1), fail(third))
		if err == nil || err.Error() != "first\nthird" || !errors.Is(err, first) || !errors.Is(err, third) {
			t.Errorf("got %v", err)
		}
		if err := runs(&structured.Successful{Joined: true}, never, succeed(1)); err != nil {
			t.Errorf("got %v", err)
		}
		if err := runs(&structured.Any[int]{Joined: true}, never, fail(first), fail(third)); err == nil || err.Error() != "first\nthird" {
			t.Errorf("any: got %v", err)
		}
	})
}

// ST-42
func TestAnyThatSucceedsIsEnough(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			fs       []func() (int, error)
			deadline time.Time
			value    int
			is       error
		}{
			"none":            {is: structured.ErrNothingForked},
			"one":             {fs: []func() (int, error){succeed(7)}, value: 7},
			"zero":            {fs: []func() (int, error){succeed(0)}},
			"despite failure": {fs: []func() (int, error){fail(errBoom), succeed(7), stay}, value: 7},
			"all fail":        {fs: []func() (int, error){fail(errBoom), fail(errBoom)}, is: errBoom},
			"too late":        {fs: []func() (int, error){fail(errBoom), stay}, deadline: soon(), is: context.DeadlineExceeded},
		} {
			for _, by := range []func(error) error{nil, mapTo} {
				p := &structured.Any[int]{Map: by}
				err := runs(p, c.deadline, c.fs...)
				if !errors.Is(err, c.is) || p.Value() != c.value {
					t.Errorf("%s: got %v, %v, want %v, %v", name, p.Value(), err, c.value, c.is)
				}
				if by != nil && err != nil && !errors.As(err, new(mappedError)) {
					t.Errorf("%s: got %v, want it mapped", name, err)
				}
			}
		}
	})
}

func TestAwaitAllWaitsForThoseThatFailToo(t *testing.T) {
	both(t, func(t *testing.T) {
		s := opened(t, structured.Options{Policy: structured.AwaitAll{}})
		a := structured.Fork(s, fail(errBoom))
		b := structured.Fork(s, func() (int, error) { vthread.Sleep(2 * time.Millisecond); return 5, nil })
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		if v, err := b.Get(); v != 5 || err != nil || a.Err() != errBoom {
			t.Errorf("got %v, %v and %v", v, err, a.Err())
		}
		closes(t, s)
		if err := runs(structured.AwaitAll{}, soon(), stay); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a time-out", err)
		}
	})
}

func TestUntilCancelsWhenThereIsEnough(t *testing.T) {
	both(t, func(t *testing.T) {
		p := &structured.Until{Enough: func(t structured.Task) bool { return t.State() == structured.Failed }}
		if err := runs(p, never, succeed(1), stay, fail(errBoom)); err != nil {
			t.Error(err)
		}
		var states []structured.State
		for _, task := range p.Tasks() {
			states = append(states, task.State())
		}
		if len(states) != 3 || states[1] != structured.Unavailable || states[2] != structured.Failed {
			t.Errorf("got %v", states)
		}
		all := &structured.Until{Enough: func(structured.Task) bool { return false }}
		if err := runs(all, never, succeed(1), fail(errBoom)); err != nil || len(all.Tasks()) != 2 {
			t.Errorf("got %v, %v", err, all.Tasks())
		}
	})
}

// ST-44
func TestUntilReturnsWhatThereIsWhenTheTimeIsOver(t *testing.T) {
	both(t, func(t *testing.T) {
		p := &structured.Until{Enough: func(structured.Task) bool { return false }}
		if err := runs(p, soon(), succeed(1), stay); err != nil {
			t.Errorf("got %v, want nothing", err)
		}
		if tasks := p.Tasks(); len(tasks) != 2 || tasks[1].State() != structured.Unavailable {
			t.Errorf("got %v, want two, the second of which has no result", tasks)
		}
		r := &recorder{onTimeout: func(error) error { return nil }}
		if err := runs(r, soon(), stay); err != nil || r.results != 1 {
			t.Errorf("got %v, and %d calls of Result, want one", err, r.results)
		}
	})
}

// ST-45
func TestPoliciesRefuseSubtasksInTheWrongState(t *testing.T) {
	s := opened(t, structured.Options{Policy: structured.AwaitAll{}})
	release := make(chan struct{})
	var ended, runs structured.Task = structured.Fork(s, succeed(1)), structured.Fork(s, func() (int, error) { vthread.Recv(release); return 1, nil })
	ended.Thread().Join()
	for _, p := range []structured.Policy{
		new(structured.Successful), new(structured.All[int]), new(structured.Any[int]), structured.AwaitAll{},
		&structured.Until{Enough: func(structured.Task) bool { return true }},
	} {
		panicsWith(t, "of the fork of", func() { p.OnFork(ended) })
		panicsWith(t, "of the end of", func() { p.OnComplete(runs) })
		panicsWith(t, "nil pointer", func() { p.OnFork(nil) })
		panicsWith(t, "nil pointer", func() { p.OnComplete(nil) })
	}
	close(release)
	if err := s.Join(); err != nil {
		t.Error(err)
	}
	closes(t, s)
}

// A dawdler is a policy that is told slowly.
type dawdler struct {
	structured.AwaitAll
	scope  *structured.Scope
	inside chan struct{}
	told   atomic.Bool
}

func (d *dawdler) OnComplete(t structured.Task) bool {
	if t.State() == structured.Failed {
		return true
	}
	close(d.inside)
	for !d.scope.Canceled() {
		runtime.Gosched()
	}
	time.Sleep(3 * time.Millisecond) // in which Join would return
	d.told.Store(true)
	return false
}

func (d *dawdler) Result() error {
	if !d.told.Load() {
		return errors.New("asked before OnComplete has returned")
	}
	return nil
}

func TestThePolicyIsAskedForItsResultWhenItWasToldOfAll(t *testing.T) {
	both(t, func(t *testing.T) {
		p := &dawdler{inside: make(chan struct{})}
		s := opened(t, structured.Options{Policy: p})
		p.scope = s
		structured.Fork(s, succeed(1))
		structured.Fork(s, func() (int, error) { vthread.Recv(p.inside); return 0, errBoom })
		structured.Fork(s, stay)
		if err := s.Join(); err != nil {
			t.Error(err)
		}
		closes(t, s)
	})
}

func TestAPanicReachesTheJoinWhateverThePolicyIs(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, p := range []structured.Policy{
			nil, new(structured.All[int]), new(structured.Any[int]), structured.AwaitAll{}, &structured.Successful{Joined: true},
			&structured.Until{Enough: func(structured.Task) bool { t.Error("called for a panic"); return false }},
		} {
			func() {
				defer func() {
					got, _ := recover().(*structured.Panic)
					if got == nil || got.Value != "boom" || !strings.Contains(string(got.Stack), "guilty") {
						t.Errorf("%T: got %v, want the panic of guilty", p, got)
					}
				}()
				err := structured.Options{Policy: p}.Run(context.Background(), func(s *structured.Scope) error {
					structured.Fork(s, stay)
					structured.Fork(s, func() (int, error) { return 0, guilty() })
					return s.Join()
				})
				t.Errorf("%T: the scope returned %v", p, err)
			}()
		}
	})
}
