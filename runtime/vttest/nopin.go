package vttest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// NoPin fails t if a thread pins from now on until t has ended: if it blocks and holds its carrier, because it is in a pin section, is locked to an OS thread,
// or waits in an operation of Go's (a channel, a sync.Mutex, a system call). It tells the place of each. Places are allowed in whose stack a function's full
// name, with its package's path, begins with one of allow: "database/sql." or "example.com/shop/stock.(*Store).flush".
//
// A park while pinned is always seen. An operation of Go's is seen if it lasts for longer than about two milliseconds, on the carriers of a
// [sched.ForkJoin]. All threads of the process count: a test that runs beside others has their pins, too.
func NoPin(t testing.TB, allow ...string) {
	t.Helper()
	n := &noPin{allow: allow}
	stop := sched.WatchPins(n.see)
	t.Cleanup(func() {
		stop()
		for _, line := range n.lines() {
			t.Error(line)
		}
	})
}

type noPin struct {
	allow []string
	mu    struct {
		sync.Mutex
		sites []*pinSite
	}
}

// A pinSite is a place where threads have pinned.
type pinSite struct {
	stack string
	first sched.Pin
	times int
}

func (n *noPin) see(p sched.Pin) {
	stack := stackText(p.PCs)
	if allowed(p.PCs, n.allow) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.mu.sites {
		if s.stack == stack && s.first.Reason == p.Reason {
			s.times++
			return
		}
	}
	n.mu.sites = append(n.mu.sites, &pinSite{stack, p, 1})
}

// lines tells of the sites, a text for each.
func (n *noPin) lines() (lines []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.mu.sites {
		p := s.first
		held := fmt.Sprintf("for %v", p.Held)
		if !p.Over {
			held = "and still does"
		}
		where := place(p.PCs)
		if where == "" {
			where = "a place that cannot be seen"
		}
		line := fmt.Sprintf("vttest: thread #%d pinned at %s: %s, and held its carrier %s", p.Thread, where, pinned(p), held)
		if s.times > 1 {
			line += fmt.Sprintf(" (and %d times more)", s.times-1)
		}
		lines = append(lines, line+"\n"+s.stack)
	}
	return lines
}

// pinned tells what a thread did that pinned.
func pinned(p sched.Pin) string {
	switch p.Reason {
	case flight.ReasonPinnedGo:
		in, _ := operation(p.PCs)
		return "it blocked in " + in
	case flight.ReasonPinnedSection:
		return "it parked in a pin section"
	}
	return "it parked while locked to an OS thread"
}

// allowed reports whether a frame is of a function whose name begins with one of prefixes.
func allowed(pcs []uintptr, prefixes []string) bool {
	for _, f := range frames(pcs) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Function, p) }) {
			return true
		}
	}
	return false
}

// stackText is a stack with a line for each frame that is not of the mechanism.
func stackText(pcs []uintptr) string {
	var b strings.Builder
	for _, f := range frames(pcs) {
		fmt.Fprintf(&b, "    %s %s\n", f.Function[strings.LastIndexByte(f.Function, '/')+1:], at(f))
	}
	return b.String()
}
