package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Join is that of a [durable.Shared].
func (s *Store) Join(ctx context.Context, h durable.Host) error {
	s.mu.Lock()
	if s.host != nil || s.mu.closed {
		s.mu.Unlock()
		return errors.New("jetstream: a store has one keeper, once")
	}
	s.host = h
	s.mu.Unlock()
	s.wg.Go(func() { // who leaves has some patience with servers that do not answer
		select {
		case <-ctx.Done():
			if sleep(s.hard, s.options.Patience) == nil {
				s.stop(durable.ErrClosed)
			}
		case <-s.hard.Done():
		}
	})
	if err := s.index.listen(); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	if err := s.index.follow(ctx); err != nil {
		return err
	}
	s.wg.Go(func() { s.index.beat(s.hard) })
	s.wg.Go(func() { s.index.take(ctx) })
	return nil
}

// load is how many trees this participant has.
func (s *Store) load() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.owned)
}

func (s *Store) hasRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasRoomLocked()
}

func (s *Store) hasRoomLocked() bool {
	return s.options.Room == 0 || len(s.mu.owned)+s.mu.taking < s.options.Room
}

// takes counts a tree that is about to be taken. It returns false if there is no room.
func (s *Store) takes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasRoomLocked() {
		return false
	}
	s.mu.taking++
	return true
}

func (s *Store) took() {
	s.mu.Lock()
	s.mu.taking--
	s.mu.Unlock()
}

// A treeRead is what the messages of a tree tell.
type treeRead struct {
	entries []journal.Entry
	live    map[string]bool
	head    head
	seq     uint64
	moves   bool // its root's last step is a Move that has not ended: its bytes may be elsewhere
}

// readTree reads the messages of a tree.
func readTree(all []message, unpack func(text []byte) ([]journal.Entry, error)) (*treeRead, error) {
	if len(all) == 0 {
		return nil, errNone
	}
	r := &treeRead{live: map[string]bool{}}
	var told head
	for i := range all {
		m := &all[i]
		entries, err := unpack(m.data)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", m.seq, err)
		}
		if m.header.Get(headerRollup) != "" { // it stands for those before, which may have been read before they were removed
			r.entries, told = nil, head{}
			clear(r.live)
		}
		r.entries = append(r.entries, entries...)
		for j := range entries {
			told.fold(rootOf(entries[j].Thread), entries[j:j+1], r.live)
		}
	}
	r.moves = told.Leaves
	last := &all[len(all)-1]
	r.seq = last.seq
	var err error
	r.head, err = headOf(last.header)
	return r, err
}

// take takes a tree. The error is errRefused if another participant was faster.
func (s *Store) take(root string) error {
	ctx := s.hard
	all, err := s.messages(ctx, s.names.tree(root), 1)
	if err != nil {
		return err
	}
	read, err := readTree(all, s.options.Limits.UnpackEntries)
	if errors.Is(err, errNone) {
		return errRefused
	}
	if err != nil {
		return err
	}
	var came []journal.Entry
	if !read.moves { // else nobody knows who is to take it
		if came, _, err = s.came(ctx, root, read.head.Inbox); err != nil {
			return err
		}
	}
	s.index.know(root, read.seq, read.head)
	if !s.index.mayTake(&read.head, len(came) > 0) {
		return errRefused
	}
	t := &tree{root: root}
	t.mu.seq, t.mu.live, t.mu.head = read.seq, read.live, read.head
	if !s.own(t) {
		return errRefused
	}
	t.life.Lock()
	lease := append([]journal.Entry{{Thread: root, Op: journal.OpLease, Name: s.options.Name}}, came...)
	err = s.host.Take(root, append(read.entries, lease...), func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		h := read.head
		h.fold(root, lease, t.mu.live)
		s.owner(&h)
		h.Leaves = read.moves
		h.Moves++
		seq, err := s.put(root, h, lease, false, read.seq)
		if err == nil {
			t.owns.Store(true)
			t.mu.seq, t.mu.head = seq, h
			s.count.taken.Add(1)
			s.index.know(root, seq, h)
			flight.Default().LeaseMoved(flight.LeaseMove{Thread: root, Body: h.Body, From: read.head.Name, To: h.Name})
		}
		return err
	})
	t.life.Unlock()
	if err != nil && !t.owns.Load() {
		s.disown(t)
		return err
	}
	if err != nil {
		return fmt.Errorf("it was taken, and does not go on: %w", err)
	}
	if len(came) > 0 {
		s.clean(root, came[len(came)-1].Inbox)
	}
	s.receive(t)
	return nil
}

