package vttest

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// report tells of the execution that has failed.
func (e *exploration) report(test string) string {
	x := e.failed
	c := newCast(x.names)
	held := c.holds(x.steps)
	var b strings.Builder
	fmt.Fprintf(&b, "vttest: schedule %d of %d failed: %s\n", e.tried, e.plan.schedules, x.why(c))
	if len(x.names) == 0 { // it did not begin
		return strings.TrimSuffix(b.String(), "\n")
	}
	fmt.Fprintf(&b, "vttest: to repeat it: go test -run '%s' -vt.seed=%v\n", pattern(test), x.seed)
	if threads, guilty := x.threads(); len(threads) > 0 {
		if text := c.circleText(circle(threads, held)); text != "" {
			fmt.Fprintf(&b, "vttest: %s\n", text)
		}
		fmt.Fprintf(&b, "vttest: threads:\n")
		for _, w := range threads {
			writeThread(&b, c, held, w, w.Thread == guilty)
		}
	}
	if x.stacks != "" {
		fmt.Fprintf(&b, "vttest: goroutines:\n%s\n", indent(x.stacks))
	}
	fmt.Fprintf(&b, "vttest: schedule:\n%v", x.script())
	return strings.TrimSuffix(b.String(), "\n") + e.warning()
}

// pattern is what -run wants for a test.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// why tells what has failed, in a line, and after a panic its stack.
func (x *execution) why(c *cast) string {
	f := x.failure
	switch {
	case f != nil && f.Kind == sched.Deadlock:
		return fmt.Sprintf("deadlock: all threads wait, and no time will come that they wait for (after %v)", f.At)
	case f != nil && f.Kind == sched.Panicked:
		return fmt.Sprintf("panic in thread %s: %v\n%s", c.thread(f.Thread), f.Value, panicText(f.Stack))
	case f != nil && f.Kind == sched.Endless:
		return fmt.Sprintf("no end: it had more choices than Options.Choices, with %v gone by: the threads may wait for something in a loop", f.At)
	case f != nil && f.Kind == sched.Blocked:
		return x.blocks(c, f.Thread, f.Threads)
	case x.suspect != nil && x.suspect.Thread == 0:
		return "it does not go on: a goroutine that is no thread waits for something outside of the test, or computes"
	case x.suspect != nil && x.suspect.Blocks:
		return x.blocks(c, x.suspect.Thread, x.suspect.Waiting)
	case x.suspect != nil:
		return fmt.Sprintf("thread %s computes, and comes to no point where another could go on", c.thread(x.suspect.Thread))
	case x.left != nil && len(x.names) == 0:
		return fmt.Sprint(x.left)
	case x.left != nil:
		return fmt.Sprintf("goroutines are left that wait: %v", x.left)
	case x.exited:
		return "it has called runtime.Goexit"
	}
	return "see above"
}

// threads are those that had not ended, and which of them blocks in an operation of Go's; 0 for none.
func (x *execution) threads() (all []sched.Waiting, guilty int) {
	switch {
	case x.failure != nil && x.failure.Kind == sched.Blocked:
		return x.failure.Threads, x.failure.Thread
	case x.failure != nil:
		return x.failure.Threads, 0
	case x.suspect != nil && x.suspect.Blocks:
		return x.suspect.Waiting, x.suspect.Thread
	case x.suspect != nil:
		return x.suspect.Waiting, 0
	}
	return nil, 0
}

// panicText is the stack of a panic, in Go's form, without the mechanism.
func panicText(stack []byte) string {
	lines := strings.Split(strings.TrimSpace(string(stack)), "\n")
	var b strings.Builder
	for i := 1; i+1 < len(lines); i += 2 { // a function, and its place
		if !mechanism(lines[i]) && !strings.HasPrefix(lines[i], "created by ") {
			fmt.Fprintf(&b, "    %s\n    %s\n", lines[i], lines[i+1])
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// blocks tells that a thread blocks in an operation of Go's.
func (x *execution) blocks(c *cast, thread int, threads []sched.Waiting) string {
	i := slices.IndexFunc(threads, func(w sched.Waiting) bool { return w.Thread == thread })
	in, where := operation(threads[i].PCs)
	for _, s := range x.steps {
		if p := place(s.PCs); s.Thread == thread && len(threads[i].PCs) == 0 && p != "" {
			where = "a place that cannot be seen, after " + p
		}
	}
	return fmt.Sprintf("thread %s blocks in %s at %s: it holds its carrier, and goes on only if another thread does, or time passes", c.thread(thread), in, where)
}

// operations are names for functions of Go's runtime.
var operations = map[string]string{
	"runtime.chanrecv1": "a channel receive",
	"runtime.chanrecv2": "a channel receive",
	"runtime.chansend1": "a channel send",
	"runtime.selectgo":  "a select statement",
	"runtime.block":     "an empty select statement",
}

// operation tells what a thread with this stack blocks in, and where.
func operation(pcs []uintptr) (in, where string) {
	in, where = "an operation that cannot be seen", unseen
	if len(pcs) == 0 {
		return in, where
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if !low(f.Function) {
			if !mechanism(f.Function) {
				return in, at(f)
			}
			if where == unseen {
				where = at(f)
			}
		} else if name, ok := operations[f.Function]; ok {
			in = name
		} else if !strings.HasPrefix(f.Function, "runtime.") {
			in = f.Function
		}
		if !more {
			return in, where
		}
	}
}

const unseen = "a place that cannot be seen"

// low reports whether a function is of the packages of Go's in which a goroutine waits.
func low(function string) bool {
	for _, prefix := range [...]string{"runtime.", "internal/", "sync.", "syscall.", "time.", "os.", "net.", "io.", "reflect."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// holds tells which locks each thread has after the steps, in the order in which it took them.
func (c *cast) holds(steps []sched.Step) map[int][]flight.Blocker {
	held := make(map[int][]flight.Blocker)
	for _, s := range steps {
		c.does(s) // so that names are those of the script
		switch s.Op {
		case sched.OpLocked:
			held[s.Thread] = append(held[s.Thread], s.On)
		case sched.OpUnlocked:
			for n, locks := range held {
				for i, l := range locks {
					if l == s.On {
						held[n] = append(locks[:i:i], locks[i+1:]...)
						break
					}
				}
			}
		}
	}
	return held
}

func writeThread(b *strings.Builder, c *cast, held map[int][]flight.Blocker, w sched.Waiting, blocks bool) {
	fmt.Fprintf(b, "    %s: ", c.thread(w.Thread))
	switch {
	case blocks:
		in, _ := operation(w.PCs)
		b.WriteString("blocks in " + in)
	case w.Pause.Reason == flight.ReasonNone:
		b.WriteString(w.State.String())
	default:
		b.WriteString(c.pause(w.Pause, w.Other))
	}
	for n, locks := range held {
		if w.Pause.Blocker != 0 && slices.Contains(locks, w.Pause.Blocker) {
			fmt.Fprintf(b, ", held by #%d", n)
		}
	}
	for i, l := range held[w.Thread] {
		fmt.Fprintf(b, "%s%s", [...]string{"; holds ", ", "}[min(i, 1)], c.object(l))
	}
	b.WriteByte('\n')
	if stack := stackText(w.PCs); stack != "" {
		b.WriteString(indent(stack) + "\n")
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ")
}
