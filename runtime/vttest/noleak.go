package vttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// NoLeak fails t if threads that were started after this call have not ended when t has, and do not end within a few seconds. It tells where each is. Threads
// are allowed in whose stack a function's full name, with its package's path, begins with one of allow.
//
// It is called first in a test, so that what the test cleans up has ended before it looks. All threads of the process count: a test that runs beside others has
// theirs, too. Threads that were made and not started are no leak. In [Run] it is not needed: there all threads must end.
func NoLeak(t testing.TB, allow ...string) {
	t.Helper()
	left, stop := sched.WatchStarts()
	t.Cleanup(func() {
		defer stop()
		for _, line := range awaitNone(left, allow) {
			t.Error(line)
		}
	})
}

// leakPatience is how long threads may take to end after a test.
var leakPatience = 5 * time.Second

// awaitNone waits until no threads are left but those that are allowed, or returns a text for each.
func awaitNone(left func() []*sched.Task, allow []string) (lines []string) {
	deadline := time.Now().Add(leakPatience)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		late := time.Now().After(deadline)
		lines = nil
		for _, task := range left() {
			pcs, _ := task.Frames()
			if state := task.State(); state != flight.StateDone && !allowed(pcs, allow) {
				lines = append(lines, fmt.Sprintf("vttest: thread %s is left, %v:\n%s", labelOf(task), state, stackText(pcs)))
			}
		}
		if len(lines) == 0 || late {
			slices.Sort(lines)
			return lines
		}
		time.Sleep(wait)
	}
}

// labelOf is a thread's id and name.
func labelOf(task *sched.Task) string {
	if s, ok := task.Body().(fmt.Stringer); ok {
		return strings.TrimSpace(s.String())
	}
	return fmt.Sprintf("#%d", task.ID())
}
