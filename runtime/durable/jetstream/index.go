package jetstream

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable"
)

// An index is what a participant knows of all trees: it follows the headers of the stream. It may be late, and decides nothing: a tree that looks free is taken with the
// sequence that it was read with (L2).
type index struct {
	s       *Store
	consume js.ConsumeContext
	kicked  chan struct{} // there may be something to take

	mu struct {
		sync.Mutex
		trees    map[string]*seen
		due      dues
		watchers map[string][]chan struct{}
		members  map[string]*member
	}
}

// A seen is what is known of a tree that is not over.
type seen struct {
	seq   uint64
	head  head
	inbox uint64 // the last message that came for it
	due   *due   // when it may be taken; nil: not as far as is known
	fails int    // how often taking it has failed, since it changed
}

// A due is a tree that may be taken from a moment on.
type due struct {
	root string
	at   time.Time
	i    int
}

type dues []*due

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i]; d[i].i, d[j].i = i, j }
func (d *dues) Push(x any)        { x.(*due).i = len(*d); *d = append(*d, x.(*due)) }
func (d *dues) Pop() any {
	old := *d
	x := old[len(old)-1]
	old[len(old)-1] = nil
	*d = old[:len(old)-1]
	return x
}

func (x *index) init(s *Store) {
	x.s = s
	x.kicked = make(chan struct{}, 1)
	x.mu.trees = map[string]*seen{}
	x.mu.watchers = map[string][]chan struct{}{}
	x.mu.members = map[string]*member{}
}

// follow begins to read the headers of all messages, first of the last of each subject.
func (x *index) follow(ctx context.Context) error {
	for {
		within, cancel := context.WithTimeout(ctx, 2*ackWithin)
		c, err := x.s.js.OrderedConsumer(within, x.s.names.stream(), js.OrderedConsumerConfig{
			FilterSubjects: x.s.names.all(), DeliverPolicy: js.DeliverLastPerSubjectPolicy, HeadersOnly: true, InactiveThreshold: time.Minute,
		})
		if err == nil {
			x.consume, err = c.Consume(x.message, js.PullHeartbeat(time.Second), js.PullExpiry(5*time.Second), js.ConsumeErrHandler(func(_ js.ConsumeContext, err error) {
				x.s.setTrouble(fmt.Errorf("follow: %w", err))
			}))
		}
		cancel()
		if err == nil {
			return nil
		}
		x.s.setTrouble(fmt.Errorf("follow: %w", err))
		if waited := sleep(ctx, 100*time.Millisecond); waited != nil {
			return fmt.Errorf("jetstream: follow: %w", err)
		}
	}
}

// message takes the headers of a message.
func (x *index) message(m js.Msg) {
	root, inbox, ok := x.s.names.of(m.Subject())
	if !ok {
		return
	}
	meta, err := m.Metadata()
	if err != nil {
		return
	}
	if inbox {
		x.mu.Lock()
		e := x.of(root)
		e.inbox = max(e.inbox, meta.Sequence.Stream)
		x.mu.Unlock()
		if t := x.s.tree(root); t != nil && t.owns.Load() {
			x.s.receive(t)
			return
		}
		x.consider(root)
		return
	}
	h, err := headOf(m.Headers())
	if err != nil {
		x.s.setTrouble(fmt.Errorf("tree %s: %w", root, err))
		return
	}
	ours := strings.HasPrefix(m.Headers().Get(headerID), x.s.id+".")
	if !x.know(root, meta.Sequence.Stream, h) {
		return
	}
	if t := x.s.tree(root); t != nil && !ours && h.Owner != x.s.id {
		x.s.loseAfter(t, meta.Sequence.Stream)
	}
}

