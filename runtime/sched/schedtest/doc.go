// Package schedtest tests schedulers: whoever writes one calls [Run] in a test of it.
//
//	func TestScheduler(t *testing.T) {
//		schedtest.Run(t, func(t *testing.T) sched.Scheduler {
//			s := myscheduler.New()
//			t.Cleanup(s.Close)
//			return s
//		})
//	}
//
// It shows that threads do on the scheduler what they do on every other: each part of [sched.Scheduler]'s contract, and that a scheduler which breaks
// it harms its own threads alone. It is of most use under the race detector.
//
// # Concurrency
//
// The tests run one after the other.
//
// # Where to start reading
//
// The table cases in schedtest.go.
package schedtest
