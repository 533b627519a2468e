package goroutines

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say what a dump does not. The zero value is usable.
type Options struct {
	Name string    // of the program, or of what the dump was read from
	File string    // its path; "" if it is none
	At   time.Time // when the dump was made. Default: now

	// Status is that of the process; "": [dump.StatusDump].
	Status dump.Status

	// Scopes says what the scopes of goroutines are; "": ByCreator. Those of a profile, which does not tell who
	// made a goroutine, are their labels.
	Scopes ScopeBy
}

// ErrNone is the error of [Read] of a text in which there is no goroutine.
var ErrNone = errors.New("no goroutine is in it")

const (
	maxLine   = 64 << 10 // of a line that is looked at; the rest is skipped
	cutBySize = 64 << 20 // where Go cuts its text
)

// A reader collects the goroutines of a dump.
type reader struct {
	out    *roster.Roster
	dump   *Dump
	scopes ScopeBy
	ids    idSet
	// number is that of the dump in one text: an id that comes again begins the next.
	number int
	top    flight.ScopeIndex // of the dump
	// reasons numbers wait reasons, as what threads wait for.
	reasons map[string]roster.More
}

func newReader(out *roster.Roster) *reader {
	out.SetKind("goroutine")
	return &reader{out: out, dump: &Dump{Roster: out}, number: 1, reasons: map[string]roster.More{}}
}

// IsDump reports whether a file that begins so may be what [Read] reads: text, or a compressed profile.
func IsDump(begin []byte) bool {
	if isProfile(begin) {
		return true
	}
	if len(begin) == 0 || bytes.IndexByte(begin, 0) >= 0 || bytes.Contains(begin, []byte(`"vtscope/`)) {
		return false
	}
	bad := 0
	for i := 0; i < len(begin); {
		r, n := utf8.DecodeRune(begin[i:])
		if r == utf8.RuneError && n == 1 || r < ' ' && !strings.ContainsRune("\t\r\n\x1b\f\b", r) {
			bad++
		}
		i += n
	}
	return bad*20 < len(begin) // some that is no text may be in it
}

// Read reads a dump. What is cut off, or cannot be known, is told by Incomplete of the roster. The error is [ErrNone], or that of from.
func Read(from io.Reader, o Options) (*Dump, error) {
	if o.At.IsZero() {
		o.At = time.Now()
	}
	r := newReader(roster.New(flight.Process{Program: o.Name, Path: o.File}, o.At))
	if o.Status != "" {
		r.out.SetStatus(o.Status)
	}
	r.scopes = cmp.Or(o.Scopes, ScopeBys[0])
	b := bufio.NewReaderSize(from, maxLine)
	begin, err := b.Peek(512)
	if err != nil && err != io.EOF && len(begin) == 0 {
		return nil, err
	}
	if isProfile(begin) {
		err = r.profile(b)
	} else {
		err = r.text(b)
	}
	if err != nil {
		return nil, err
	}
	if r.out.Len() == 0 {
		return nil, ErrNone
	}
	return r.dump, nil
}

// more returns what a goroutine waits for that has a wait reason.
func (r *reader) more(reason string, w *wait) roster.More {
	if w.kind == flight.BlockedByNone {
		return roster.More{}
	}
	m, ok := r.reasons[reason]
	if !ok {
		const most = 1 << 10 // of a text that is none of Go's
		if len(r.reasons) == most {
			return roster.More{}
		}
		m = roster.More{Blocker: flight.MakeBlocker(w.kind, uint64(len(r.reasons)+1)), Carrier: flight.NoCarrier}
		r.reasons[strings.Clone(reason)] = m
		r.out.Blocker(flight.BlockerRow{Blocker: m.Blocker, Name: reason})
	}
	return m
}

// A Label is a label of Go's profiler.
type Label struct{ Key, Value string }

// place returns the scope that labels are, and the name of the thread, if they are of one of vtscope's.
func (r *reader) place(labels []Label) (flight.ScopeIndex, string) {
	name := ""
	for _, l := range labels {
		if l.Key == "vthread" {
			name = l.Value
		}
	}
	for _, l := range labels {
		if l.Key == "scope" {
			return r.out.Scope(r.top, l.Value), name
		}
	}
	at := r.top
	sort.Slice(labels, func(i, j int) bool { return labels[i].Key < labels[j].Key })
	for _, l := range labels {
		if l.Key != "vthread" {
			at = r.out.Scope(at, l.Key+"="+l.Value)
		}
	}
	return at, name
}

// add adds n goroutines that are alike.
func (r *reader) add(t roster.Thread, reason string, locked bool, n int) {
	w := waitOf(reason)
	t.State, t.Reason, t.More = w.state, w.reason, r.more(reason, w)
	t.Flags = flight.RecordOnGoroutine
	if locked {
		t.Flags = flight.RecordOnOSThread
		switch w.state {
		case flight.StateMounted, flight.StateRunnable, flight.StateDone:
		default:
			t.State, t.Reason = flight.StatePinned, flight.ReasonPinnedOSThread
		}
	}
	for range n {
		r.out.Add(t)
		t.ID++
	}
}

// again notes a goroutine of a text, and reports whether it was there before: then it is of the next dump.
func (r *reader) again(id uint64) bool {
	if id == 0 || r.ids.add(id) {
		return false
	}
	r.ids = nil
	r.ids.add(id)
	return true
}

// next begins the next dump of a text.
func (r *reader) next() {
	r.number++
	r.top = r.out.Scope(0, "dump "+dump.Thousands(r.number))
}

// An idSet is a set of numbers that mostly lie close together.
type idSet map[uint64]*[64]uint64

// add reports whether id is new.
func (s *idSet) add(id uint64) bool {
	if *s == nil {
		*s = idSet{}
	}
	part := (*s)[id>>12]
	if part == nil {
		part = new([64]uint64)
		(*s)[id>>12] = part
	}
	bit := uint64(1) << (id & 63)
	word := &part[id>>6&63]
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
