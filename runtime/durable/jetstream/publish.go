package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// Codes of errors of the server that the client has no names for, or that say that it is not known yet.
const (
	codeInFlight  js.ErrorCode = 10158 // a message of this id is on its way
	codeOtherSoon js.ErrorCode = 10164 // another message of this subject is on its way
	codeTooLarge  js.ErrorCode = 10054
	codeHeaders   js.ErrorCode = 10097
	codeNone      js.ErrorCode = 10037 // no such message
)

const (
	ackWithin  = 2 * time.Second        // how long one attempt waits for its answer
	retryFirst = 10 * time.Millisecond  // how long after an attempt the next is made …
	retryLast  = 500 * time.Millisecond // … at most
	goneAfter  = 20                     // looks for a message that the server says is there, and does not find
	maxPayload = 8 << 20                // of the embedded server
)

var errNoAnswer = errors.New("no answer")

// errRefused is what publish returns if the subject has another last message than was expected, which is not ours.
var errRefused = errors.New("another message came before")

// publish makes a message last, once, whatever happens to its answers: after an attempt of which nobody knows how it ended comes another with the same id and the same
// expectation. It ends as taken, as refused (errRefused), or when ctx ends: then it is not known, and the error matches ctx's cause. The id is the one of h, if it has one.
func (s *Store) publish(ctx context.Context, subject string, h nats.Header, data []byte, expect *uint64) (seq uint64, err error) {
	m := &nats.Msg{Subject: subject, Header: h, Data: data}
	if h.Get(headerID) == "" {
		h.Set(headerID, s.nextID())
	}
	if expect != nil {
		h.Set(headerExpect, strconv.FormatUint(*expect, 10))
	}
	pause := retryFirst
	for try := 0; ; try++ {
		if try > 0 {
			s.count.retries.Add(1)
			if err := sleep(ctx, pause); err != nil {
				return 0, fmt.Errorf("%w; the last attempt: %w", err, s.trouble(errNoAnswer))
			}
			pause = min(2*pause, retryLast)
		}
		within, cancel := s.attempt(ctx)
		ack, failed := s.js.PublishMsg(within, m, js.WithRetryAttempts(0))
		cancel()
		if failed == nil {
			return ack.Sequence, nil
		}
		var api *js.APIError
		switch {
		case errors.Is(failed, nats.ErrMaxPayload), errors.As(failed, &api) && (api.ErrorCode == codeTooLarge || api.ErrorCode == codeHeaders):
			return 0, fmt.Errorf("%w: %d bytes, and the server takes %d", journal.ErrTooLarge, len(data), s.nc.MaxPayload())
		case api != nil && api.ErrorCode == js.JSErrCodeStreamWrongLastSequence && expect != nil:
			last, ok := lastOf(api.Description)
			if !ok || last != 0 && last < *expect {
				break // a server that is behind
			}
			seq, err := s.whose(ctx, subject, *expect, h.Get(headerID))
			if err == nil || errors.Is(err, errRefused) {
				return seq, err
			}
			failed = err
		case api != nil && (api.ErrorCode == codeInFlight || api.ErrorCode == codeOtherSoon):
		}
		s.setTrouble(fmt.Errorf("publish to %s: %w", subject, failed))
	}
}

// attempt limits one that waits for an answer: in time, and to the connection that it was made with.
func (s *Store) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(s.answerWithin, ackWithin))
	s.link.Lock()
	link := s.link.Context
	s.link.Unlock()
	stop := context.AfterFunc(link, cancel)
	return within, func() { stop(); cancel() }
}

// lastOf returns the sequence that the server's error names.
func lastOf(description string) (uint64, bool) {
	_, n, _ := strings.Cut(description, "sequence: ")
	last, err := strconv.ParseUint(strings.TrimSpace(n), 10, 64)
	return last, err == nil
}

// whose returns the sequence of the first message of a subject after one, if it has that id, and errRefused if it has another, or there is none any more.
func (s *Store) whose(ctx context.Context, subject string, after uint64, id string) (uint64, error) {
	for range goneAfter {
		m, err := s.message(ctx, request{Seq: after + 1, Next: subject})
		switch {
		case err == nil && m.header.Get(headerID) == id:
			return m.seq, nil
		case err == nil:
			return 0, errRefused
		case !errors.Is(err, errNone):
			return 0, err
		}
		// It was dropped, or the server is behind.
		if err := sleep(ctx, 5*retryFirst); err != nil {
			return 0, err
		}
	}
	return 0, errRefused
}

// A request is one for messages of the stream (ADR-31 of NATS).
type request struct {
	Seq   uint64   `json:"seq,omitempty"`
	Last  string   `json:"last_by_subj,omitempty"`
	Next  string   `json:"next_by_subj,omitempty"`
	Multi []string `json:"multi_last,omitempty"` // the last of each of them, as they were at one moment
	Batch int      `json:"batch,omitempty"`
	Bytes int      `json:"max_bytes,omitempty"`
}

// A message is one of the stream that was read.
type message struct {
	subject string // "" if it was asked for alone
	seq     uint64
	header  nats.Header
	data    []byte
}

// errNone says that there is no such message.
var errNone = errors.New("there is no such message")