// mayTake reports whether a tree that was read goes on, and nobody has it.
func (x *index) mayTake(h *head, came bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := seen{head: *h}
	if came {
		e.inbox = h.Inbox + 1
	}
	at := x.when(&e)
	return !at.IsZero() && time.Until(at) <= 0
}

// loseAfter notes that somebody else has published a message of a tree.
func (s *Store) loseAfter(t *tree, seq uint64) {
	s.goDo(func() {
		t.mu.Lock() // a commit that is under way comes to know of it by itself
		later := seq > t.mu.seq
		t.mu.Unlock()
		if later && t.owns.Load() && s.tree(t.root) == t {
			s.lose(t)
		}
	})
}

// came reads what came for a tree after a message of its inbox. last is the last message that was read, 0 if there is none.
func (s *Store) came(ctx context.Context, root string, after uint64) (entries []journal.Entry, last uint64, err error) {
	all, err := s.messages(ctx, s.names.inbox(root), after+1)
	if err != nil {
		return nil, 0, err
	}
	for i := range all {
		last = all[i].seq
		e, err := s.options.Limits.UnpackEntry(all[i].data)
		if err != nil || e.Op != journal.OpSignal && e.Op != journal.OpUnpark || rootOf(e.Thread) != root {
			s.setTrouble(fmt.Errorf("inbox of tree %s: message %d is none", root, all[i].seq))
			continue
		}
		e.Inbox = all[i].seq
		entries = append(entries, e)
	}
	return entries, last, nil
}

// pending reports whether something has come for a tree that this participant has.
func (x *index) pending(root string, t *tree) bool {
	t.mu.Lock()
	taken, leaves := t.mu.head.Inbox, t.mu.head.Leaves
	t.mu.Unlock()
	if leaves {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.mu.trees[root]
	return e != nil && e.inbox > taken
}

// receive takes what came for a tree that this participant has into its journal. It does not wait.
func (s *Store) receive(t *tree) {
	t.again.Store(true)
	if t.receiving.Swap(true) {
		return
	}
	s.goDo(func() {
		for {
			for t.again.Swap(false) {
				s.receiveAll(t)
			}
			t.receiving.Store(false)
			if !t.again.Load() || t.receiving.Swap(true) {
				return
			}
		}
	})
}

func (s *Store) receiveAll(t *tree) {
	for pause := retryFirst; s.tree(t.root) == t && !t.lost.Load() && s.index.pending(t.root, t); pause = min(2*pause, retryLast) {
		after, last := s.receiveSome(t)
		if last > after {
			pause = retryFirst
			s.clean(t.root, last)
			continue
		}
		if sleep(s.hard, pause) != nil { // the server that has answered is behind
			return
		}
	}
}

// receiveSome takes what is in the inbox of a tree now, unless the tree leaves. It returns up to where that was taken before, and is now.
func (s *Store) receiveSome(t *tree) (after, last uint64) {
	t.receives.Lock()
	defer t.receives.Unlock()
	t.mu.Lock()
	after = t.mu.head.Inbox
	leaves := t.mu.head.Leaves
	t.mu.Unlock()
	if leaves {
		return after, after
	}
	entries, _, err := s.came(s.hard, t.root, after)
	if err != nil {
		s.setTrouble(fmt.Errorf("inbox of tree %s: %w", t.root, err))
	}
	last = after
	for _, e := range entries {
		if err := s.host.Receive(e); err != nil {
			break // it is being made, or is on its way to somebody else, or the keeper is closed
		}
		last = e.Inbox
		s.count.received.Add(1)
	}
	t.mu.Lock()
	t.mu.head.Inbox = max(t.mu.head.Inbox, last) // of those that nobody wants any more; the next commit tells
	t.mu.Unlock()
	return after, last
}

// clean removes what was taken from an inbox. What is not removed is known to be taken all the same (L5).
func (s *Store) clean(root string, last uint64) {
	if last == 0 {
		return
	}
	s.goDo(func() {
		within, cancel := context.WithTimeout(s.hard, ackWithin)
		defer cancel()
		if err := s.stream.Purge(within, js.WithPurgeSubject(s.names.inbox(root)), js.WithPurgeSequence(last+1)); err != nil {
			s.setTrouble(fmt.Errorf("purge: %w", err))
		}
	})
}
