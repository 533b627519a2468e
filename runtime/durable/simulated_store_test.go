package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// lease is how long a participant is silent before others take its trees.
const lease = 10 * time.Second

// A harbor is what the servers of a shared store have, as those of package jetstream: messages of trees and inboxes, each of which is taken once. It belongs to the threads of
// a simulation, of which one executes at a time.
type harbor struct {
	w       *world
	sched   sched.Scheduler
	seq     uint64
	trees   map[string]*berth
	buried  map[string]uint64 // messages that dropped a tree, by id
	seats   []*seat           // all that ever were
	open    bool              // it fences nobody
	flight  int               // messages that are under way
	stats   struct{ fenced, unknown, taken, woken, released, received, deaths, frozen, closed, misfits int }
	room    int
	unfence int
}

// A berth is a tree in the harbor.
type berth struct {
	messages []message
	inbox    []journal.Entry
	sent     map[string]uint64 // messages of the inbox, by id
	gone     bool
	taken    uint64 // of one that is gone: how far its inbox was taken
}

type message struct {
	seq     uint64
	id      string
	head    moored
	entries []journal.Entry
}

// A moored is what the last message of a tree says of it.
type moored struct {
	owner   *seat
	state   string // runs, waits, over
	misfits []durable.Misfit
	until   time.Time
	inbox   uint64
	ended   bool
	leaves  bool
}

func (b *berth) last() *message { return &b.messages[len(b.messages)-1] }

func (b *berth) pending() bool {
	return len(b.inbox) > 0 && b.inbox[len(b.inbox)-1].Inbox > b.last().head.inbox
}

var errRefused = errors.New("another message came before")

// put takes a message of a tree after the one of sequence after; nil entries drop the tree.
func (h *harbor) put(root string, m message, whole bool, after uint64) (uint64, error) {
	b, last := h.trees[root], uint64(0)
	if seq := h.buried[m.id]; seq > 0 {
		return seq, nil
	}
	if b != nil {
		last = b.last().seq
		for _, was := range b.messages {
			if was.id == m.id {
				return was.seq, nil
			}
		}
	}
	if last != after && !(h.open && b != nil && last > after && after > 0) {
		// After an attempt of which nobody knows how it ended, one that was taken is found by its id, if it is the next of its tree.
		return 0, errRefused
	}
	if last != after {
		h.unfence++
	}
	h.seq++
	m.seq = h.seq
	text, err := json.Marshal(m.entries)
	if err != nil {
		return 0, err
	}
	m.entries = nil
	if err := json.Unmarshal(text, &m.entries); err != nil {
		return 0, err
	}
	h.w.note("%s %d: %s %s %s", m.id, m.seq, root, m.head.state, text)
	if m.head.state == "gone" {
		if b != nil {
			b.gone, b.taken = true, m.head.inbox
		}
		delete(h.trees, root)
		h.buried[m.id] = m.seq
		return m.seq, nil
	}
	if b == nil {
		b = &berth{sent: map[string]uint64{}}
		h.trees[root] = b
	}
	if whole {
		b.messages = nil
	}
	b.messages = append(b.messages, m)
	h.w.lasting = append(h.w.lasting, m.entries)
	for _, s := range h.seats {
		if t := s.owned[root]; t != nil && t.owns && m.head.owner != s && !strings.HasPrefix(m.id, s.id+".") {
			s.start(func() { s.hears(t, m.seq) })
		}
	}
	h.kick()
	return m.seq, nil
}

func (h *harbor) kick() {
	for _, s := range h.seats {
		if s.taker != nil && !s.over() {
			_ = s.taker.Unpark()
		}
	}
}

// A seat is a participant, with its process. It is a durable.Shared.
type seat struct {
	*process
	h        *harbor
	id       string
	host     durable.Host
	k        *durable.Keeper
	ctx      context.Context
	taker    *vthread.Thread
	owned    map[string]*hold
	taking   map[string]bool
	fails    map[string]time.Time // until when a tree is left alone
	ids      int
	silent   time.Time // since when nobody hears of it; zero: it is heard
	frozen   time.Time // until when it is cut off
	patience time.Time // when it gives up; zero: it does not leave
	shut     bool
	actAt    int // commit after which act is called
	act      func()
}

// A hold is a tree that a participant has.
type hold struct {
	root  string
	takes vsync.Mutex // of who takes what is in the inbox
	mu    vsync.Mutex // held while a commit is under way
	life  vsync.Mutex // held while the keeper is given it, or is told that it is lost
	seq   uint64
	head  moored
	live  map[string]bool
	owns  bool
	lost  bool
	reads bool // a thread takes what is in the inbox
}

