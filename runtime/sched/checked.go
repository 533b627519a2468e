//go:build !invariants

package sched

import "github.com/vtscope/vtscope/runtime/flight"

// checked is what a task has for the check of its moves: nothing, see checked_invariants.go.
type checked struct{}

// moved notes that t, which the caller owns, is in state s from now on. Whoever makes a move calls it, after the move if that
// makes it the owner, and before if it gives the task away.
func (t *Task) moved(flight.State) {}
