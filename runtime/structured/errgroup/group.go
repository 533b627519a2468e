package errgroup

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A Group is a number of functions that execute on threads, and that somebody waits for. Its zero value is ready for use: it has no limit, and no context to
// cancel. It may be used again after Wait. It must not be copied.
type Group struct {
	// Name is the name of the group's scope in dumps. Empty means "errgroup". It must not be changed once Go was called.
	Name string

	ctx    context.Context // around; nil: none
	cancel context.CancelCauseFunc

	mu struct {
		sync.Mutex
		scope *lease // while there are threads, or nobody has waited for them
		limit *limit // nil: none
		err   error  // the first
		panic *structured.Panic
	}
}

// A limit is what one call of SetLimit sets. A function counts against the limit that let it in, so functions that were let in without one
// count against none.
type limit struct {
	most     int
	active   int // functions that were let in and have not ended
	sleepers []*sleeper
}

// A sleeper is a caller of Go that the limit does not let in yet.
//
//	E1  The caller that lets a function in reserves a place for its thread in the scope ([flock.Flock.Reserve]). So the scope is live while a
//	    function of the group was let in and has not ended, and Wait, which awaits the scope, parks all that time.
type sleeper struct {
	waiter *sched.Waiter
	under  *limit       // that has let it in; nil: none
	in     *flock.Flock // where a place is reserved; both are written before it is woken
}

// A lease is a flock that is closed also if nobody waits for the group. Only the group knows it.
type lease struct {
	flock   *flock.Flock
	cleanup runtime.Cleanup
}

// WithContext returns a group, and a context that is derived from ctx: it ends when a function of the group fails for the first time, with the error as its
// cause, or when Wait returns for the first time.
func WithContext(ctx context.Context) (*Group, context.Context) {
	inner, cancel := context.WithCancelCause(ctx)
	return &Group{ctx: inner, cancel: cancel}, inner
}

// Go calls f on a thread of the group. It blocks while as many functions execute as the limit allows. It does not look at the context: f is called in any case.
func (g *Group) Go(f func() error) {
	g.mu.Lock()
	in, under := g.leaseLocked().flock, g.mu.limit
	if under.enter() {
		in.Reserve()
		g.mu.Unlock()
	} else {
		s := &sleeper{waiter: sched.NewWaiter(sched.Current())}
		under.sleepers = append(under.sleepers, s)
		g.mu.Unlock()
		s.waiter.Wait(sched.Pause{State: flight.StateWaiting, Reason: flight.ReasonCondition, Blocker: flight.BlockScope(in.ID())})
		in, under = s.in, s.under
	}
	g.start(in, under, f)
}

// TryGo is [Group.Go] that does not block: if the limit does not allow f to be called now, it returns false.
func (g *Group) TryGo(f func() error) bool {
	g.mu.Lock()
	under := g.mu.limit
	if !under.enter() {
		g.mu.Unlock()
		return false
	}
	in := g.leaseLocked().flock
	in.Reserve()
	g.mu.Unlock()
	g.start(in, under, f)
	return true
}

// SetLimit sets how many functions may execute at a time: with 0 none, with a negative number any. Functions that were let in while there was
// no limit do not count. SetLimit lets in the callers of Go that the new limit allows. It panics if n is not negative while a function
// executes that counts against the limit before.
func (g *Group) SetLimit(n int) {
	g.mu.Lock()
	before := g.mu.limit
	if n >= 0 && before != nil && before.active > 0 {
		active := before.active
		g.mu.Unlock()
		panic(fmt.Errorf("errgroup: modify limit while %d threads in the group are still active", active))
	}
	g.mu.limit = nil
	if n >= 0 {
		g.mu.limit = &limit{most: n}
	}
	var admitted []*sleeper
	if before != nil {
		waiting := before.sleepers
		before.sleepers = nil
		for len(waiting) > 0 && g.mu.limit.enter() {
			g.admitLocked(waiting[0], g.mu.limit)
			admitted = append(admitted, waiting[0])
			waiting = waiting[1:]
		}
		if len(waiting) > 0 {
			g.mu.limit.sleepers = waiting
		}
	}
	g.mu.Unlock()
	for _, s := range admitted {
		s.waiter.Wake()
	}
}

// Wait waits until all functions have returned, and returns the first error that is not nil. If a function has panicked, Wait panics with a
// [*structured.Panic]. An interrupt of the calling thread does not shorten it, and is kept.
func (g *Group) Wait() error {
	for {
		g.mu.Lock()
		l := g.mu.scope
		if l == nil || g.endLocked(l) {
			break
		}
		g.mu.Unlock()
		l.flock.Join()
		_ = l.flock.Await(sched.Limits{}, false) // without limits it does not give up
		sched.Point(sched.OpPoint, 0)
	}
	err, p := g.mu.err, g.mu.panic
	g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(err)
	}
	if p != nil {
		panic(p)
	}
	return err
}

