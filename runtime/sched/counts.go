package sched

import (
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// counts are what a carrier counts: it writes them plainly, and others read them a little late, as [worker.progress].
type counts struct {
	starts, ends, submissions, mounts, handOffs, steals uint64

	ready flight.Histogram // sampled: see sampleEvery
	slice flight.Histogram
}

// Of the delays and slices that are shorter than sampleAll one in sampleEvery is counted, as that many: to count them all would cost as much as a part of the
// switch. The long ones are what one looks for.
const (
	sampleEvery = 17 // odd, since threads take turns
	sampleAll   = 100 * time.Microsecond
)

//go:norace
func (n *counts) submitted(t *Task) {
	n.submissions++
	if t.at == nil {
		n.starts++
	}
}

//go:norace
func (n *counts) started() { n.starts++ }

//go:norace
func (n *counts) mounted() { n.mounts++ }

//go:norace
func (n *counts) ended() { n.ends++ }

//go:norace
func (n *counts) handedOff() { n.handOffs++ }

//go:norace
func (n *counts) stole() { n.steals++ }

// add adds those of a carrier that may be running.
//
//go:norace
func (n *counts) add(o *counts) {
	n.starts += o.starts
	n.ends += o.ends
	n.submissions += o.submissions
	n.mounts += o.mounts
	n.handOffs += o.handOffs
	n.steals += o.steals
	for i := range n.ready {
		n.ready[i] += o.ready[i]
		n.slice[i] += o.slice[i]
	}
}

// noteReady counts, and records if it is long, how long a thread, about to be mounted now, has waited for a carrier.
//
//go:norace
func (w *worker) noteReady(t *Task, rec *flight.Record, now flight.Ticks) {
	d := now - rec.Since()
	if d > w.long {
		count(&w.counts.ready, d, true)
		w.over(flight.EventQueued, t, d, now, flight.ReasonNone)
	} else if w.counts.mounts%sampleEvery == 0 {
		count(&w.counts.ready, d, false)
	}
}

// noteSlice counts, and records if it is long, how long a thread, about to leave its carrier now, has executed since it was mounted, or pinned for the last time.
//
//go:norace
func (w *worker) noteSlice(t *Task, rec *flight.Record, now flight.Ticks, why flight.Reason) {
	d := now - rec.Since()
	if d > w.long {
		count(&w.counts.slice, d, true)
		w.over(flight.EventSlice, t, d, now, why)
		w.endMonopoly(now)
	} else if w.counts.mounts%sampleEvery == 0 {
		count(&w.counts.slice, d, false)
	}
}

//go:norace
func count(h *flight.Histogram, d flight.Ticks, once bool) {
	by := uint64(sampleEvery)
	if once {
		by = 1
	}
	h[flight.BucketOf(d.Sub(0))] += by
}
