package coro

import "unsafe"

// Tasks returns what the routines execute at the moment, each once. A task that has not begun, and one that has ended, has no routine. Anybody may call
// it; the answer may be old at once.
func Tasks() (all []unsafe.Pointer) {
	p := table.entries.Load()
	if p == nil {
		return nil
	}
	seen := make(map[unsafe.Pointer]bool)
	for i := range *p {
		if task := (*p)[i].val.Load().task(); task != nil && !seen[task] {
			seen[task] = true
			all = append(all, task)
		}
	}
	return all
}

//go:norace
func (r *Routine) task() unsafe.Pointer {
	if r == nil {
		return nil
	}
	return r.Task
}