// know takes the head of a tree, and reports whether it is news.
func (x *index) know(root string, seq uint64, h head) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.of(root)
	if seq <= e.seq {
		return false
	}
	before := e.head
	e.seq, e.head, e.fails = seq, h, 0
	if h.Owner != "" {
		x.memberOf(h.Owner).lease = leaseTold(h.Lease)
	}
	if h.Ended || h.State == over || h.State == gone {
		for _, c := range x.mu.watchers[root] {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	if h.State == over || h.State == gone {
		x.undue(e)
		delete(x.mu.trees, root)
		return true
	}
	if (before.Owner != h.Owner || before.State != h.State || h.Owner == "") && x.s.tree(root) == nil {
		x.considerLocked(root)
	}
	return true
}

// of returns what is known of a tree. The caller has the lock.
func (x *index) of(root string) *seen {
	e := x.mu.trees[root]
	if e == nil {
		e = &seen{head: head{State: gone}} // until its head comes
		x.mu.trees[root] = e
	}
	return e
}

func (x *index) undue(e *seen) {
	if e.due != nil {
		heap.Remove(&x.mu.due, e.due.i)
		e.due = nil
	}
}

// when returns when a tree may be taken, zero if not as far as is known. The caller has the lock.
func (x *index) when(e *seen) time.Time {
	h := &e.head
	switch {
	case h.State == over || h.State == gone:
		return time.Time{}
	case h.Owner != "" && h.Owner != x.s.id && !x.dead(h.Owner):
		return time.Time{}
	case h.State == waits && e.inbox > h.Inbox, len(h.Misfits) == 0 && h.State != waits:
		return time.Now()
	case len(h.Misfits) == 0:
		return h.Until
	}
	at := durable.Fits(h.Misfits, x.s.host.Code()) // for those that have diverged
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if h.State == waits && !h.Until.IsZero() && h.Until.Before(at) { // for one of the others
		return h.Until
	}
	return at
}

// consider notes when a tree may be taken, as things are now.
func (x *index) consider(root string) {
	if x.s.tree(root) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.considerLocked(root)
}

func (x *index) considerLocked(root string) {
	e := x.mu.trees[root]
	if e == nil {
		return
	}
	at := x.when(e)
	if at.IsZero() {
		x.undue(e)
		return
	}
	at = at.Add(x.hesitation())
	if e.fails > 0 {
		at = at.Add(min(time.Minute, 100*time.Millisecond<<min(e.fails, 20)))
	}
	if e.due != nil {
		if !e.due.at.After(at) {
			return
		}
		x.undue(e)
	}
	e.due = &due{root: root, at: at}
	heap.Push(&x.mu.due, e.due)
	if e.due.i == 0 {
		x.kick()
	}
}

// hesitationUnit is how long a participant hesitates at most, before it takes a tree, that has as many as others have.
const hesitationUnit = 20 * time.Millisecond

// hesitation lets those who have less than others come first. The caller has the lock.
func (x *index) hesitation() time.Duration {
	mine, sum := x.s.load(), x.s.load()
	n := 1
	for id, m := range x.mu.members {
		if id != x.s.id && m.heard && !x.isDead(m) {
			sum += m.load
			n++
		}
	}
	if n == 1 {
		return 0
	}
	share := float64(1+mine) / (1 + float64(sum)/float64(n))
	return time.Duration(min(share, 10) * rand.Float64() * float64(hesitationUnit))
}

func (x *index) kick() {
	select {
	case x.kicked <- struct{}{}:
	default:
	}
}

// takers is how many trees are read and taken at a time.
const takers = 16

// take takes trees as they are due, and there is room, until ctx ends.
func (x *index) take(ctx context.Context) {
	slots := make(chan struct{}, takers)
	for {
		root, wait := x.next()
		if root == "" {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-x.kicked:
			case <-ctx.Done():
				t.Stop()
				return
			}
			t.Stop()
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			x.s.took()
			return
		}
		x.s.goDo(func() {
			err := x.s.take(root)
			x.s.took()
			if err != nil && !errors.Is(err, errRefused) {
				x.s.setTrouble(fmt.Errorf("take %s: %w", root, err))
			}
			if err != nil {
				x.mu.Lock()
				if e := x.mu.trees[root]; e != nil {
					e.fails++
					if errors.Is(err, errRefused) {
						e.fails = 1
					}
				}
				x.mu.Unlock()
				x.consider(root)
			}
			<-slots
			x.kick()
		})
	}
}

// lookAgain is how long the clock of the machine is not looked at, at most: it may have been set, or have gone on while timers stood still.
const lookAgain = time.Minute

// next returns a tree that is to be taken now, and counts it as one that is; or how long there is none.
func (x *index) next() (root string, wait time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if len(x.mu.due) == 0 || !x.s.hasRoom() {
			return "", time.Hour
		}
		d := x.mu.due[0]
		if wait := time.Until(d.at); wait > 0 {
			return "", min(wait, lookAgain)
		}
		e := x.mu.trees[d.root]
		x.undue(e)
		if x.s.tree(d.root) != nil {
			continue // it is looked at again when this participant has it no more
		}
		if at := x.when(e); at.IsZero() || time.Until(at) > 0 {
			x.considerLocked(d.root) // it was due sooner once, and has changed since
			continue
		}
		if x.s.takes() {
			return d.root, 0
		}
		x.considerLocked(d.root)
	}
}

// watch returns a channel that is told when a tree's root ends, or the tree is dropped.
func (x *index) watch(root string) chan struct{} {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mu.watchers[root] = append(x.mu.watchers[root], c)
	return c
}

func (x *index) unwatch(root string, c chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	left := slices.DeleteFunc(x.mu.watchers[root], func(o chan struct{}) bool { return o == c })
	if len(left) == 0 {
		delete(x.mu.watchers, root)
		return
	}
	x.mu.watchers[root] = left
}
