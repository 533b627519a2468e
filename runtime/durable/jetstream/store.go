package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A Store keeps trees of durable threads in a stream, for many keepers. It is a [durable.Shared].
//
//	L1  The messages of a tree's subject are its journal, one for each Commit; the header of the last one is its head. There is no other truth about it.
//	L2  Each message of a tree is published with the sequence of the last one that its publisher knows of. So the server refuses it if there is another since.
//	L3  Who takes a tree publishes a lease. From then on, whoever had it before is refused: no clock is asked.
//	L4  A commit ends as taken, as refused, or is tried again with the same id; only Close gives up.
//	L5  What comes for a tree from elsewhere is in its inbox. Its owner takes it into the journal with the head that tells how far it has come, in one message. What is in
//	    the journal is removed from the inbox later, or never.
//	    From a head that says that the tree leaves on nothing is taken that came after it, until another says that it stays: who sends waits for that, or for its end ([Store.settled]).
//	L6  owned[root] is there from the lease until the tree was released, has ended, or [durable.Host.Lose] has returned: who had it before does not commit for who has it next.
type Store struct {
	options Options
	names   subjects
	id      string // of this participant, which no other one has or had
	server  *Server
	nc      *nats.Conn
	js      js.JetStream
	stream  js.Stream
	last    atomic.Uint64 // number of the newest message id
	hard    context.Context
	stop    context.CancelCauseFunc // ends hard: nothing is tried any more
	host    durable.Host
	wg      sync.WaitGroup
	index   index
	count   counts

	answerWithin time.Duration                                               // that one attempt waits for an answer; 0: ackWithin
	giveUp       func(context.Context) (context.Context, context.CancelFunc) // of a sending; only tests change it
	sendings     sendings

	link struct { // ends with each connection
		sync.Mutex
		context.Context
		cut context.CancelFunc
	}

	mu struct {
		sync.Mutex
		owned   map[string]*tree // L6
		taking  int              // trees that are being taken
		trouble error            // the last
		closed  bool
	}
}

type counts struct{ commits, retries, taken, released, lost, received atomic.Uint64 }

// A tree is one that this participant has.
type tree struct {
	root string

	mu struct {
		sync.Mutex // held while a commit is under way
		seq        uint64
		head       head
		live       map[string]bool // threads that have not ended
	}
	life      sync.Mutex  // held while the keeper is given it, or is told that it is lost
	owns      atomic.Bool // its lease was published; else it is about to be
	lost      atomic.Bool // somebody else has it
	receives  sync.Mutex  // of who takes what is in the inbox; before all other locks
	receiving atomic.Bool // a goroutine takes what is in the inbox
	again     atomic.Bool // … and shall look again
}

var _ durable.Shared = (*Store)(nil)

func (s *Store) nextID() string { return s.id + "." + strconv.FormatUint(s.last.Add(1), 10) }

func (s *Store) setTrouble(err error) {
	s.mu.Lock()
	s.mu.trouble = err
	s.mu.Unlock()
}

// trouble returns why servers were not told something, or err.
func (s *Store) trouble(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.trouble != nil {
		return s.mu.trouble
	}
	return err
}

func (s *Store) tree(root string) *tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.owned[root]
}

// Commit is that of a [durable.Shared].
func (s *Store) Commit(entries ...journal.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	root := rootOf(entries[0].Thread)
	for i := range entries {
		if other := rootOf(entries[i].Thread); other != root {
			return fmt.Errorf("jetstream: a commit of two trees, %s and %s", root, other)
		}
	}
	e := &entries[0]
	if (e.Op == journal.OpNew || e.Op == journal.OpWhole) && e.Parent == "" {
		return s.begin(root, entries)
	}
	if t := s.tree(root); t != nil {
		return s.commit(t, entries)
	}
	if e.Op == journal.OpDrop && e.Thread == root {
		return s.drop(root)
	}
	return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrFenced)
}