func (s *seat) start(f func()) *vthread.Thread {
	return vthread.Builder{Scheduler: s.h.sched}.Start(f)
}

// on calls f on a thread. A plain goroutine comes at a moment that is its own: nobody knows who is first of several.
func (s *seat) on(root string, f func() error) (err error) {
	if vthread.Current() != nil {
		return f()
	}
	sum := fnv.New64a()
	fmt.Fprint(sum, s.id, root)
	time.Sleep(time.Duration(1 + sum.Sum64()%1_000_003))
	done := make(chan struct{})
	s.start(func() {
		defer close(done)
		err = f()
	})
	<-done
	return err
}

// over reports whether a participant does nothing any more.
func (s *seat) over() bool {
	if s.patience.IsZero() && s.ctx != nil && s.ctx.Err() != nil {
		s.patience = time.Now().Add(time.Second)
	}
	return s.dead || s.shut || !s.patience.IsZero() && !time.Now().Before(s.patience)
}

// reach waits until the servers can be reached.
func (s *seat) reach() error {
	for !s.over() && time.Now().Before(s.frozen) {
		until := s.frozen
		if !s.patience.IsZero() && s.patience.Before(until) {
			until = s.patience
		}
		vthread.Sleep(min(time.Until(until), time.Second))
	}
	if s.over() {
		return durable.ErrClosed
	}
	return nil
}

// way is that of a message to the servers, or back.
func (s *seat) way() { vthread.Sleep(time.Duration(1 + s.w.random.IntN(300_000))) }

// freeze cuts a participant off.
func (s *seat) freeze(d time.Duration) {
	s.h.stats.frozen++
	s.frozen, s.silent = time.Now().Add(d), time.Now()
	s.w.note("%s is cut off for %v", s.id, d)
	s.h.kick()
	s.start(func() {
		vthread.Sleep(d)
		if !s.dead && !s.shut {
			s.silent = time.Time{}
		}
		if s.taker != nil {
			_ = s.taker.Unpark()
		}
	})
}

func (s *seat) die() {
	s.h.stats.deaths++
	s.dead, s.err = true, errDead
	if s.silent.IsZero() {
		s.silent = time.Now()
	}
	s.w.note("%s dies", s.id)
	s.h.kick()
}

// publish makes a message last, once, whatever happens to its answers.
func (s *seat) publish(root string, head moored, entries []journal.Entry, whole bool, after uint64) (uint64, error) {
	s.ids++
	m := message{id: fmt.Sprint(s.id, ".", s.ids), head: head, entries: entries}
	for {
		if err := s.reach(); err != nil {
			return 0, err
		}
		s.way()
		if s.dead {
			return 0, errDead
		}
		fate := s.w.random.IntN(16)
		switch fate {
		case 0: // it is lost
			vthread.Sleep(2 * time.Second)
			continue
		case 1: // it is late
			late := time.Duration(s.w.random.Int64N(int64(2 * lease)))
			s.h.stats.unknown++
			s.h.flight++
			s.start(func() {
				vthread.Sleep(late)
				_, _ = s.h.put(root, m, whole, after)
				s.h.flight--
			})
			vthread.Sleep(2 * time.Second)
			continue
		}
		seq, err := s.h.put(root, m, whole, after)
		if s.commits++; s.commits == s.actAt {
			s.act()
		}
		s.way()
		if s.dead {
			return 0, errDead
		}
		if fate == 2 && (err == nil || errors.Is(err, errRefused)) || time.Now().Before(s.frozen) { // the answer is lost
			s.h.stats.unknown++
			vthread.Sleep(2 * time.Second)
			continue
		}
		return seq, err
	}
}

func rootOf(id string) string {
	root, _, _ := strings.Cut(id, "/")
	return root
}

// Commit is that of a durable.Shared.
func (s *seat) Commit(entries ...journal.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	root := rootOf(entries[0].Thread)
	for _, e := range entries {
		if rootOf(e.Thread) != root {
			s.w.problem("a commit of %s and %s", root, e.Thread)
		}
	}
	return s.on(root, func() error {
		e := &entries[0]
		if (e.Op == journal.OpNew || e.Op == journal.OpWhole) && e.Parent == "" {
			return s.begin(root, entries)
		}
		if t := s.owned[root]; t != nil {
			return s.commit(t, entries)
		}
		for {
			b := s.h.trees[root]
			switch {
			case e.Op != journal.OpDrop || e.Thread != root:
				return durable.ErrFenced
			case b == nil:
				return nil
			case b.last().head.state != "over":
				return durable.ErrRuns
			}
			if _, err := s.publish(root, moored{state: "gone"}, nil, true, b.last().seq); !errors.Is(err, errRefused) {
				return err
			}
		}
	})
}

