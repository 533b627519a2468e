//go:build invariants

package sched

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
)

// checked is what a task has for the check of its moves.
type checked struct{ state atomic.Uint32 }

// moved checks that t, which the caller owns, may go from its state to s by the table [flight.States]: a move that is not
// in it, or two owners at a time, end the program.
func (t *Task) moved(s flight.State) {
	was := flight.State(t.checked.state.Swap(uint32(s)))
	if !slices.Contains(flight.States[was].Next, s) {
		panic(fmt.Sprintf("sched: thread %s: illegal move %s -> %s", t.label(), was, s))
	}
}