// endLocked closes the scope, unless there are threads.
func (g *Group) endLocked(l *lease) bool {
	if live, _ := l.flock.Count(); live > 0 { // E1
		return false
	}
	l.cleanup.Stop()
	l.flock.Close()
	g.mu.scope = nil
	return true
}

// enter reports whether one more function may execute, and counts it. The caller holds the group's lock.
func (l *limit) enter() bool {
	if l == nil {
		return true
	}
	if l.active >= l.most {
		return false
	}
	l.active++
	return true
}

// leave ends a function that counts against l, and lets in the caller of Go that has waited longest.
func (g *Group) leave(l *limit) {
	if l == nil {
		return
	}
	g.mu.Lock()
	var next *sleeper
	if len(l.sleepers) > 0 {
		next = l.sleepers[0]
		l.sleepers[0] = nil // else the array keeps it
		l.sleepers = l.sleepers[1:]
		g.admitLocked(next, l)
	} else {
		l.active--
	}
	g.mu.Unlock()
	if next != nil {
		next.waiter.Wake()
	}
}

// admitLocked lets s in under l, which counts it already. The caller wakes it.
func (g *Group) admitLocked(s *sleeper, l *limit) {
	s.under, s.in = l, g.leaseLocked().flock
	s.in.Reserve() // E1
}

// leaseLocked returns the group's scope, and opens it if there is none. It is in that of the caller, or in that of the group's context.
func (g *Group) leaseLocked() *lease {
	if g.mu.scope != nil {
		return g.mu.scope
	}
	o := flock.Options{Name: cmp.Or(g.Name, "errgroup")}
	if me := vthread.Current(); me != nil {
		o.Owner = me.ID()
		if o.Parent = me.Innermost(); o.Parent == nil {
			o.Parent = me.Scope()
		}
	}
	if o.Parent == nil && g.ctx != nil {
		o.Parent = flock.Of(g.ctx)
	}
	ctx := g.ctx
	if ctx == nil && o.Parent != nil {
		ctx = o.Parent.Context // so that the threads are told when the scope around is cancelled
	}
	f := new(flock.Flock)
	f.Scope.Owner, f.Scope.Panicked, f.Scope.Context = f, g.panicked, ctx
	f.Open(o)
	f.Tell(g.ctx)
	g.mu.scope = &lease{flock: f}
	g.mu.scope.cleanup = runtime.AddCleanup(g.mu.scope, flock.Record.Close, f.Record())
	return g.mu.scope
}

// start starts a thread for f, which under has let in, and for which a place is reserved in the scope.
func (g *Group) start(in *flock.Flock, under *limit, f func() error) {
	c := &call{group: g, under: under, f: f}
	if err := in.Start(&c.member, c, vthread.Builder{}, false); err != nil {
		c.Refused(err)
	}
	in.Release()
}

// A call is a function of a group.
type call struct {
	member flock.Member
	group  *Group
	under  *limit
	f      func() error
}

// Run is the call, on its thread.
func (c *call) Run() {
	err := structured.ErrGoexit
	defer c.group.leave(c.under)
	defer func() {
		v := recover() // the guilty frames stand until this function returns
		for _, left := range structured.CloseLeft() {
			p, panicked := left.(*structured.Panic)
			switch {
			case panicked && v == nil:
				v = p
			case err == nil:
				err = fmt.Errorf("errgroup: thread %s has ended: %w", c.member.Thread().Label(), left)
			}
		}
		if v != nil {
			panic(v) // for the thread's handler
		}
		c.group.fail(err)
	}()
	err = c.f()
}

// Refused tells that the scheduler does not take the call.
func (c *call) Refused(err error) {
	c.group.fail(err)
	c.group.leave(c.under)
}

func (g *Group) fail(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	first := g.mu.err == nil
	if first {
		g.mu.err = err
	}
	g.mu.Unlock()
	if first && g.cancel != nil {
		g.cancel(err)
	}
}

// panicked is called while the thread's frames stand.
func (g *Group) panicked(t *vthread.Thread, value any, stack []byte) {
	p := &structured.Panic{Thread: t.Label(), Value: value, Stack: stack}
	g.mu.Lock()
	if g.mu.panic == nil {
		g.mu.panic = p
	}
	g.mu.Unlock()
	g.fail(p)
}
