package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/durable"
)

// Leave is that of a [durable.Shared]. A tree that leaves says so in its head. What came before that message is taken, however late a server tells of it; who has sent what came after it
// waits for what becomes of the tree (settled). So nothing is between them, though the owner and the sender never speak.
func (s *Store) Leave(root string, leaves bool) error {
	t := s.tree(root)
	if t == nil {
		return fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrFenced)
	}
	t.receives.Lock()
	defer t.receives.Unlock()
	t.mu.Lock()
	h, err := t.mu.head, error(nil)
	h.Leaves = leaves
	if t.lost.Load() {
		err = fmt.Errorf("jetstream: tree %s: %w", root, durable.ErrFenced)
	} else {
		err = s.append(t, h, nil, false)
	}
	before := t.mu.seq
	t.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !leaves:
		s.receive(t)
		return nil
	}
	return s.drain(t, before)
}

// drain takes all that came for a tree before a message of its own. The caller has t.receives.
func (s *Store) drain(t *tree, before uint64) error {
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		at, err := s.standing(s.hard, t.root, before)
		if err != nil {
			return fmt.Errorf("jetstream: inbox of tree %s: %w", t.root, err)
		}
		t.mu.Lock()
		taken := t.mu.head.Inbox
		t.mu.Unlock()
		if at.inbox <= taken {
			return nil
		}
		entries, last, err := s.came(s.hard, t.root, taken)
		if err == nil && last < at.inbox {
			err = errBehind
		}
		if err == nil {
			for _, e := range entries {
				if e.Inbox > before {
					break
				}
				if err := s.host.Receive(e); err != nil {
					return fmt.Errorf("jetstream: inbox of tree %s: %w", t.root, err)
				}
				s.count.received.Add(1)
				taken = e.Inbox
			}
			t.mu.Lock()
			t.mu.head.Inbox = max(t.mu.head.Inbox, taken) // also of those that nobody wants any more
			t.mu.Unlock()
			return nil
		}
		s.setTrouble(fmt.Errorf("inbox of tree %s: %w", t.root, err))
		if err := sleep(s.hard, pause); err != nil {
			return fmt.Errorf("jetstream: inbox of tree %s: %w", t.root, err)
		}
	}
}

// standing is surely for who knows of a message of the tree or of its inbox: any server that has it, or a later one, tells. It costs no message, but where servers are behind.
func (s *Store) standing(ctx context.Context, root string, seq uint64) (*standing, error) {
	for try := range 3 {
		all, more, err := s.someMessages(ctx, request{Multi: []string{s.names.tree(root), s.names.inbox(root)}})
		at, _, bad := s.standingOf(root, all)
		if bad != nil {
			return nil, bad
		}
		if err == nil && !more && (at.inbox >= seq || at.tree != nil && at.tree.seq >= seq) {
			return at, nil
		}
		s.setTrouble(fmt.Errorf("read of tree %s: %w", root, cmp.Or(err, errBehind)))
		if err := sleep(ctx, retryFirst<<try); err != nil {
			return nil, err
		}
	}
	return s.surely(ctx, root)
}

// settled waits until it is known whether a message of an inbox, which was sent, is taken: at once, unless its tree leaves. A tree that is there and does not leave takes what came before it
// does. The error matches ctx's cause, [durable.ErrNone], and then nobody takes the message, [durable.ErrUnknown], or [journal.ErrDamaged].
func (s *Store) settled(ctx context.Context, root string, seq uint64) error {
	tried := false // to remove it
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		at, err := s.standing(ctx, root, seq)
		if err != nil {
			return err
		}
		switch there := at.tree != nil && at.tree.head.State != gone; {
		case there && tried: // it came back at that moment, with the message or without it
			return durable.ErrUnknown
		case at.tree != nil && at.tree.head.Inbox >= seq, there && !at.tree.head.Leaves:
			return nil
		case there:
			err = errLeaves
		default:
			in := at.inbox >= seq
			if in {
				var m *message
				if m, err = s.message(ctx, request{Seq: seq, Next: s.names.inbox(root)}); err == nil {
					in = m.seq == seq
				}
			}
			switch {
			case err != nil:
			case in:
				tried = true
				err = s.stream.DeleteMsg(ctx, seq)
			case tried, at.tree != nil:
				return durable.ErrNone
			default: // its inbox was removed as far as it was taken, before the tree was
				return nil
			}
		}
		if err != nil {
			s.setTrouble(fmt.Errorf("inbox of tree %s: message %d: %w", root, seq, err))
			if err := sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
}

var errLeaves = errors.New("the tree leaves, and it is not known yet whether it stays")
