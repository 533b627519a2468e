package jetstream

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// The headers of a message of a tree.
const (
	headerHead   = "Vt-Head"
	headerID     = "Nats-Msg-Id"
	headerExpect = "Nats-Expected-Last-Subject-Sequence"
	headerRollup = "Nats-Rollup"

	// Of one that was read.
	headerOurs    = "Nats-Sequence"
	headerSubject = "Nats-Subject"
)

// A state is what becomes of a tree next.
type state string

const (
	runs  state = "runs"  // it goes on wherever it is taken
	waits state = "waits" // for a time or a signal
	over  state = "over"  // all of its threads have ended
	gone  state = "gone"  // it was dropped: there is no such tree
)

// A head is what the last message of a tree says of it.
type head struct {
	Owner  string        `json:"owner,omitempty"`    // the participant that has it; "": nobody
	Name   string        `json:"name,omitempty"`     // of the owner, for people
	Lease  time.Duration `json:"lease_ns,omitempty"` // of the owner, if it is not the usual one
	State  state         `json:"state"`
	Body   string        `json:"body"`
	Until  time.Time     `json:"until,omitzero"`   // of one that waits: when it goes on
	For    string        `json:"for,omitempty"`    // of one that waits: what for
	Since  time.Time     `json:"since,omitzero"`   // of one that waits
	Inbox  uint64        `json:"inbox,omitempty"`  // the last message of its inbox that is in its journal
	Ended  bool          `json:"ended,omitempty"`  // its root has; children may go on
	Leaves bool          `json:"leaves,omitempty"` // it is about to be dropped, or to stay: what comes is not taken. Of one that is gone: it has left, with its inbox up to Inbox
	Moves  int           `json:"leases,omitempty"` // how often it was taken

	Misfits []durable.Misfit `json:"misfits,omitempty"` // code that a thread of it has diverged with
}

// maxHead is more text than a head has.
const maxHead = 64 << 10

func headOf(h nats.Header) (head, error) {
	var d head
	text := h.Get(headerHead)
	if len(text) > maxHead {
		return d, fmt.Errorf("%w: head of a tree: %d bytes", journal.ErrDamaged, len(text))
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("%w: head of a tree: %w", journal.ErrDamaged, err)
	}
	return d, nil
}

// subjects are those of a namespace.
type subjects struct{ namespace string }

func (s subjects) stream() string           { return "vt-" + s.namespace }
func (s subjects) tree(root string) string  { return s.namespace + ".tree." + token(root) }
func (s subjects) inbox(root string) string { return s.namespace + ".inbox." + token(root) }
func (s subjects) probe() string            { return s.namespace + ".inbox.=" } // of no tree: see token
func (s subjects) alive() string            { return s.namespace + ".alive" }
func (s subjects) all() []string            { return []string{s.namespace + ".tree.*", s.namespace + ".inbox.*"} }

// of tells what a subject is of.
func (s subjects) of(subject string) (root string, inbox, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.namespace+".")
	if !ok {
		return "", false, false
	}
	kind, tok, ok := strings.Cut(rest, ".")
	if !ok || kind != "tree" && kind != "inbox" {
		return "", false, false
	}
	root, ok = untoken(tok)
	return root, kind == "inbox", ok
}

const hexDigits = "0123456789abcdef"

// token makes a root's id a token of a subject: what is no letter, digit, minus or underscore is = and two digits.
func token(root string) string {
	var b strings.Builder
	for i := range len(root) {
		c := root[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'=', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}

func untoken(t string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '=' {
			b.WriteByte(t[i])
			continue
		}
		if i+2 >= len(t) {
			return "", false
		}
		high, low := strings.IndexByte(hexDigits, t[i+1]), strings.IndexByte(hexDigits, t[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}

// rootOf returns the root of a thread's tree.
func rootOf(id string) string {
	root, _, _ := strings.Cut(id, "/")
	return root
}

// checkRoot reports whether a thread of a shared store can have that id.
func checkRoot(id string) error {
	if id == "" || len(id) > journal.MaxID || strings.Contains(id, "/") || !utf8.ValidString(id) {
		return fmt.Errorf("jetstream: id %.40q: want 1 to %d bytes without a slash, which begins the numbers of children", id, journal.MaxID)
	}
	return nil
}
