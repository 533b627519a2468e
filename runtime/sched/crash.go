package sched

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

// Crash ends the program for a panic of a thread that nobody handles, as a panic of a goroutine does. It is
// called on the thread, in a deferred call, while the guilty frames stand; they stay, for the core dump: the
// calling goroutine blocks, and the panic is repeated on a fresh one. (Passing it on to the carrier, as
// iter.Pull would, loses them.)
func Crash(t *Task, value any) {
	// As the runtime prints it, but for the goroutine's number: a thread has one of its own.
	stack := string(panicstack.Of())
	if _, frames, ok := strings.Cut(stack, "\n"); ok {
		stack = frames
	}
	// Its end is the last event of the thread. The table keeps the thread, so that readers see which it was.
	flight.Default().Panicked(t.rec)
	t.emit(flight.Now(), flight.EventThreadEnd, flight.ReasonPanic, 0, t.id, 0)
	fmt.Fprintf(os.Stderr, "panic: %s\n\nthread %s [running]:\n%s\n", printed(value), t.label(), stack)
	go func() { panic(value) }()
	select {}
}

// printed is a panic's value as the runtime prints it, nearly.
func printed(v any) string {
	switch v := v.(type) {
	case runtime.Error:
		return v.Error()
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	}
	return fmt.Sprintf("%v", v)
}

// label names the thread in a crash: its body's String if it has one, or its id.
func (t *Task) label() string {
	if s, ok := t.body.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("#%d", t.id)
}
