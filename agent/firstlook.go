package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// tellEvery is how often it is told how much of the first snapshot of a process is read.
const tellEvery = 100 * time.Millisecond

// A soFar is what is known of a process whose first snapshot is being read.
type soFar struct {
	counts  dump.Counts // of the threads that were read
	threads int         // about how many there are
}

// note says how far it is. Nil is a beginning.
func (s *soFar) note() string {
	const rest = "scopes, groups and findings come with the first snapshot"
	if s == nil {
		return "the threads are being read: " + rest
	}
	return fmt.Sprintf("the threads are being read: the states are those of the first %s of about %s; %s", dump.Thousands(s.counts.Total()), dump.Thousands(s.threads), rest)
}

// A firstReader tells, while the threads are read, what those that were read do.
type firstReader struct {
	*flight.Reader
	every      time.Duration
	tell       func(soFar)
	goroutines func() // is called if there are threads on goroutines
}

// Threads is that of the reader.
func (r firstReader) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	now := soFar{threads: r.Process().Threads}
	told := time.Now()
	return r.Reader.Threads(ctx, func(rows []flight.ThreadRow) {
		visit(rows) // which may find that a mounted one is pinned
		if onGoroutines(rows) > 0 {
			r.goroutines()
		}
		for i := range rows {
			if s := rows[i].State; s < flight.StateCount {
				now.counts[s]++
			}
		}
		if time.Since(told) >= r.every {
			told = time.Now()
			now.threads = max(now.threads, now.counts.Total())
			r.tell(now)
		}
	})
}

// firstLook takes the first snapshot of a process by itself: what else a look reads takes as long again.
func (f *follower) firstLook(ctx context.Context) result {
	began := time.Now()
	s, err := dump.Take(ctx, firstReader{f.reader, tellEvery, func(s soFar) { newest(f.reading, s) }, func() { f.onGoroutines.Store(true) }}, dump.Options{MaxGroups: f.agent.maxGroups()})
	if err != nil {
		return result{err: err, first: true}
	}
	return result{look: &dump.Look{Snapshot: s, Took: time.Since(began)}, first: true}
}
