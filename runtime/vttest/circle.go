package vttest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A link is a thread of a circle: it has, or is, what the one before it wants.
type link struct {
	thread      int
	keeps, want flight.Blocker // keeps 0: the thread itself
}

// circle returns threads that wait for each other, each for what the next one has or is, and the last for the first; nil if there are none.
func circle(threads []sched.Waiting, held map[int][]flight.Blocker) []link {
	waiting := map[int]sched.Waiting{}
	for _, w := range threads {
		waiting[w.Thread] = w
	}
	keepers := func(w sched.Waiting) (all []int) {
		b := w.Pause.Blocker
		if b.Kind() == flight.BlockedByThread && w.Other > 0 {
			return []int{w.Other}
		}
		for n, locks := range held {
			if b != 0 && slices.Contains(locks, b) {
				all = append(all, n)
			}
		}
		slices.Sort(all)
		return all
	}
	var path []link
	done := map[int]bool{}
	var follow func(n int, keeps flight.Blocker) []link
	follow = func(n int, keeps flight.Blocker) []link {
		w, ok := waiting[n]
		if !ok || done[n] {
			return nil
		}
		if from := slices.IndexFunc(path, func(l link) bool { return l.thread == n }); from >= 0 {
			path[from].keeps = keeps
			return slices.Clone(path[from:])
		}
		path = append(path, link{n, keeps, w.Pause.Blocker})
		next := w.Pause.Blocker
		if next.Kind() == flight.BlockedByThread {
			next = 0
		}
		for _, k := range keepers(w) {
			if found := follow(k, next); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		done[n] = true
		return nil
	}
	for _, w := range threads {
		if found := follow(w.Thread, 0); found != nil {
			return found
		}
	}
	return nil
}

// circleText writes who waits for whom as vtdump waits does, "" for no circle.
func (c *cast) circleText(links []link) string {
	if len(links) == 0 {
		return ""
	}
	var b strings.Builder
	if len(links) == 1 {
		b.WriteString("1 thread waits for itself")
	} else {
		fmt.Fprintf(&b, "%d threads wait for each other", len(links))
	}
	for i, l := range links {
		next := links[(i+1)%len(links)]
		fmt.Fprintf(&b, "%s %s ", [...]string{":", ";"}[min(i, 1)], c.thread(l.thread))
		if l.keeps != 0 {
			fmt.Fprintf(&b, "holds %s, ", c.object(l.keeps))
		}
		if l.want.Kind() == flight.BlockedByThread {
			fmt.Fprintf(&b, "wants the end of %s", c.thread(next.thread))
		} else {
			fmt.Fprintf(&b, "wants %s", c.object(l.want))
		}
	}
	return b.String()
}
