package schedtest

import (
	"iter"
	"testing"

	"github.com/vtscope/vtscope/runtime/sched"
)

// Run tests the schedulers that newScheduler returns: one for each test, which it closes by t.Cleanup. A
// test leaves no threads behind when it passes.
//
// The scheduler must execute every task that it accepts, on goroutines that are locked to no OS thread, or all to their own for life.
func Run(t *testing.T, newScheduler func(t *testing.T) sched.Scheduler) {
	for name, test := range Cases() {
		t.Run(name, func(t *testing.T) { test(t, newScheduler(t)) })
	}
}

// A Case is one of the tests.
type Case func(t testing.TB, s sched.Scheduler)

// Cases returns the tests of [Run], for whoever has to call each in its own surroundings, such as a synctest bubble.
func Cases() iter.Seq2[string, Case] {
	return func(yield func(string, Case) bool) {
		for _, c := range cases {
			if !yield(c.name, c.test) {
				return
			}
		}
	}
}

var cases = []struct {
	name string
	test Case
}{
	{"every-thread-runs-once", everyThreadRunsOnce},
	{"start-and-join-hand-memory-over", startAndJoinHandMemoryOver},
	{"unpark-hands-memory-over", unparkHandsMemoryOver},
	{"the-end-of-a-run-happens-before-the-next", runsFollowEachOther},
	{"permits-do-not-add-up", permitsDoNotAddUp},
	{"timed-parks-end", timedParksEnd},
	{"sleeps-last-and-can-be-interrupted", sleepsLast},
	{"yields-let-others-go-on", yieldsLetOthersGoOn},
	{"joins-wait", joinsWait},
	{"children-inherit-the-scheduler", childrenInherit},
	{"threads-move-where-they-can", threadsMove},
	{"threads-start-threads", threadsStartThreads},
	{"odd-ends-end-only-the-thread", oddEnds},
	{"a-thread-may-lock-itself-to-its-os-thread", lockedThreads},

	{"a-run-without-a-submission-does-nothing", runsWithoutSubmission},
	{"a-task-cannot-be-run-on-a-thread", runsOnThreads},
	{"a-task-submitted-twice-runs-once", duplicates},
	{"dropped-tasks-harm-only-their-threads", drops},
	{"delayed-tasks-harm-only-their-threads", delays},
	{"refusals-surface-in-start", refusedStarts},
	{"refusals-surface-in-unpark", refusedUnparks},
	{"threads-go-on-after-refused-yields", refusedYields},

	{"stress", stress},
	{"nothing-is-lost", nothingIsLost},
}