// message reads one message. The leader of the stream answers, or one that was frozen and does not know yet that it leads no more: what it says is old then, and errNone may be
// wrong ([Store.surely]).
func (s *Store) message(ctx context.Context, r request) (*message, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	within, cancel := s.attempt(ctx)
	defer cancel()
	m, err := s.nc.RequestWithContext(within, "$JS.API.STREAM.MSG.GET."+s.names.stream(), b)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Error   *js.APIError `json:"error"`
		Message *struct {
			Seq    uint64 `json:"seq"`
			Header []byte `json:"hdrs"`
			Data   []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == codeNone:
		return nil, errNone
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Message == nil:
		return nil, errNone
	}
	read := &message{seq: answer.Message.Seq, data: answer.Message.Data, header: nats.Header{}}
	if len(answer.Message.Header) > 0 {
		if read.header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return nil, err
		}
	}
	return read, nil
}

const (
	batch      = 256
	batchBytes = 4 << 20
)

// messages reads all messages of a subject, from a sequence on. Any server that has the stream answers: the newest may be missing.
func (s *Store) messages(ctx context.Context, subject string, from uint64) (all []message, err error) {
	for {
		some, more, err := s.someMessages(ctx, request{Seq: max(from, 1), Next: subject, Batch: batch, Bytes: batchBytes})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if !more || len(some) == 0 {
			return all, nil
		}
		from = some[len(some)-1].seq + 1
	}
}

func (s *Store) someMessages(ctx context.Context, r request) (all []message, more bool, err error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, false, err
	}
	inbox := s.nc.NewRespInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, false, err
	}
	defer sub.Unsubscribe()
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+s.names.stream(), inbox, b); err != nil {
		return nil, false, err
	}
	within, cancel := s.attempt(ctx)
	defer cancel()
	before := uint64(0)
	for {
		m, err := sub.NextMsgWithContext(within)
		if err != nil {
			return nil, false, err
		}
		status := m.Header.Get("Status")
		if status == "" || status == "204" {
			if err := follows(m.Header, before); err != nil {
				return nil, false, err
			}
		}
		switch status {
		case "":
		case "204":
			return all, m.Header.Get("Nats-Num-Pending") != "0", nil
		case "404":
			if r.Multi != nil && m.Header.Get("Description") != "No Results" { // one of them was removed meanwhile
				return nil, false, fmt.Errorf("%w: %s", errHole, m.Header.Get("Description"))
			}
			return all, false, nil
		default:
			return nil, false, fmt.Errorf("read: %s %s", status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(headerOurs), 10, 64)
		if err != nil {
			return nil, false, fmt.Errorf("%w: a message without its sequence", journal.ErrDamaged)
		}
		before = seq
		all = append(all, message{m.Header.Get(headerSubject), seq, m.Header, m.Data})
	}
}

// A standing is how things stand with a tree: its last message, and the last one of its inbox.
type standing struct {
	tree  *lastMessage // nil: there is none
	inbox uint64       // 0: there is none
}

// surely reads how things stand with a tree, from a server that has all that was taken before. It costs a message, which replaces the one before: when most servers have taken
// that, what a server tells is not old if it has it too. The error matches ctx's cause, or [journal.ErrDamaged].
func (s *Store) surely(ctx context.Context, root string) (*standing, error) {
	probe := s.names.probe()
	seq, err := s.publish(ctx, probe, nats.Header{headerRollup: {"sub"}}, nil, nil)
	if err != nil {
		return nil, err
	}
	for pause := retryFirst; ; pause = min(2*pause, retryLast) {
		all, more, err := s.someMessages(ctx, request{Multi: []string{s.names.tree(root), s.names.inbox(root), probe}})
		at, probed, bad := s.standingOf(root, all)
		if bad != nil {
			return nil, bad
		}
		if err == nil && probed >= seq && !more {
			return at, nil
		}
		s.setTrouble(fmt.Errorf("read of tree %s: %w", root, cmp.Or(err, errBehind)))
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// standingOf returns what the last messages of a tree, of its inbox and of the probe tell.
func (s *Store) standingOf(root string, all []message) (at *standing, probed uint64, err error) {
	at = &standing{}
	for i := range all {
		switch m := &all[i]; m.subject {
		case s.names.tree(root):
			h, err := headOf(m.header)
			if err != nil {
				return nil, 0, err
			}
			at.tree = &lastMessage{*m, h}
		case s.names.inbox(root):
			at.inbox = m.seq
		case s.names.probe():
			probed = m.seq
		}
	}
	return at, probed, nil
}

var errBehind = errors.New("the server that has answered is behind")

// errHole says that a connection broke within an answer of several messages, and the rest came by the next one; or that a message was removed while the answer was made.
var errHole = errors.New("a part of the answer is missing")

// follows reports whether a message of an answer, or its end, comes after the one of that sequence; 0: it is the first.
func follows(h nats.Header, before uint64) error {
	if after, err := strconv.ParseUint(h.Get("Nats-Last-Sequence"), 10, 64); err != nil || after != before {
		return fmt.Errorf("%w: what comes after %q comes after %d", errHole, h.Get("Nats-Last-Sequence"), before)
	}
	return nil
}

// sleep waits, and returns ctx's cause when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
