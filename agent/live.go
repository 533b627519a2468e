package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vtscope/vtscope/dump"
	procmem "github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A live is the threads of a process: what its flight file tells, and once there were threads on
// goroutines, what those wait for in operations of Go's own, which is in the memory of the process. It
// is for one goroutine at a time, but its Reader for any number.
type live struct {
	*flight.Reader
	goroutines *atomic.Bool    // there were such threads, for all who read the process
	memory     *procmem.Source // nil: not opened
	blind      error           // why it cannot be
}

// FlightReader returns the reader of the flight file.
func (l *live) FlightReader() *flight.Reader { return l.Reader }

// Threads is that of the reader, with what is in memory.
func (l *live) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	alive := l.Process().Status.Live()
	if alive && l.goroutines.Load() && l.memory == nil && l.blind == nil {
		l.memory, l.blind = procmem.Beside(l.Reader)
	}
	threads := l.Reader.Threads
	if alive && l.memory != nil {
		threads = l.memory.Threads
	}
	n := 0
	torn, err = threads(ctx, func(rows []flight.ThreadRow) {
		n += onGoroutines(rows)
		visit(rows)
	})
	if n == 0 {
		return torn, err
	}
	l.goroutines.Store(true)
	if !alive || l.blind == nil || err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return torn, err
	}
	why := fmt.Sprintf("%s on goroutines may wait in Go, though shown as mounted: %v", dump.Count(n, "thread"), l.blind)
	if err != nil {
		return torn, fmt.Errorf("%w; %s", err, why)
	}
	return torn, fmt.Errorf("%w: %s", flight.ErrIncomplete, why)
}

// onGoroutines counts the threads on goroutines that are shown as mounted.
func onGoroutines(rows []flight.ThreadRow) (n int) {
	for i := range rows {
		if rows[i].OnGoroutine() {
			n++
		}
	}
	return n
}

// Stack returns a stack, from memory or recorded.
func (l *live) Stack(id flight.StackID) (flight.Stack, error) {
	if l.memory != nil {
		return l.memory.Stack(id)
	}
	return l.Reader.Stack(id)
}

// Close closes the reader, too.
func (l *live) Close() error {
	if l.memory != nil {
		return l.memory.Close()
	}
	return l.Reader.Close()
}