// commit adds entries to a tree that this participant has.
func (s *Store) commit(t *tree, entries []journal.Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost.Load() {
		return fmt.Errorf("jetstream: tree %s: %w", t.root, durable.ErrFenced)
	}
	if entries[0].Op == journal.OpDrop && entries[0].Thread == t.root {
		return s.bury(t, t.mu.head, t.mu.seq)
	}
	left := t.mu.head.Leaves
	h, live := t.mu.head, copied(t.mu.live)
	h.fold(t.root, entries, live)
	if h.State == over {
		h.Owner, h.Name, h.Lease = "", "", 0
	}
	whole := entries[0].Op == journal.OpBase && entries[0].Image != nil
	if whole { // what did not fit is no more
		h.Misfits = nil
	}
	if err := s.append(t, h, entries, whole); err != nil {
		return err
	}
	t.mu.live = live
	if left && !h.Leaves {
		s.receive(t)
	}
	if h.State == over {
		s.disown(t)
		s.clean(t.root, h.Inbox)
	}
	return nil
}

// owner makes this participant the owner of a tree.
func (s *Store) owner(h *head) {
	h.Owner, h.Name, h.Lease = s.id, s.options.Name, toldLease(s.options.Lease)
}

// fold tells a head of entries.
func (h *head) fold(root string, entries []journal.Entry, live map[string]bool) {
	h.State, h.Until, h.For, h.Since = runs, time.Time{}, "", time.Time{}
	for i := range entries {
		e := &entries[i]
		switch e.Op {
		case journal.OpNew:
			live[e.Thread] = true
		case journal.OpWhole, journal.OpBase:
			if e.Image != nil && !e.Image.Ended {
				live[e.Thread] = true
			}
		case journal.OpEnd, journal.OpDrop:
			delete(live, e.Thread)
			h.Ended = h.Ended || e.Op == journal.OpEnd && e.Thread == root
		}
		if e.Inbox > h.Inbox {
			h.Inbox = e.Inbox
		}
		if e.Thread == root && e.Step != nil && e.Step.Kind == journal.StepMove {
			h.Leaves = e.Step.Open
		}
		if e.Thread == root && e.Body != "" {
			h.Body = e.Body
		}
		if e.Thread == root && e.Image != nil {
			h.Body = e.Image.Body
		}
	}
	if len(live) == 0 {
		h.State = over
	}
}

func copied(m map[string]bool) map[string]bool {
	c := make(map[string]bool, len(m))
	for k := range m {
		c[k] = true
	}
	return c
}

// append publishes a message of a tree whose lock the caller has. An error matches [durable.ErrFenced], and then the tree is lost, or [durable.ErrClosed].
func (s *Store) append(t *tree, h head, entries []journal.Entry, whole bool) error {
	seq, err := s.put(t.root, h, entries, whole, t.mu.seq)
	switch {
	case err == nil:
		t.mu.seq, t.mu.head = seq, h
		s.count.commits.Add(1)
		return nil
	case errors.Is(err, errRefused):
		s.lose(t)
		return fmt.Errorf("jetstream: tree %s: %w", t.root, durable.ErrFenced)
	}
	return fmt.Errorf("jetstream: tree %s: %w", t.root, err)
}

// put publishes a message of a tree after the one of sequence after. whole ones stand for all before them.
func (s *Store) put(root string, h head, entries []journal.Entry, whole bool, after uint64) (uint64, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if entries == nil {
		entries = []journal.Entry{}
	}
	data, err := s.options.Limits.PackEntries(entries)
	if err != nil {
		return 0, err
	}
	if len(text) > maxHead {
		return 0, fmt.Errorf("%w: a head of %d bytes: the name of the participant, or of code, is too long", journal.ErrTooLarge, len(text))
	}
	header := nats.Header{headerHead: {string(text)}}
	if whole {
		header.Set(headerRollup, "sub")
	}
	return s.publish(s.hard, s.names.tree(root), header, data, &after)
}

// begin makes a tree.
func (s *Store) begin(root string, entries []journal.Entry) error {
	if err := checkRoot(root); err != nil {
		return err
	}
	t := &tree{root: root}
	t.mu.live = map[string]bool{}
	var h head
	s.owner(&h)
	h.fold(root, entries, t.mu.live)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.own(t) {
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrExists)
	}
	after := uint64(0)
	for {
		seq, err := s.put(root, h, entries, false, after)
		if err == nil {
			t.mu.seq, t.mu.head = seq, h
			t.owns.Store(true)
			s.count.commits.Add(1)
			s.receive(t)
			return nil
		}
		if errors.Is(err, errRefused) {
			// One that was dropped leaves a message, until that is removed.
			last, bad := s.lastOf(s.hard, root)
			if errors.Is(bad, errNone) {
				var at *standing
				if at, bad = s.surely(s.hard, root); bad == nil {
					last = at.tree
				}
			}
			if bad == nil && last == nil {
				after, h.Inbox = 0, 0
				continue
			}
			if bad == nil && last.head.State == gone && last.seq != after {
				after, h.Inbox = last.seq, last.seq
				if last.head.Leaves { // what came after that is for who comes back
					h.Inbox = last.head.Inbox
				}
				continue
			}
			err = durable.ErrExists
		}
		s.disown(t)
		return fmt.Errorf("jetstream: tree %s: %w", root, err)
	}
}

