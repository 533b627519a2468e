package jetstream

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// CutForTest cuts the store off from its servers for good, as if its process were dead.
func (s *Store) CutForTest() { s.nc.Close() }

// LeaderForTest returns the name of the server that leads the stream, "" if none is known to.
func (s *Store) LeaderForTest() string {
	ctx, cancel := context.WithTimeout(context.Background(), ackWithin)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil || info.Cluster == nil {
		return ""
	}
	return info.Cluster.Leader
}

// WholeForTest reports whether two more servers have all that the leader of the stream has.
func (s *Store) WholeForTest(ctx context.Context) bool {
	info, err := s.stream.Info(ctx)
	if err != nil || info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
		return false
	}
	for _, r := range info.Cluster.Replicas {
		if !r.Current || r.Offline || r.Lag > 0 {
			return false
		}
	}
	return true
}

// MessagesForTest returns how many messages the stream has, 0 if it does not answer.
func (s *Store) MessagesForTest(ctx context.Context) uint64 {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return 0
	}
	return info.State.Msgs
}

// FillForTest makes n trees that hibernate, with the messages of real ones, but without a keeper: PREFIX0 to PREFIX(n-1).
func (s *Store) FillForTest(ctx context.Context, prefix string, n int) error {
	since := time.Now().Add(-time.Hour)
	return s.ManyForTest(ctx, n, func(i int) (string, nats.Header, []journal.Entry) {
		root := fmt.Sprint(prefix, i)
		h := head{State: waits, Body: "asks", For: `signal "word"`, Since: since}
		return root, headerFor(h), []journal.Entry{
			{Thread: root, Op: journal.OpNew, At: since, Body: h.Body, Args: json.RawMessage("1")},
			{Thread: root, Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepSignal, Name: "word", Open: true, At: since}},
			{Thread: root, Op: journal.OpRelease, Name: "filler"},
		}
	})
}

// ChangeForTest publishes n messages of trees that FillForTest has made, as others would who take trees, record a step, and give them back.
func (s *Store) ChangeForTest(ctx context.Context, prefix string, trees, from, n int) error {
	now := time.Now()
	return s.ManyForTest(ctx, n, func(i int) (string, nats.Header, []journal.Entry) {
		root := fmt.Sprint(prefix, (from+i)/3%trees)
		h := head{Owner: "0123456789abcdef", Name: "host-of-another:4711", State: runs, Body: "asks", Moves: 1}
		e := journal.Entry{Thread: root, Op: journal.OpLease, Name: h.Name}
		switch (from + i) % 3 {
		case 1:
			e = journal.Entry{Thread: root, Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepDo, Name: "pay", Value: json.RawMessage(`"paid"`), At: now, Took: time.Millisecond}}
		case 2:
			h.Owner, h.Name, h.State, h.For, h.Since = "", "", waits, `signal "word"`, now
			e = journal.Entry{Thread: root, Op: journal.OpRelease, Name: "host-of-another:4711"}
		}
		return root, headerFor(h), []journal.Entry{e}
	})
}

func headerFor(h head) nats.Header {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return nats.Header{headerHead: {string(text)}}
}

// ManyForTest publishes n messages of trees, in their order.
func (s *Store) ManyForTest(ctx context.Context, n int, message func(i int) (string, nats.Header, []journal.Entry)) error {
	many, err := js.New(s.nc, js.WithPublishAsyncMaxPending(256))
	if err != nil {
		return err
	}
	for i := range n {
		root, h, entries := message(i)
		data, err := json.Marshal(entries)
		if err != nil {
			return err
		}
		h.Set(headerID, s.nextID())
		if _, err := many.PublishMsgAsync(&nats.Msg{Subject: s.names.tree(root), Header: h, Data: data}, js.WithStallWait(time.Minute)); err != nil {
			return err
		}
	}
	select {
	case <-many.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// PutForTest publishes bytes as the next message of a tree.
func (s *Store) PutForTest(ctx context.Context, root string, data []byte) error {
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: s.names.tree(root), Header: headerFor(head{State: waits, Body: "broken"}), Data: data})
	return err
}

// BuryForTest drops a tree as the store does that has looked at it when it was over; since then somebody else has dropped it, and begun another one.
func (s *Store) BuryForTest(root string) error { return s.bury(&tree{root: root}, head{}, 0) }

// PatienceForTest changes how long a participant is waited for at most that was not heard of.
func (r *Reader) PatienceForTest(d time.Duration) { r.patience = d }

// RememberForTest remembers n sendings of contents of that size, of which nobody knows whether they have arrived.
func (s *Store) RememberForTest(n, size int) {
	for i := range n {
		data := make([]byte, size)
		binary.LittleEndian.PutUint64(data, uint64(i))
		s.sendings.remember(contentOf(data), sending{began: time.Now()})
	}
}

// RawForTest publishes bytes as the next message of a tree, with the head of one that is there.
func (s *Store) RawForTest(ctx context.Context, root string, data []byte) error {
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: s.names.tree(root), Header: headerFor(head{State: runs, Body: "asks"}), Data: data})
	return err
}

// SeenForTest returns up to which message of a tree a participant has followed.
func (s *Store) SeenForTest(root string) uint64 {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if e := s.index.mu.trees[root]; e != nil {
		return e.seq
	}
	return 0
}

// LastForTest returns the number of the stream's last message.
func (s *Store) LastForTest(ctx context.Context) (uint64, error) {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// GiveUpForTest changes when a sending gives up: when that is closed which f returns as it begins; nil: after a minute.
func (s *Store) GiveUpForTest(f func() <-chan struct{}) {
	s.giveUp = func(ctx context.Context) (context.Context, context.CancelFunc) {
		when := f()
		if when == nil {
			return context.WithTimeoutCause(ctx, time.Minute, durable.ErrUnanswered)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		go func() {
			select {
			case <-when:
				cancel(durable.ErrUnanswered)
			case <-ctx.Done():
			}
		}()
		return ctx, func() { cancel(nil) }
	}
}

// AgeForTest makes what was sent, and was not answered, that much older.
func (s *Store) AgeForTest(d time.Duration) {
	s.sendings.Lock()
	defer s.sendings.Unlock()
	for _, all := range s.sendings.all {
		for i := range all {
			all[i].began = all[i].began.Add(-d)
		}
	}
}

// SaysNoneForTest reports whether the server that is asked says that there is no such tree.
func (s *Store) SaysNoneForTest(root string) bool {
	_, err := s.lastOf(context.Background(), root)
	return errors.Is(err, errNone)
}

// DueForTest returns when this participant would take a tree, as far as it knows; zero if it would not.
func (s *Store) DueForTest(root string) time.Time {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	if e := s.index.mu.trees[root]; e != nil {
		return s.index.when(e)
	}
	return time.Time{}
}
