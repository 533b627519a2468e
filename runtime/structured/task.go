package structured

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/internal/panicstack"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A State tells whether a subtask has ended, and how. It moves once at most.
type State uint32

// The states of subtasks.
const (
	Unavailable State = iota // not ended, or its scope was cancelled before
	Succeeded                // with a value
	Failed                   // with an error
)

// String returns "unavailable", "succeeded" or "failed".
func (s State) String() string {
	switch s {
	case Unavailable:
		return "unavailable"
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// A Task is a [Subtask] of whatever type, as policies see it.
type Task interface {
	// State returns how far the subtask is.
	State() State
	// Err returns the error of a failed subtask, nil for one that has succeeded, and an error that is [ErrUnavailable] as long as there is no result.
	Err() error
	// Thread returns the thread that executes the subtask, or nil if none was made.
	Thread() *vthread.Thread
	// String returns the thread's label, and the state.
	String() string
}

// A Subtask is what [Fork] has forked: the value that a function returns, or the error instead of it. Its methods may be called from anywhere, and do not
// block. The owner of the scope has no results before it has joined the scope.
type Subtask[T any] struct {
	task
	f     func() (T, error)
	value T // written before the state is Succeeded, and read after it
}

// Get returns the value of a subtask that has succeeded, or the error of one that has failed. The error is [ErrUnavailable] if it is neither, or the caller owns the
// scope and has not joined it.
func (t *Subtask[T]) Get() (value T, err error) {
	if err = t.Err(); err == nil {
		value = t.value
	}
	return value, err
}

func (t *Subtask[T]) call() error {
	value, err := t.f()
	if err == nil {
		t.value = value
	}
	return err
}

// An action is what a forked thread without a result does.
type action struct {
	task
	f func() error
}

func (a *action) call() error { return a.f() }

// A task is what all subtasks have. Its scope decides what becomes of it.
type task struct {
	member flock.Member
	scope  *Scope
	whole  interface { // it is part of
		Task
		call() error
	}
	state atomic.Uint32 // a State; stored once, while the task settles
	err   error         // written before the state leaves Unavailable, and read after it
}

func (t *task) State() State { return State(t.state.Load()) }

func (t *task) Thread() *vthread.Thread { return t.member.Thread() }

func (t *task) Err() error {
	switch s := t.State(); {
	case s != Unavailable && !t.scope.hides():
		return t.err
	case s != Unavailable:
		return fmt.Errorf("structured: scope %q: not joined: %w", t.scope.Name(), ErrUnavailable)
	}
	return fmt.Errorf("structured: scope %q: %w", t.scope.Name(), ErrUnavailable)
}

func (t *task) String() string {
	if thread := t.Thread(); thread != nil {
		return fmt.Sprintf("subtask %s of scope %q, %s", thread.Label(), t.scope.Name(), t.State())
	}
	return fmt.Sprintf("subtask without a thread of scope %q, %s", t.scope.Name(), t.State())
}

// A job is a task as package flock knows it. What it does is nobody else's to call.
type job task

func (j *job) Run() { (*task)(j).run() }

// Refused ends a subtask that was queued, and that the scheduler does not take.
func (j *job) Refused(err error) { (*task)(j).settle(err) }

// run is the subtask, on its thread.
func (t *task) run() {
	s := t.scope
	var err error
	returned := false
	defer func() {
		var v any
		if !returned {
			v = recover() // the guilty frames stand until this function returns
			err = ErrGoexit
		}
		p, left := firstPanic(CloseLeft())
		switch {
		case v != nil:
			s.note(p, left)
		case p != nil:
			v = p
			s.note(nil, left)
		case left != nil:
			err = errors.Join(err, fmt.Errorf("structured: thread %s has ended: %w", t.Thread().Label(), left))
		}
		if v != nil {
			t.panicked(v, panicstack.Of())
			panic(v) // for the thread's handler: the thread has panicked
		}
		t.settle(err)
	}()
	err = t.whole.call()
	returned = true
}

// settle makes the result available and tells the policy, unless the scope was cancelled before.
func (t *task) settle(err error) {
	s := t.scope
	if err != nil {
		s.lookAtContext() // which may be why: then the scope is cancelled, whoever is told first
	}
	if !t.publish(err) {
		return
	}
	defer s.settled()
	if s.policy.OnComplete(t.whole) {
		s.end(byPolicy, err)
	}
}

// publish stores the result, unless the scope was cancelled before. Then Join waits until [Scope.settled] is called.
func (t *task) publish(err error) bool {
	if !t.scope.advance(settling - pending) {
		return false
	}
	t.err = err
	if err != nil {
		t.state.Store(uint32(Failed))
	} else {
		t.state.Store(uint32(Succeeded))
	}
	return true
}

func (t *task) panicked(value any, stack []byte) {
	s, thread := t.scope, t.Thread()
	p := &Panic{Thread: thread.Label(), Value: value, Stack: stack}
	if t.publish(p) {
		defer s.settled()
	}
	s.raise(p, thread)
}
