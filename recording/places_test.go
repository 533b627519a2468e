package recording_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A placer asks where threads are, and of nothing else; or says so and is told of all with another beside it.
type placer struct {
	only bool

	mu     sync.Mutex
	places map[flight.ThreadID]string // names of scopes
	more   bool                       // more was told: a slot, a state or a change
	resets int
}

func (p *placer) PlacesOnly() bool { return p.only }
func (p *placer) Lost(uint64)      {}

func (p *placer) Reset(t *recording.Tracker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resets++
	p.more = p.more || t.Slots() > 0
}

func (p *placer) Event(_ *recording.Event, c recording.Change, _ *recording.Tracker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = p.more || c.Thread != nil
}

func (p *placer) Flush(t *recording.Tracker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places = map[flight.ThreadID]string{}
	n := 0
	t.Threads(func(th *recording.Thread) bool {
		n++
		if of := t.Thread(th.ID); of == nil || of.Scope != th.Scope || of.ID != th.ID {
			panic("two answers about one thread")
		}
		if sc := t.Scope(th.Scope); sc != nil {
			p.places[th.ID] = sc.Name
		}
		return true
	})
	if n != t.Len() {
		panic("threads that are not counted")
	}
}

func (p *placer) of(id flight.ThreadID) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.places[id]
	return name, ok
}

// waitsIn runs a scope with a thread that waits, until the returned function is called.
func waitsIn(t *testing.T, name string) (id flight.ThreadID, end func()) {
	t.Helper()
	begun, done := make(chan *vthread.Thread, 1), make(chan struct{})
	go func() {
		defer close(done)
		_ = structured.Run(context.Background(), name, func(s *structured.Scope) error {
			s.Fork(func() error {
				begun <- vthread.Current()
				vthread.Park()
				return nil
			})
			return s.Join()
		})
	}()
	th := <-begun
	end = sync.OnceFunc(func() {
		if err := th.Unpark(); err != nil {
			t.Error(err)
		}
		<-done
	})
	t.Cleanup(end)
	return th.ID(), end
}

// Who asks for no more is told where threads are, of those before and after it began, until they end, and nothing more.
func TestPlacesAloneAreFollowedWhereNobodyAsksForMore(t *testing.T) {
	r := ours(t)
	old, endOld := waitsIn(t, "before")
	p := &placer{only: true}
	live, err := recording.NewLive(r, recording.LiveOptions{Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- recording.Observe(ctx, live, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	await := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.mu.Lock()
				defer p.mu.Unlock()
				t.Fatalf("%s: not so; %d places: %v", what, len(p.places), maps.Values(p.places))
			}
		}
	}
	in := func(id flight.ThreadID, want string) func() bool {
		return func() bool { name, ok := p.of(id); return ok && name == want }
	}
	gone := func(id flight.ThreadID) func() bool { return func() bool { _, ok := p.of(id); return !ok } }
	await("the thread of before is in its scope", in(old, "before"))
	young, endYoung := waitsIn(t, "after")
	await("a new thread is in its scope", in(young, "after"))
	endOld()
	await("the thread of before has ended", gone(old))
	await("the other is there yet", in(young, "after"))
	endYoung()
	await("the new thread has ended", gone(young))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.more || p.resets == 0 {
		t.Errorf("told of slots or changes: %v; %d states, want no more than places, and at least one", p.more, p.resets)
	}
}

// One observer that asks for more is enough for all to be told.
func TestAnObserverThatAsksForMoreIsToldOfThreads(t *testing.T) {
	r := ours(t)
	id, _ := waitsIn(t, "asked")
	p, k := &placer{only: true}, &placer{}
	live, err := recording.NewLive(r, recording.LiveOptions{Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- recording.Observe(ctx, live, p, k) }()
	t.Cleanup(func() { cancel(); <-done })
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		name, _ := p.of(id)
		p.mu.Lock()
		more := p.more
		p.mu.Unlock()
		if name == "asked" && more {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the thread is in scope %q, told of slots: %v", name, more)
		}
	}
}
