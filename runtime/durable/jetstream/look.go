package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// LookOptions bound a [Reader.Look]. The heads of all trees are read.
type LookOptions struct {
	Journals int           // of how many trees the journals are read at most: first of those that are not over, by how long they have been as they are. Default: 10,000; negative: all
	During   time.Duration // journals are read for so long at most. Default: 30 s
}

// A Look tells how a [Reader.Look] went.
type Look struct {
	Stream   string
	Messages uint64 // that the stream has
	Bytes    uint64
	Trees    int           // that there are; those that are gone are not
	Read     int           // of them those whose journal was read
	Damaged  int           // of them those whose journal cannot be read
	Late     bool          // journals were not read because During was over
	Came     uint64        // messages that came meanwhile: if there are any, trees are not of one moment
	Took     time.Duration // all of it
	Listened time.Duration // for beats
	Members  []Member
}

// A Member is a participant that was heard of, or that has trees.
type Member struct {
	Name    string
	Trees   int           // that it has, as the heads tell
	Lease   time.Duration // its own: it says something ten times within it
	Silent  bool          // it was not heard of for as long as it takes to be heard of twice, or has said that it leaves
	Unheard bool          // it was not heard of, and nobody can tell: its lease is so long that it may say nothing for as long as beats are waited for
}

// Limits of what is asked at a time.
const (
	headsAtOnce = 512       // the server gives 1,024 at most
	bytesAtOnce = 512 << 10 // a slow connection brings them in time
	readers     = 16
	mostMoves   = 20 // of a tree, the newest

	// beatsWithin is how long a participant that has trees, and the usual lease, may take to be heard of, and beatsUsual how long others are waited for: it says something each second.
	// One with a longer lease may take longer; but beatsMost is how long any is waited for.
	beatsWithin = 2200 * time.Millisecond
	beatsUsual  = 1200 * time.Millisecond
	beatsMost   = 30 * time.Second
)

// heardWithin is how long a participant with a lease may take to be heard of.
func heardWithin(lease time.Duration) time.Duration {
	return max(beatsWithin, beatsWithin*(lease/time.Millisecond)/(usualLease/time.Millisecond))
}

// Look calls f with all trees, one at a time, in no order. Its memory grows with the trees, by a kilobyte or two each, and not with their journals. The error matches [ErrSilent] or
// [ErrDenied], or is ctx's cause, or f's.
func (r *Reader) Look(ctx context.Context, o LookOptions, f func(*TreeSeen) error) (*Look, error) {
	o.Journals, o.During = cmp.Or(o.Journals, 10_000), cmp.Or(o.During, 30*time.Second)
	began := time.Now()
	r.listen()
	look := &Look{Stream: r.s.names.stream()}
	info, err := r.info(ctx, true)
	if err != nil {
		return nil, err
	}
	look.Messages, look.Bytes = info.State.Msgs, info.State.Bytes
	all, err := r.heads(ctx, info.State.Subjects)
	if err != nil {
		return nil, err
	}
	info.State.Subjects = nil
	look.Trees = len(all)
	least := time.Duration(0)
	if slices.ContainsFunc(all, func(t *TreeSeen) bool { return !t.Over }) {
		least = beatsUsual
	}
	look.Listened = r.awaitBeats(ctx, all, least)
	look.Members = r.members(all)
	read := len(all)
	if o.Journals >= 0 && o.Journals < read {
		read = o.Journals
		slices.SortFunc(all, func(a, b *TreeSeen) int {
			if a.Over != b.Over {
				return map[bool]int{true: 1, false: -1}[a.Over]
			}
			return cmp.Or(a.since().Compare(b.since()), cmp.Compare(a.ID, b.ID))
		})
	}
	if err := r.journals(ctx, all, read, began.Add(look.Listened+o.During), look, f); err != nil {
		return nil, err
	}
	after, err := r.info(ctx, false)
	if err != nil {
		return nil, err
	}
	if after.State.LastSeq > info.State.LastSeq {
		look.Came = after.State.LastSeq - info.State.LastSeq
	}
	look.Took = time.Since(began)
	return look, nil
}

// info asks what the stream has; with subjects how many messages of each.
func (r *Reader) info(ctx context.Context, subjects bool) (info *js.StreamInfo, err error) {
	var o []js.StreamInfoOpt
	if subjects {
		o = append(o, js.WithSubjectFilter(r.s.names.namespace+".>"))
	}
	err = r.ask(ctx, "stream "+r.s.names.stream(), func(ctx context.Context) (err error) {
		info, err = r.s.stream.Info(ctx, o...)
		return err
	})
	return info, err
}

