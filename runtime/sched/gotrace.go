package sched

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strconv"

	"github.com/vtscope/vtscope/runtime/flight"
)

// The profiler labels that tell what Go's trace calls a thread. Package vthread sets them.
const (
	LabelThread = "vtscope.thread" // its name
	LabelScope  = "vtscope.scope"  // the name of its scope
)

// A traced is a thread in Go's own trace (runtime/trace): a task from its first mount under tracing to its end, a region for its body, and
// within that one for each wait. The slices are what is left of the body.
//
//	G1  Regions of a goroutine nest, or nobody can read the trace: a region that ends must be the innermost that is open. User code opens regions
//	    of its own, and parks within them. So there is no region from mount to park: it would end inside theirs. Between the ends of
//	    a wait no user code executes on the goroutine.
//	G2  For the same reason there is none for the rest of a body that began before the trace.
//	G3  Only the thread uses it, on the goroutine that it executes on.
type traced struct {
	ctx  context.Context // has the task
	task *trace.Task
	body *trace.Region // nil: the body began before the trace
	wait *trace.Region // nil: it does not wait
}

// traceBody tells that t, which is mounted for the first time, begins its body, if somebody traces.
func (t *Task) traceBody() {
	if trace.IsEnabled() {
		in := t.tracedNow()
		in.body = trace.StartRegion(in.ctx, "body")
	}
}

// tracedNow returns what t is in the trace that is being made.
func (t *Task) tracedNow() *traced {
	if t.traced == nil {
		labels := t.body.Labels().Base()
		kind := "thread"
		if scope, in := pprof.Label(labels, LabelScope); in {
			kind += " in " + scope
		}
		ctx, task := trace.NewTask(context.Background(), kind)
		t.traced = &traced{ctx: ctx, task: task}
		who := "#" + strconv.FormatUint(uint64(t.id), 10)
		if name, named := pprof.Label(labels, LabelThread); named {
			who = name + " " + who
		}
		trace.Log(ctx, "thread", who)
	}
	return t.traced
}

// traceWait tells that t is about to wait, shown as s. Callers have asked [trace.IsEnabled], which is all that a switch costs while nobody traces.
func (t *Task) traceWait(s flight.State) {
	in := t.tracedNow()
	in.wait = trace.StartRegion(in.ctx, s.String())
}

// arrived tells that t goes on, on the goroutine on which it began to wait; it may be nil.
func (in *traced) arrived() {
	if in.wait != nil {
		in.wait.End()
		in.wait = nil
	}
}

// over tells that the body has ended.
func (in *traced) over() {
	if in.body != nil {
		in.body.End()
	}
	in.task.End()
}

// departsAs is what a thread is shown as that leaves with then.
func (then departure) shownAs() flight.State {
	if then == toQueue {
		return flight.StateRunnable
	}
	return shownAs(uint32(then &^ timed))
}
