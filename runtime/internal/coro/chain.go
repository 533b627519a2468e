package coro

import "unsafe"

// Executing returns the routine that a task executes on, the outermost if there are several, or nil if there is none. g is its goroutine as
// [G] names it, if the caller knows it, and else 0: then Executing looks at all routines. Anybody may call it; the answer may be old
// at once.
func Executing(task unsafe.Pointer, g uintptr) *Routine {
	if g != 0 {
		return tableOf(g).find(g).executing(task)
	}
	for i := range tables {
		p := tables[i].entries.Load()
		if p == nil {
			continue
		}
		for i := range *p {
			if r := (*p)[i].val.Load().executing(task); r != nil {
				return r
			}
		}
	}
	return nil
}

// executing returns the routine of the task among r, which may be nil, and those that are hidden by it.
//
//go:norace
func (r *Routine) executing(task unsafe.Pointer) *Routine {
	for range maxChain {
		if r == nil || r.executes(task) {
			return r
		}
		r = r.Outer
	}
	return nil
}

// maxChain bounds walks along links that others may change meanwhile.
const maxChain = 1024

// Above returns how many routines hide this one on its goroutine. Anybody may call it; it was so a moment ago.
//
//go:norace
func (r *Routine) Above() (n int) {
	for top := tableOf(r.g).find(r.g); top != nil && top != r && n < maxChain; n++ {
		top = top.Outer
	}
	return n
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
	for ; r != nil && len(chain) < maxChain; r = r.Down {
		chain = append(chain, r)
	}
	return chain
}

// G returns the goroutine of the routine as the function [G] does, 0 before it has begun. Anybody may call it.
//
//go:norace
func (r *Routine) G() uintptr { return r.g }
