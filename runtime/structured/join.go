package structured

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// Join waits until all threads forked in the scope have ended, or the scope is cancelled: then some may execute for a while, and Close waits for them. A
// thread parks, a goroutine blocks. It returns what the policy says ([Policy]), with these exceptions:
//
//   - If a thread has panicked, Join panics with a [*Panic].
//   - If the scope was cancelled by Cancel, or by the end of the context around, and subtasks have no result for it, it returns the cause.
//   - If the calling thread is interrupted while it waits, or was before, Join clears the interrupt status and returns [vthread.ErrInterrupted]. It may be called
//     again then. An interrupt from before counts also when all threads have ended; the JDK's StructuredTaskScope.join returns normally then and leaves the status set.
//
// It panics when the caller is not the owner, or the scope was joined or closed.
func (s *Scope) Join() error {
	s.check("join")
	if s.joined && !s.again {
		panic(fmt.Sprintf("structured: join of scope %q: it was joined", s.Name()))
	}
	if me := sched.Current(); me != nil && me.TakeInterrupt() { // now: its threads may have ended when the wait looks at it
		s.joined, s.again = true, true
		return vthread.ErrInterrupted
	}
	s.joined, s.again = true, false
	s.flock.Join()
	s.lookAtContext()
	if err := s.flock.Await(sched.Limits{Interrupts: true}, true); err != nil {
		s.again = true
		return err
	}
	s.mu.Lock()
	p, why, cause, missing := s.mu.panic, s.mu.end, s.mu.cause, s.mu.missing
	s.mu.panic, s.mu.told = nil, s.mu.told || p != nil
	s.mu.Unlock()
	switch {
	case p != nil:
		panic(p)
	case why == byTimeout:
		if err := s.policy.OnTimeout(cause); err != nil {
			return err
		}
	case why == byOther && missing:
		return cause
	}
	return s.policy.Result()
}

// Cancel cancels the scope. Its context ends with the cause, which is [context.Canceled] if it is nil. Anybody may call Cancel. It does not
// wait. It does nothing if the scope was cancelled before.
func (s *Scope) Cancel(cause error) {
	sched.Point(sched.OpPoint, 0)
	if cause == nil {
		cause = context.Canceled
	}
	s.end(byOther, cause)
}

// end cancels the scope, unless it was before.
func (s *Scope) end(why end, cause error) {
	m := &s.mu
	m.Lock()
	if m.end != open {
		m.Unlock()
		return
	}
	s.phase.Add(settling) // so that Join finds all done
	phase := s.phase.Or(cancelled)
	m.end, m.cause, m.missing = why, cause, pendingIn(phase) > 0
	m.Unlock()
	if cause == nil {
		cause = context.Canceled
	}
	if why != byClose {
		s.flock.Canceled(why == byTimeout)
	}
	s.cancel(cause)
	sched.Settle()
	s.flock.Interrupt()
	s.settled()
}

// settled ends what publish or end has begun.
func (s *Scope) settled() {
	if phase := s.phase.Add(^uint64(0)); phase&cancelled != 0 && settlingIn(phase) == 0 {
		s.flock.Wake()
	}
}

// lookAtContext cancels the scope if the context around it has ended.
func (s *Scope) lookAtContext() {
	switch s.around.Err() {
	case nil:
	case context.DeadlineExceeded:
		s.end(byTimeout, context.Cause(s.around))
	default:
		s.end(byOther, context.Cause(s.around))
	}
}

// raise cancels the scope for a panic of a thread, which Join or Close will deliver. The thread's handler is still to come.
func (s *Scope) raise(p *Panic, t *vthread.Thread) {
	s.mu.Lock()
	s.mu.raised = append(s.mu.raised, t)
	s.mu.Unlock()
	s.note(p, nil)
	s.end(byPanic, p)
}

// handle is called when a thread has panicked: in its policy, if its panic is not known.
func (s *Scope) handle(t *vthread.Thread, value any, stack []byte) {
	s.mu.Lock()
	at := slices.Index(s.mu.raised, t)
	if at >= 0 {
		s.mu.raised = slices.Delete(s.mu.raised, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		p := &Panic{Thread: t.Label(), Value: value, Stack: stack}
		s.note(p, nil)
		s.end(byPanic, p)
	}
}

// note keeps what the owner is told later: a panic, which is raised if it is the first, and errors that nobody else is told.
func (s *Scope) note(p *Panic, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p == nil:
	case s.mu.panic == nil && !s.mu.told:
		s.mu.panic = p
	default:
		s.mu.late = append(s.mu.late, p)
	}
	if err != nil {
		s.mu.late = append(s.mu.late, err)
	}
}

// Close cancels the scope, waits until all its threads have ended, and closes it, and with it all that its owner has opened since. A panic of a thread that
// no Join has delivered comes out of Close; if there is none, other panics, and whatever nobody was told, are in the error. An interrupt of the calling
// thread does not shorten the wait, and is kept. Closing a closed scope does nothing. It panics when the caller is not the owner.
func (s *Scope) Close() error { return s.close(false) }

// close is Close. An excuse is good for not joining.
func (s *Scope) close(excused bool) error {
	switch {
	case !s.mine():
		s.check("close")
	case s.closed.Load():
		return nil
	}
	inner, left := firstPanic(s.owner.leave(&s.flock.Scope))
	s.end(byClose, nil)
	_ = s.flock.Await(sched.Limits{}, false) // without limits it does not give up
	for _, f := range s.free {
		f()
	}
	s.owner.setInnermost(s.before)
	s.closed.Store(true)
	s.flock.Close()
	s.mu.Lock()
	p, late := s.mu.panic, s.mu.late
	s.mu.panic, s.mu.late = nil, nil
	s.mu.Unlock()
	if p == nil {
		p = inner
	}
	if p != nil {
		panic(p)
	}
	if left != nil {
		late = append(late, left)
	}
	if s.forked && !s.joined && !excused {
		late = append(late, ErrNotJoined)
	}
	if len(late) == 0 {
		return nil
	}
	return fmt.Errorf("structured: close scope %q: %w", s.Name(), errors.Join(late...))
}

// closeCaught is Close that returns a child's panic.
func (s *Scope) closeCaught() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p, ours := v.(*Panic)
			if !ours {
				panic(v)
			}
			err = p
		}
	}()
	return s.Close()
}