func (s *seat) commit(t *hold, entries []journal.Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return durable.ErrFenced
	}
	if entries[0].Op == journal.OpDrop && entries[0].Thread == t.root {
		_, err := s.publish(t.root, moored{state: "gone", inbox: t.head.inbox}, nil, true, t.seq)
		switch {
		case err == nil:
			s.disown(t)
		case errors.Is(err, errRefused):
			s.lose(t)
			err = durable.ErrFenced
		}
		return err
	}
	h, live := t.head, map[string]bool{}
	for id := range t.live {
		live[id] = true
	}
	h.fold(t.root, entries, live)
	if h.state == "over" {
		h.owner = nil
	}
	if err := s.append(t, h, entries, entries[0].Op == journal.OpBase && entries[0].Image != nil); err != nil {
		return err
	}
	if t.live = live; h.state == "over" {
		s.disown(t)
	}
	return nil
}

// fold tells a head of entries.
func (h *moored) fold(root string, entries []journal.Entry, live map[string]bool) {
	h.state, h.until = "runs", time.Time{}
	for _, e := range entries {
		switch e.Op {
		case journal.OpNew:
			live[e.Thread] = true
		case journal.OpWhole, journal.OpBase:
			if e.Image != nil && !e.Image.Ended {
				live[e.Thread] = true
			}
		case journal.OpEnd, journal.OpDrop:
			delete(live, e.Thread)
			h.ended = h.ended || e.Op == journal.OpEnd && e.Thread == root
		}
		h.inbox = max(h.inbox, e.Inbox)
		if e.Thread == root && e.Step != nil && e.Step.Kind == journal.StepMove {
			h.leaves = e.Step.Open
		}
	}
	if len(live) == 0 {
		h.state = "over"
	}
}

func (s *seat) append(t *hold, h moored, entries []journal.Entry, whole bool) error {
	seq, err := s.publish(t.root, h, entries, whole, t.seq)
	switch {
	case err == nil:
		t.seq, t.head = seq, h
	case errors.Is(err, errRefused):
		s.h.stats.fenced++
		s.lose(t)
		return durable.ErrFenced
	}
	return err
}

func (s *seat) begin(root string, entries []journal.Entry) error {
	if s.owned[root] != nil {
		return durable.ErrExists
	}
	t := &hold{root: root, live: map[string]bool{}, head: moored{owner: s}}
	t.head.fold(root, entries, t.live)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.owned[root] != nil {
		return durable.ErrExists
	}
	s.owned[root] = t
	seq, err := s.publish(root, t.head, entries, false, 0)
	if errors.Is(err, errRefused) {
		err = durable.ErrExists
	}
	if err != nil {
		s.disown(t)
		return err
	}
	t.seq, t.owns = seq, true
	s.receive(t)
	return nil
}

func (s *seat) disown(t *hold) {
	if s.owned[t.root] == t {
		delete(s.owned, t.root)
	}
	s.h.kick()
}

// lose tells the keeper, once, that a tree is another's.
func (s *seat) lose(t *hold) {
	if t.lost {
		return
	}
	t.lost = true
	s.start(func() {
		t.life.Lock()
		s.host.Lose(t.root)
		t.life.Unlock()
		s.disown(t)
	})
}

// hears is told that somebody else has published a message of a tree.
func (s *seat) hears(t *hold, seq uint64) {
	vthread.Sleep(time.Duration(1 + s.w.random.Int64N(int64(3*time.Second))))
	if s.reach() != nil {
		return
	}
	t.mu.Lock()
	later := seq > t.seq
	t.mu.Unlock()
	if later && t.owns && s.owned[t.root] == t && !s.over() && !s.h.open {
		s.lose(t)
	}
}