// own notes that this participant has a tree, or is about to. It returns false if it has it already.
func (s *Store) own(t *tree) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.owned[t.root] != nil {
		return false
	}
	s.mu.owned[t.root] = t
	return true
}

func (s *Store) disown(t *tree) {
	s.mu.Lock()
	if s.mu.owned[t.root] == t {
		delete(s.mu.owned, t.root)
	}
	s.mu.Unlock()
	s.index.consider(t.root)
	s.index.kick()
}

// lose tells the keeper, once, that a tree is another's.
func (s *Store) lose(t *tree) {
	if t.lost.Swap(true) {
		return
	}
	s.count.lost.Add(1)
	s.goDo(func() {
		t.life.Lock()
		s.host.Lose(t.root)
		t.life.Unlock()
		s.disown(t) // L6
	})
}

// goDo starts a goroutine that Close waits for; none after Close.
func (s *Store) goDo(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return
	}
	s.wg.Go(f)
}

// A lastMessage is what a tree is.
type lastMessage struct {
	message
	head head
}

// lastOf reads the last message of a tree.
func (s *Store) lastOf(ctx context.Context, root string) (*lastMessage, error) {
	m, err := s.message(ctx, request{Last: s.names.tree(root)})
	if err != nil {
		return nil, err
	}
	h, err := headOf(m.header)
	return &lastMessage{*m, h}, err
}

// lastSurely is lastOf, and waits for servers that do not answer. That there is no tree (errNone) is so: it was asked twice. The error may be ctx's cause.
func (s *Store) lastSurely(ctx context.Context, root string) (*lastMessage, error) {
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		last, err := s.lastOf(ctx, root)
		if errors.Is(err, errNone) || err == nil && last.head.State == gone {
			var at *standing
			if at, err = s.surely(ctx, root); err != nil {
				return nil, err
			}
			if last = at.tree; last == nil || last.head.State == gone {
				return nil, errNone
			}
		}
		if err == nil || errors.Is(err, journal.ErrDamaged) {
			return last, err
		}
		s.setTrouble(err)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		if s.hard.Err() != nil {
			return nil, durable.ErrClosed
		}
	}
}

// drop removes a tree that nobody has and that is over.
func (s *Store) drop(root string) error {
	for {
		last, err := s.lastSurely(s.hard, root)
		switch {
		case errors.Is(err, errNone):
			return nil
		case err != nil:
			return fmt.Errorf("jetstream: tree %s: %w", root, err)
		case last.head.State != over:
			return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrRuns)
		}
		if err := s.bury(&tree{root: root}, last.head, last.seq); !errors.Is(err, durable.ErrFenced) {
			return err
		}
	}
}

// bury puts a message in place of all of a tree's that says that it is gone, and removes that. If removing it fails, it stays, and harms nothing. Of a tree that leaves the inbox is
// removed as far as it was taken, and before the message: what is in it when there is no tree was not taken ([Store.settled]).
func (s *Store) bury(t *tree, h head, after uint64) error {
	seq, err := s.put(t.root, head{State: gone, Leaves: h.Leaves, Inbox: h.Inbox}, nil, true, after)
	if errors.Is(err, errRefused) {
		if s.tree(t.root) == t { // else it is nobody's, or another tree of that id was begun here
			s.lose(t)
		}
		err = durable.ErrFenced
	}
	if err != nil {
		return fmt.Errorf("jetstream: tree %s: %w", t.root, err)
	}
	s.disown(t)
	taken := seq
	if h.Leaves {
		taken = h.Inbox
	}
	for _, p := range []js.StreamPurgeOpt{js.WithPurgeSubject(s.names.inbox(t.root)), js.WithPurgeSubject(s.names.tree(t.root))} {
		within, cancel := context.WithTimeout(s.hard, ackWithin)
		err := s.stream.Purge(within, p, js.WithPurgeSequence(taken+1))
		cancel()
		if err != nil {
			s.setTrouble(fmt.Errorf("purge: %w", err))
			break
		}
		taken = seq
	}
	return nil
}

