package vthread

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"
)

// A thread's context answers as one does that package context has made of the same parent at the thread's start,
// whatever happens before anybody asks.
func TestContextsOfThreadsAreLikeThoseOfPackageContext(t *testing.T) {
	type key string
	why := errors.New("why")
	type pair struct {
		parent  context.Context
		end     context.CancelCauseFunc
		thread  *threadContext
		model   context.Context
		cancel  context.CancelCauseFunc
		derived [2][]context.Context
	}
	steps := map[string]func(p *pair){
		"the parent ends":           func(p *pair) { p.end(why) },
		"the thread ends":           func(p *pair) { p.thread.end(); p.cancel(nil) },
		"the thread is interrupted": func(p *pair) { p.thread.interrupt(); p.cancel(ErrInterrupted) },
		"somebody waits":            func(p *pair) { p.thread.Done(); p.model.Done() },
		"somebody derives another": func(p *pair) {
			for i, from := range []context.Context{p.thread, p.model} {
				child, cancel := context.WithCancel(from)
				t.Cleanup(cancel)
				p.derived[i] = append(p.derived[i], child, context.WithValue(from, key("c"), "3"))
			}
		},
	}
	says := func(c context.Context) string {
		ended := false
		if c.Err() != nil {
			<-c.Done()
			ended = true
		} else {
			select {
			case <-c.Done():
				ended = true
			default:
			}
		}
		deadline, timed := c.Deadline()
		return fmt.Sprint(ended, c.Err(), context.Cause(c), c.Err(), deadline, timed, c.Value(key("a")), c.Value(key("c")))
	}
	names := slices.Sorted(maps.Keys(steps))
	var try func(done []string)
	try = func(done []string) {
		for _, timed := range []bool{false, true} {
			var p pair
			base := context.WithValue(t.Context(), key("a"), "1")
			if timed {
				var stop func()
				base, stop = context.WithTimeout(base, time.Hour)
				defer stop()
			}
			p.parent, p.end = context.WithCancelCause(base)
			p.thread = &threadContext{parent: p.parent}
			p.model, p.cancel = context.WithCancelCause(p.parent)
			for _, name := range done {
				steps[name](&p)
			}
			if got, want := says(p.thread), says(p.model); got != want {
				t.Errorf("after %q:\ngot  %s\nwant %s", done, got, want)
			}
			for i := range p.derived[0] {
				if got, want := says(p.derived[0][i]), says(p.derived[1][i]); got != want {
					t.Errorf("after %q a derived context:\ngot  %s\nwant %s", done, got, want)
				}
			}
			p.cancel(nil)
			p.end(nil)
		}
		if len(done) < 4 {
			for _, name := range names {
				try(append(slices.Clone(done), name))
			}
		}
	}
	before := runtime.NumGoroutine()
	try(nil)
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines wait for parents", after-before)
	}
}

// A waitedFor counts who waits for its end.
type waitedFor struct {
	context.Context
	waits int
}

func (c *waitedFor) Done() <-chan struct{} {
	c.waits++
	return c.Context.Done()
}

func TestContextsOfThreadsThatNobodyWaitsForWaitForNobody(t *testing.T) {
	background, end := context.WithCancel(t.Context())
	defer end()
	parent := &waitedFor{Context: background}
	Builder{Context: parent, InterruptOnDone: true}.Run(func() {
		ctx := Current().Context()
		if ctx.Err() != nil || ctx.Value(parent) != nil {
			t.Error("the context has ended, or has a value")
		}
	})
	if parent.waits != 0 {
		t.Errorf("%d waits for the parent", parent.waits)
	}
}

func TestAContextThatIsMadeAnswersWithoutMemory(t *testing.T) {
	Builder{Context: t.Context()}.Run(func() {
		ctx := Current().Context()
		_ = ctx.Done() // makes it
		if n := testing.AllocsPerRun(100, func() { _, _ = ctx.Done(), ctx.Value(t) }); n != 0 {
			t.Errorf("%v objects for two questions", n)
		}
	})
}
