package sched

import "testing"

// F1. A carrier that looks at the queues while a thief has tasks in its hands goes to sleep.
func TestWhoMovesTasksWakesACarrier(t *testing.T) {
	for _, from := range []string{"another carrier's queue", "the shared queue"} {
		fj := newForkJoin(ForkJoinOptions{Parallelism: 3, MaxCarriers: 3})
		fj.room.Store(0)
		carriers := make([]*worker, 3)
		for i := range carriers {
			carriers[i] = &worker{fj: fj, wake: make(chan struct{}, 1)}
			carriers[i].worker = carriers[i]
			fj.rememberLocked(carriers[i])
		}
		thief, victim, sleeper := carriers[0], carriers[1], carriers[2]
		for range 8 {
			if from == "the shared queue" {
				task := new(Task)
				if err := fj.share(task, task, 1); err != nil {
					t.Fatal(err)
				}
			} else {
				victim.queue.put(new(Task))
			}
		}
		sleeper.idle = true
		fj.mu.idle = []*worker{sleeper}
		fj.room.Store(1)
		if thief.search() == nil || thief.queue.looksEmpty() {
			t.Fatalf("got less than two tasks from %s", from)
		}
		if len(sleeper.wake) == 0 {
			t.Errorf("nobody was woken for tasks from %s", from)
		}
	}
}
