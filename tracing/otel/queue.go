package otel

import (
	"context"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// maxBatchSize is about how large an export may become, far below the 4 MB that receivers take at least.
const maxBatchSize = 1 << 20

// A queue gathers spans into batches, and has its sender send them. Nobody waits for it: without a batch to fill, spans are dropped and counted.
//
//	Q1  There are at most most batches; each is in free, filling, in full, or the sender's.
//	Q2  full and free have room for all of them, so that nobody waits.
type queue struct {
	*signalCounters
	limits otlpenv.Batch
	length int // most bytes of a text

	free, full chan *batch
	mu         struct {
		sync.Mutex
		filling *batch
		spans   int // in filling
		made    int
		closed  bool
	}
}

func newQueue(c *signalCounters, limits otlpenv.Batch, length int) *queue {
	most := limits.Queue/limits.Most + 1
	return &queue{signalCounters: c, limits: limits, length: length, free: make(chan *batch, most), full: make(chan *batch, most)}
}

// begin returns a batch with room for a span at least, until end; or nil, then there is no end. The caller may add some more spans than there is room for, those of one thread.
func (q *queue) begin() *batch {
	q.mu.Lock()
	if q.mu.filling == nil && !q.mu.closed {
		select {
		case q.mu.filling = <-q.free:
		default:
			if q.mu.made < cap(q.free) {
				q.mu.filling = &batch{limit: q.length}
				q.mu.made++
			}
		}
	}
	if q.mu.filling == nil || q.mu.closed {
		q.mu.Unlock()
		return nil
	}
	return q.mu.filling
}

// end counts the spans that were added since begin.
func (q *queue) end(added int) {
	q.built.Add(uint64(added))
	q.mu.spans += added
	if q.mu.spans >= q.limits.Most || q.mu.filling.size >= maxBatchSize {
		q.passLocked()
	}
	q.mu.Unlock()
}

// passLocked hands over what is filled.
func (q *queue) passLocked() {
	if q.mu.spans > 0 {
		q.full <- q.mu.filling // Q2
		q.mu.filling, q.mu.spans = nil, 0
	}
}

// run sends batches until ctx ends or the queue is closed and empty.
func (q *queue) run(ctx context.Context, s *sender, asked *throttle, upload func(context.Context, []*tracepb.ResourceSpans) (refused int, err error)) {
	w := &way{q.signalCounters, q.limits.Timeout, asked}
	tick := time.NewTicker(q.limits.Delay)
	defer tick.Stop()
	for {
		var b *batch
		select {
		case b = <-q.full:
		default:
			select {
			case b = <-q.full:
			case <-tick.C:
				q.mu.Lock()
				q.passLocked()
				q.mu.Unlock()
				continue
			}
		}
		if b == nil {
			return // closed
		}
		n := 0
		for _, g := range b.groups {
			n += len(g.ScopeSpans[0].Spans)
		}
		s.send(ctx, w, n, func(ctx context.Context) (int, error) { return upload(ctx, b.groups) })
		b.reset()
		q.free <- b // Q2
	}
}

// close passes what is filled, and ends run when all is sent.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.mu.closed {
		q.passLocked()
		q.mu.closed = true
		close(q.full)
	}
}
