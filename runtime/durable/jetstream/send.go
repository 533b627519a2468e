package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A sending is a signal or a permit that was sent, and of which nobody knows whether it arrived.
//
//	S1  Attempts that are made within the window have one id: the servers take one of them.
//	S2  What is sent later was looked for before, and is sent again only if it has neither arrived nor been taken from the inbox.
type sending struct {
	id    string
	began time.Time // the first attempt of its window
	after uint64    // if it arrived, it is after this message of the stream
}

const (
	window    = 2 * time.Minute // how long the servers know ids of messages: who asks twice within it has one message
	giveUp    = window / 4      // when a sending tells that nobody has answered
	unsent    = 10_000          // sendings that are remembered
	unsentFor = time.Hour
)

// sendings are those of a store that a second call with the same content goes on with.
type sendings struct {
	sync.Mutex
	n   int
	all map[content][]sending
}

// A content tells sendings apart, and is not them: they may be large, and many.
type content [sha256.Size]byte

func contentOf(data []byte) content { return sha256.Sum256(data) }

// givesUp ends a sending that nobody answers.
func givesUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, giveUp, durable.ErrUnanswered)
}

// Send is that of a [durable.Shared].
func (s *Store) Send(e journal.Entry) error {
	root := rootOf(e.Thread)
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := s.giveUp(s.hard)
	defer cancel()
	begun := time.Now()
	tell := func(what string, err error) error {
		if errors.Is(err, durable.ErrUnanswered) {
			what = fmt.Sprintf("%s, after %v", what, time.Since(begun).Round(time.Millisecond))
		}
		return fmt.Errorf("jetstream: inbox of tree %s: %s: %w", root, what, err)
	}
	sum := contentOf(data)
	p, again := s.sendings.remembered(sum)
	last, err := s.lastSurely(ctx, root)
	switch {
	case errors.Is(err, errNone) && again:
		return tell("it may have been taken before the thread has left, or was forgotten", durable.ErrUnknown)
	case errors.Is(err, errNone):
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrNone)
	case err != nil && again:
		s.sendings.remember(sum, p)
		return tell("it is not known whether it was taken", err)
	case err != nil:
		return tell("nothing was sent", err)
	case last.head.State == over, last.head.Ended && e.Thread == root:
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrDone)
	}
	switch {
	case !again:
		p = sending{s.nextID(), time.Now(), last.seq}
	case time.Since(p.began) > window-2*giveUp: // S2
		switch seq, err := s.arrived(ctx, root, p); {
		case errors.Is(err, durable.ErrUnknown):
			return tell("others have come and were taken since", err)
		case err != nil:
			s.sendings.remember(sum, p)
			return tell("it is not known whether it was taken", err)
		case seq > 0:
			return s.await(ctx, root, sum, p, seq, tell)
		}
		p.began = time.Now()
	}
	seq, err := s.publish(ctx, s.names.inbox(root), nats.Header{headerID: {p.id}}, data, nil)
	if err == nil {
		return s.await(ctx, root, sum, p, seq, tell)
	}
	if errors.Is(err, durable.ErrUnanswered) {
		s.sendings.remember(sum, p)
	}
	if errors.Is(err, journal.ErrTooLarge) {
		return tell("nothing was sent", err)
	}
	return tell("it is not known whether it was taken", err)
}

// await returns when it is known that a sending, which the servers have, is taken or will be.
func (s *Store) await(ctx context.Context, root string, sum content, p sending, seq uint64, tell func(string, error) error) error {
	err := s.settled(ctx, root, seq)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, durable.ErrNone):
		return fmt.Errorf("jetstream: tree %s: it has left, or was forgotten: %w", root, err)
	case errors.Is(err, durable.ErrUnanswered):
		s.sendings.remember(sum, p)
	}
	return tell("it has arrived, and it is not known whether it is taken", err)
}

// arrived returns the sequence of a sending that is in a tree's inbox, 0 if it is not. The error matches [durable.ErrUnknown] if it may have been taken from there.
func (s *Store) arrived(ctx context.Context, root string, p sending) (uint64, error) {
	at, err := s.surely(ctx, root)
	if err != nil {
		return 0, err
	}
	if at.inbox > p.after {
		all, err := s.messages(ctx, s.names.inbox(root), p.after+1)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", durable.ErrUnanswered, err)
		}
		for i := range all {
			if all[i].header.Get(headerID) == p.id {
				return all[i].seq, nil
			}
		}
		if len(all) == 0 || all[len(all)-1].seq < at.inbox { // they were taken since, or it is behind: the next call will tell
			return 0, fmt.Errorf("%w: %w", durable.ErrUnanswered, errBehind)
		}
	}
	if at.tree == nil || at.tree.head.Inbox > p.after {
		return 0, durable.ErrUnknown
	}
	return 0, nil
}

// remembered returns a sending of that content of which it is not known whether it arrived, and forgets it.
func (x *sendings) remembered(sum content) (p sending, ok bool) {
	x.Lock()
	defer x.Unlock()
	all := x.all[sum]
	if len(all) == 0 {
		return p, false
	}
	if x.n--; len(all) == 1 {
		delete(x.all, sum)
	} else {
		x.all[sum] = all[1:]
	}
	return all[0], true
}

// remember notes a sending, as long as there is room.
func (x *sendings) remember(sum content, p sending) {
	x.Lock()
	defer x.Unlock()
	if x.all == nil {
		x.all = map[content][]sending{}
	}
	if x.n >= unsent {
		x.n = 0
		for one, all := range x.all {
			if time.Since(all[len(all)-1].began) > unsentFor {
				delete(x.all, one)
			} else {
				x.n += len(all)
			}
		}
	}
	if x.n < unsent {
		x.n++
		x.all[sum] = append(x.all[sum], p)
	}
}
