package sched

import (
	"maps"
	"slices"
	"sync"
)

// WatchStarts notes the tasks that are started from now on, of the whole process, until stop. left returns those of them that have not
// ended, in no order.
func WatchStarts() (left func() []*Task, stop func()) {
	w := &startWatch{tasks: make(map[*Task]struct{})}
	starts.Lock()
	starts.watches = append(starts.watches, w)
	starts.Unlock()
	hooks.n.Add(1)
	left = func() []*Task {
		starts.Lock()
		defer starts.Unlock()
		return slices.Collect(maps.Keys(w.tasks))
	}
	return left, func() {
		hooks.n.Add(-1)
		starts.Lock()
		defer starts.Unlock()
		starts.watches = slices.DeleteFunc(starts.watches, func(v *startWatch) bool { return v == w })
	}
}

// A startWatch holds tasks that were started and have not ended.
type startWatch struct{ tasks map[*Task]struct{} }

var starts struct {
	sync.Mutex
	watches []*startWatch
}

// startSeen is called before t is submitted for the first time.
func startSeen(t *Task) {
	starts.Lock()
	defer starts.Unlock()
	for _, w := range starts.watches {
		w.tasks[t] = struct{}{}
	}
}

// endSeen is called when t has ended, or was refused.
func endSeen(t *Task) {
	starts.Lock()
	defer starts.Unlock()
	for _, w := range starts.watches {
		delete(w.tasks, t)
	}
}