// Release is that of a [durable.Shared].
func (s *Store) Release(root string, r durable.Rest) error {
	t := s.tree(root)
	if t == nil {
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrFenced)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost.Load() {
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrFenced)
	}
	h := t.mu.head
	h.Owner, h.Name, h.Lease, h.State = "", "", 0, runs
	if r.Waits {
		h.State, h.Until, h.For, h.Since = waits, r.Until, r.For, r.Since
	}
	release := journal.Entry{Thread: root, Op: journal.OpRelease, Name: s.options.Name}
	if r.Misfit != nil {
		h.Misfits = durable.AddMisfit(h.Misfits, *r.Misfit)
		release.Err = r.Misfit.What
	}
	if err := s.append(t, h, []journal.Entry{release}, false); err != nil {
		return err
	}
	s.count.released.Add(1)
	s.index.know(root, t.mu.seq, h)
	s.disown(t)
	return nil
}

// End is that of a [durable.Shared].
func (s *Store) End(ctx context.Context, root string) (journal.Entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.hard, func() { cancel(durable.ErrClosed) })()
	changed := s.index.watch(root)
	defer s.index.unwatch(root, changed)
	for look := 2 * time.Second; ; {
		last, err := s.lastSurely(ctx, root)
		if errors.Is(err, errNone) {
			err = durable.ErrNone
		}
		if err != nil {
			return journal.Entry{}, fmt.Errorf("jetstream: tree %s: %w", root, err)
		}
		if last.head.Ended {
			all, err := s.messages(ctx, s.names.tree(root), 1)
			if err != nil {
				s.setTrouble(fmt.Errorf("tree %s: %w", root, err))
			}
			for i := range all {
				entries, err := s.options.Limits.UnpackEntries(all[i].data)
				if err != nil {
					return journal.Entry{}, fmt.Errorf("jetstream: tree %s: %w", root, err)
				}
				for _, e := range entries {
					switch {
					case e.Op == journal.OpEnd && e.Thread == root:
						return e, nil
					case e.Op == journal.OpWhole && e.Thread == root && e.Image != nil && e.Image.Ended:
						return journal.Entry{Thread: root, Op: journal.OpEnd, Value: e.Image.Result, Err: e.Image.Err}, nil
					}
				}
			}
			// The server that has answered is behind, or none has.
			if err := sleep(ctx, 10*retryFirst); err != nil {
				return journal.Entry{}, err
			}
			continue
		}
		// What follows the stream may be late, or cut off for a while. Many may wait: the servers are asked less and less often.
		look = min(2*look, time.Minute)
		t := time.NewTimer(look/2 + rand.N(look/2))
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return journal.Entry{}, context.Cause(ctx)
		}
		t.Stop()
	}
}

// Load calls f with all entries of all trees, whoever has them, tree by tree.
func (s *Store) Load(f func(journal.Entry) error) error {
	heads, err := s.heads(s.hard)
	if err != nil {
		return err
	}
	for _, root := range heads {
		all, err := s.messages(s.hard, s.names.tree(root), 1)
		if err != nil {
			return fmt.Errorf("jetstream: tree %s: %w", root, err)
		}
		read, err := readTree(all, s.options.Limits.UnpackEntries)
		if err != nil {
			return fmt.Errorf("jetstream: tree %s: %w", root, err)
		}
		for _, e := range read.entries {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// heads are the roots of all trees.
func (s *Store) heads(ctx context.Context) (roots []string, err error) {
	info, err := s.stream.Info(ctx, js.WithSubjectFilter(s.names.namespace+".tree.*"))
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	for subject := range info.State.Subjects {
		if root, inbox, ok := s.names.of(subject); ok && !inbox {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

// Close stops taking part. Trees that were not released are taken by others when the lease is over.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	s.mu.Unlock()
	s.index.leave()
	s.stop(durable.ErrClosed)
	s.wg.Wait()
	s.nc.Close()
	if s.server != nil {
		s.server.Close()
	}
	return nil
}
