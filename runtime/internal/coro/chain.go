package coro

import "unsafe"

// Executing returns the routine that a task executes on, the outermost if there are several, or nil if there is none. g is its goroutine as
// [G] names it, if the caller knows it, and else 0: then Executing looks at all routines. Anybody may call it; the answer may be old
// at once.
func Executing(task unsafe.Pointer, g uintptr) *Routine {
	if g != 0 {
		if r := table.find(g); r.executes(task) {
			return r
		}
		return nil
	}
	p := table.entries.Load()
	if p == nil {
		return nil
	}
	for i := range *p {
		if r := (*p)[i].val.Load(); r.executes(task) {
			return r
		}
	}
	return nil
}

// executes reports whether the routine, which may be nil, is the outermost of the task.
//
//go:norace
func (r *Routine) executes(task unsafe.Pointer) bool {
	return r != nil && r.Task == task && r.Inner == nil
}

// Chain returns the routine and those that execute for it, each for the one before, while that one waits for it: nested continuations.
// Anybody may call it; it was so a moment ago.
//
//go:norace
func (r *Routine) Chain() (chain []*Routine) {
	for ; r != nil && len(chain) < 1024; r = r.Down {
		chain = append(chain, r)
	}
	return chain
}

// G returns the goroutine of the routine as the function [G] does, 0 before it has begun. Anybody may call it.
//
//go:norace
func (r *Routine) G() uintptr { return r.g }