// Release is that of a durable.Shared.
func (s *seat) Release(root string, r durable.Rest) error {
	return s.on(root, func() error {
		t := s.owned[root]
		if t == nil {
			return durable.ErrFenced
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.lost {
			return durable.ErrFenced
		}
		h := t.head
		h.owner, h.state = nil, "runs"
		if r.Waits {
			h.state, h.until = "waits", r.Until
		}
		if r.Misfit != nil {
			h.misfits = durable.AddMisfit(h.misfits, *r.Misfit)
			s.h.stats.misfits++
		}
		if err := s.append(t, h, []journal.Entry{{Thread: root, Op: journal.OpRelease, Name: s.id}}, false); err != nil {
			return err
		}
		s.h.stats.released++
		s.disown(t)
		return nil
	})
}

// Leave is that of a durable.Shared.
func (s *seat) Leave(root string, leaves bool) error {
	return s.on(root, func() error {
		t := s.owned[root]
		if t == nil {
			return durable.ErrFenced
		}
		t.takes.Lock()
		t.mu.Lock()
		h, err := t.head, durable.ErrFenced
		h.leaves = leaves
		if !t.lost {
			err = s.append(t, h, []journal.Entry{}, false)
		}
		before := t.seq
		t.mu.Unlock()
		if err == nil && leaves {
			_, err = s.receiveSome(t, before)
		}
		t.takes.Unlock()
		if err == nil && !leaves {
			s.receive(t)
		}
		return err
	})
}

// Send is that of a durable.Shared.
func (s *seat) Send(e journal.Entry) error {
	root := rootOf(e.Thread)
	return s.on(root, func() error {
		s.ids++
		id := fmt.Sprint(s.id, ".", s.ids)
		for {
			if err := s.reach(); err != nil {
				return err
			}
			b := s.h.trees[root]
			switch {
			case b == nil:
				return durable.ErrNone
			case b.last().head.state == "over", b.last().head.ended && e.Thread == root:
				return durable.ErrDone
			}
			s.way()
			fate := s.w.random.IntN(16)
			if fate == 0 { // it is lost
				vthread.Sleep(2 * time.Second)
				continue
			}
			if b.sent[id] == 0 {
				s.h.seq++
				e.Inbox = s.h.seq
				b.sent[id] = e.Inbox
				b.inbox = append(b.inbox, e)
				s.w.note("%s %d: inbox of %s: %s %s", id, e.Inbox, e.Thread, e.Name, e.Value)
				for _, o := range s.h.seats {
					if t := o.owned[root]; t != nil && t.owns {
						o.receive(t)
					}
				}
				s.h.kick()
			}
			s.way()
			for !b.gone && b.last().head.leaves && b.last().head.inbox < b.sent[id] {
				if vthread.Sleep(time.Second); s.over() {
					return durable.ErrClosed
				}
			}
			switch {
			case b.gone && b.taken < b.sent[id]:
				return durable.ErrNone
			case fate > 1:
				return nil
			}
		}
	})
}

// End is that of a durable.Shared.
func (s *seat) End(ctx context.Context, root string) (journal.Entry, error) {
	for look := time.Second; ; look = min(2*look, 10*time.Minute) {
		if err := errors.Join(s.reach(), ctx.Err()); err != nil {
			return journal.Entry{}, err
		}
		b := s.h.trees[root]
		if b == nil {
			return journal.Entry{}, durable.ErrNone
		}
		if b.last().head.ended {
			for _, m := range b.messages {
				for _, e := range m.entries {
					if e.Op == journal.OpEnd && e.Thread == root {
						return e, nil
					}
				}
			}
			return journal.Entry{}, fmt.Errorf("%s has ended, and has no end", root)
		}
		vthread.Sleep(look)
	}
}

// Load is that of a durable.Shared.
func (s *seat) Load(f func(journal.Entry) error) error {
	for _, root := range s.h.roots() {
		for _, m := range s.h.trees[root].messages {
			for _, e := range m.entries {
				if err := f(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (h *harbor) roots() (all []string) {
	for root := range h.trees {
		all = append(all, root)
	}
	slices.Sort(all)
	return all
}

// Close is that of a durable.Shared: the others are told, unless it is cut off.
func (s *seat) Close() error {
	return s.on("", func() error {
		s.shut = true
		s.err = durable.ErrClosed
		if s.silent.IsZero() {
			s.silent = time.Now().Add(-lease)
		}
		s.w.note("%s is closed", s.id)
		s.h.kick()
		return nil
	})
}

// Join is that of a durable.Shared.
func (s *seat) Join(ctx context.Context, h durable.Host) error {
	s.host, s.ctx = h, ctx
	s.taker = s.start(s.take)
	return nil
}

// when is when a tree may be taken; zero: not as far as is known.
func (s *seat) when(b *berth) time.Time {
	switch h := &b.last().head; {
	case h.state == "over":
		return time.Time{}
	case h.owner != nil && h.owner != s:
		if h.owner.silent.IsZero() {
			return time.Time{}
		}
		return h.owner.silent.Add(lease)
	case h.state == "waits" && b.pending(), h.state != "waits" && len(h.misfits) == 0:
		return time.Now()
	case len(h.misfits) == 0:
		return h.until
	default:
		at := durable.Fits(h.misfits, s.host.Code())
		if at.IsZero() {
			at = time.Now()
		}
		if h.state == "waits" && !h.until.IsZero() && h.until.Before(at) {
			return h.until
		}
		return at
	}
}

// take takes trees as they are due, and there is room, until the keeper leaves.
func (s *seat) take() {
	for s.ctx.Err() == nil && s.reach() == nil {
		wait, found := time.Hour, ""
		for _, root := range s.h.roots() {
			at := s.when(s.h.trees[root])
			if at.IsZero() || s.owned[root] != nil || s.taking[root] {
				continue
			}
			if until := s.fails[root]; until.After(at) {
				at = until
			}
			if d := time.Until(at); d < wait {
				wait, found = max(d, 0), root
			}
		}
		if found == "" || wait > 0 {
			vthread.ParkFor(max(wait, time.Millisecond))
			continue
		}
		if s.h.room > 0 && len(s.owned)+len(s.taking) >= s.h.room {
			vthread.ParkFor(time.Second) // an hour of less would be millions of choices
			continue
		}
		s.taking[found] = true
		s.start(func() {
			vthread.Sleep(time.Duration(1 + s.w.random.Int64N(int64(20*time.Millisecond)))) // it hesitates
			err := s.takeOne(found)
			delete(s.taking, found)
			delete(s.fails, found)
			if err != nil {
				s.fails[found] = time.Now().Add(200 * time.Millisecond)
			}
			_ = s.taker.Unpark()
		})
	}
}

func (s *seat) takeOne(root string) error {
	if err := s.reach(); err != nil {
		return err
	}
	b := s.h.trees[root]
	if b == nil || s.owned[root] != nil {
		return errRefused
	}
	if at := s.when(b); at.IsZero() || time.Until(at) > 0 {
		return errRefused
	}
	t := &hold{root: root, live: map[string]bool{}, seq: b.last().seq, head: b.last().head}
	waited := t.head.state == "waits"
	var entries, came []journal.Entry
	for _, m := range b.messages {
		entries = append(entries, m.entries...)
	}
	var told moored
	told.fold(root, entries, t.live)
	came = append(came, journal.Entry{Thread: root, Op: journal.OpLease, Name: s.id})
	for _, e := range b.inbox {
		if e.Inbox > t.head.inbox && !told.leaves {
			came = append(came, e)
		}
	}
	s.owned[root] = t
	t.life.Lock()
	s.way() // what was read may be old by now
	err := s.host.Take(root, append(entries, came...), func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		h := t.head
		h.fold(root, came, t.live)
		h.owner, h.leaves = s, told.leaves
		seq, err := s.publish(root, h, came, false, t.seq)
		if err == nil {
			t.owns, t.seq, t.head = true, seq, h
			s.h.stats.taken++
			if waited {
				s.h.stats.woken++
			}
		}
		return err
	})
	t.life.Unlock()
	if err != nil && !t.owns {
		if !errors.Is(err, errRefused) && !errors.Is(err, durable.ErrClosed) && !s.over() {
			s.w.problem("%s takes %s: %v", s.id, root, err)
		}
		s.disown(t)
		return err
	}
	s.receive(t)
	return nil
}

// receive takes what came for a tree into its journal. It does not wait.
func (s *seat) receive(t *hold) {
	if t.reads || s.over() {
		return
	}
	t.reads = true
	s.start(func() {
		defer func() { t.reads = false }()
		for pause := 10 * time.Millisecond; s.owned[t.root] == t && !t.lost && s.reach() == nil; pause = min(2*pause, 10*time.Second) {
			s.way()
			t.takes.Lock()
			more := false
			if !t.head.leaves {
				more, _ = s.receiveSome(t, math.MaxUint64)
			}
			t.takes.Unlock()
			if !more {
				return
			}
			vthread.Sleep(pause)
		}
	})
}

// receiveSome takes what came before a message of the store, and reports whether there was something.
func (s *seat) receiveSome(t *hold, before uint64) (bool, error) {
	t.mu.Lock()
	after := t.head.inbox
	t.mu.Unlock()
	b := s.h.trees[t.root]
	if b == nil || len(b.inbox) == 0 || b.inbox[len(b.inbox)-1].Inbox <= after {
		return false, nil
	}
	for _, e := range slices.Clone(b.inbox) {
		if e.Inbox <= after || e.Inbox > before {
			continue
		}
		if err := s.host.Receive(e); err != nil {
			return true, err
		}
		s.h.stats.received++
		t.mu.Lock()
		t.head.inbox = max(t.head.inbox, e.Inbox)
		t.mu.Unlock()
	}
	return true, nil
}