// heads reads the last message of each tree, and of each inbox.
func (r *Reader) heads(ctx context.Context, counts map[string]uint64) ([]*TreeSeen, error) {
	var wanted []string
	for subject := range counts {
		if _, _, ok := r.s.names.of(subject); ok {
			wanted = append(wanted, subject)
		}
	}
	slices.Sort(wanted)
	trees, inboxes := map[string]*TreeSeen{}, map[string]uint64{}
	taken := map[string]uint64{} // of inboxes, by root
	for some := range slices.Chunk(wanted, headsAtOnce) {
		for from, more := uint64(0), true; more; {
			var got []message
			err := r.ask(ctx, "heads of trees", func(ctx context.Context) (err error) {
				got, more, err = r.s.someMessages(ctx, request{Multi: some, Seq: from, Batch: headsAtOnce, Bytes: bytesAtOnce})
				return err
			})
			if err != nil {
				return nil, err
			}
			for i := range got {
				m := &got[i]
				from = m.seq + 1
				root, inbox, ok := r.s.names.of(m.header.Get("Nats-Subject"))
				if !ok {
					continue
				}
				if inbox {
					inboxes[root] = m.seq
					continue
				}
				t, h := r.seenBy(root, m)
				if h.State == gone {
					delete(trees, root)
					continue
				}
				trees[root], taken[root] = t, h.Inbox
			}
			more = more && len(got) > 0
		}
	}
	all := make([]*TreeSeen, 0, len(trees))
	for root, t := range trees {
		t.told = inboxes[root] > taken[root]
		if t.told && !t.Over {
			t.Signals = true
			t.Inbox = map[string]int{root: int(min(counts[r.s.names.inbox(root)], 1<<30))}
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *TreeSeen) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// awaitBeats waits until each owner was heard of, or has had its time ([heardWithin]), and for so long at least, and tells how long beats were heard.
func (r *Reader) awaitBeats(ctx context.Context, all []*TreeSeen, least time.Duration) time.Duration {
	owners := map[string]time.Duration{}
	for _, t := range all {
		if t.owner != "" {
			owners[t.owner] = heardWithin(t.term)
		}
	}
	silent := map[string]bool{}
	for {
		listened := time.Since(r.listens)
		for id, within := range owners {
			if _, ok := r.heard(id); ok {
				delete(owners, id)
			} else if listened >= within {
				silent[id] = true
				delete(owners, id)
			}
		}
		if len(owners) == 0 && listened >= least || listened >= r.patience || sleep(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	for _, t := range all {
		_, unheard := owners[t.owner]
		t.Silent, t.unheard = silent[t.owner], unheard
	}
	return time.Since(r.listens)
}

// members returns who was heard of or has trees, sorted by name.
func (r *Reader) members(all []*TreeSeen) []Member {
	by := map[string]*Member{}
	for _, t := range all {
		if t.owner == "" {
			continue
		}
		if by[t.owner] == nil {
			by[t.owner] = &Member{Name: t.Owner, Lease: t.term, Silent: t.Silent, Unheard: t.unheard}
		}
		by[t.owner].Trees++
	}
	r.mu.Lock()
	for id, b := range r.mu.beats {
		if by[id] == nil && !b.Leaves {
			by[id] = &Member{Name: b.Name, Lease: leaseTold(b.Lease)}
		}
	}
	r.mu.Unlock()
	var found []Member
	for _, m := range by {
		found = append(found, *m)
	}
	slices.SortFunc(found, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), b.Trees-a.Trees) })
	return found
}

// journals reads the journals of the first trees, until it is late, and calls f with all.
func (r *Reader) journals(ctx context.Context, all []*TreeSeen, read int, late time.Time, look *Look, f func(*TreeSeen) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var mu sync.Mutex // of look, and of calls of f
	var workers sync.WaitGroup
	for range readers {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) || ctx.Err() != nil {
					return
				}
				t := all[i]
				all[i] = nil
				whole := i < read && time.Now().Before(late)
				err, done := error(nil), func() {}
				if whole {
					done, err = r.journal(ctx, t)
				}
				mu.Lock()
				switch {
				case errors.Is(err, errNone): // it is gone meanwhile
					look.Trees--
					err = nil
				case err == nil:
					if whole {
						look.Read++
					}
					look.Late = look.Late || i < read && !whole
					if t.Trouble != nil {
						look.Damaged++
					}
					err = f(t)
				}
				mu.Unlock()
				done()
				if err != nil {
					stop(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// smallTree is what trees may be of which several are read at a time.
var smallTree = journal.Limits{Bytes: 16 << 20, Memory: 64 << 20}

// journal reads the journal of a tree, and its inbox. What it holds that is none, or more than the limits, is the tree's Trouble; errNone says that the tree is gone. The caller calls done
// when it has done with the tree: of large ones there is one at a time.
func (r *Reader) journal(ctx context.Context, t *TreeSeen) (done func(), err error) {
	done = func() {}
	small := journal.Limits{Bytes: min(smallTree.Bytes, r.limits.Bytes), Memory: min(smallTree.Memory, r.limits.Memory)}
	err = r.journalWithin(ctx, t, small)
	if (errors.Is(err, journal.ErrTooLarge) || errors.Is(err, journal.ErrMemory)) && small != r.limits {
		r.large.Lock()
		done = r.large.Unlock
		err = r.journalWithin(ctx, t, r.limits)
	}
	if errors.Is(err, journal.ErrTooLarge) || errors.Is(err, journal.ErrMemory) {
		t.Root, t.Trouble, err = nil, err, nil
	}
	return done, err
}

func (r *Reader) journalWithin(ctx context.Context, t *TreeSeen, limits journal.Limits) error {
	all, err := r.messages(ctx, r.s.names.tree(t.ID), 1, limits.Bytes)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errNone
	}
	last := &all[len(all)-1]
	now, h := r.seenBy(t.ID, last)
	if h.State == gone {
		return errNone
	}
	now.Silent, now.unheard, now.told = t.Silent && now.owner == t.owner, t.unheard && now.owner == t.owner, t.told
	*t = *now
	t.Moves = r.moves(all)
	read, err := readTree(all, limits.Unpacker().Entries)
	if err == nil {
		t.Root, err = read.image(t.ID)
	}
	if errors.Is(err, journal.ErrMemory) {
		return err
	}
	t.Trouble = err
	if t.Over || !t.told {
		return nil
	}
	came, err := r.messages(ctx, r.s.names.inbox(t.ID), h.Inbox+1, limits.Bytes)
	if err != nil {
		return err
	}
	for i := range came {
		if e, err := limits.UnpackEntry(came[i].data); err == nil && rootOf(e.Thread) == t.ID {
			if t.Inbox == nil {
				t.Inbox = map[string]int{}
			}
			t.Inbox[e.Thread]++
			t.Signals = true
		}
	}
	return nil
}

// messages is [Store.messages] in smaller pieces, each of which is asked for again. The error matches [journal.ErrTooLarge] if they have more bytes than most.
func (r *Reader) messages(ctx context.Context, subject string, from uint64, most int) (all []message, err error) {
	for bytes, more := 0, true; more; {
		var some []message
		err := r.ask(ctx, "read "+subject, func(ctx context.Context) (err error) {
			some, more, err = r.s.someMessages(ctx, request{Seq: max(from, 1), Next: subject, Batch: batch, Bytes: bytesAtOnce})
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			break
		}
		all = append(all, some...)
		from = some[len(some)-1].seq + 1
		for i := range some {
			bytes += len(some[i].data)
		}
		if bytes > most {
			return nil, fmt.Errorf("%w: %s has more than %d bytes", journal.ErrTooLarge, subject, most)
		}
	}
	return all, nil
}

// Thread returns the tree of a thread, with its journal; nil if there is none. Of participants it tells only whether the tree's is silent.
func (r *Reader) Thread(ctx context.Context, id string) (*TreeSeen, *Look, error) {
	began := time.Now()
	r.listen()
	info, err := r.info(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	look := &Look{Stream: r.s.names.stream(), Messages: info.State.Msgs, Bytes: info.State.Bytes}
	root := rootOf(id)
	if checkRoot(root) != nil {
		return nil, look, nil
	}
	t := &TreeSeen{Tree: Tree{ID: root}, told: true}
	done, err := r.journal(ctx, t)
	done()
	if errors.Is(err, errNone) {
		return nil, look, nil
	}
	if err != nil {
		return nil, nil, err
	}
	look.Trees, look.Read = 1, 1
	r.awaitBeats(ctx, []*TreeSeen{t}, 0)
	look.Took = time.Since(began)
	return t, look, nil
}
