package flight

import (
	"encoding/binary"
	"net/netip"
)

// A TextKind is a kind of text that the observed program gave.
type TextKind uint8

// The kinds of texts.
const (
	TextUnknown TextKind = iota // a string that is asked for by its number: of an event, or anything else
	TextThread                  // a thread's name
	TextScope                   // a scope's
	TextBlocker                 // of what is waited for
	TextAddress                 // of a socket
	TextLabel                   // a value of the profiler's labels
	TextOther                   // a scheduler's name, a text of an event of the program's own
)

// Rewrite makes the reader give each text that the observed program gave as f returns it: names of threads, scopes, blockers and schedulers, addresses of sockets,
// [Reader.String], and the texts within events. What the program is called and what its code consists of is left as it is. f may be called from any goroutine that
// uses the reader. Call it once, before the reader is used.
func (r *Reader) Rewrite(f func(kind TextKind, s string) string) { r.rewrite = f }

// text rewrites a text.
func (r *Reader) text(kind TextKind, s string) string {
	if r.rewrite == nil || s == "" {
		return s
	}
	return safeText(r.rewrite(kind, s))
}

// rawString is [Reader.String] as the file has it.
func (r *Reader) rawString(id StringID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stringLocked(id)
}

// rewriteAddresses returns what a socket is called, and its addresses; one that is rewritten is no address any more.
func (r *Reader) rewriteAddresses(local, remote netip.AddrPort) (name string, l, m netip.AddrPort) {
	name = addressName(local, remote)
	if r.rewrite == nil || name == "" {
		return name, local, remote
	}
	one := func(a netip.AddrPort) (string, netip.AddrPort) {
		if !a.IsValid() {
			return "", a
		}
		s := a.String()
		if out := r.text(TextAddress, s); out != s {
			return out, netip.AddrPort{}
		}
		return s, a
	}
	ls, l := one(local)
	ms, m := one(remote)
	switch {
	case ls != "" && ms != "":
		return ls + "→" + ms, l, m
	case ms != "":
		return ms, l, m
	}
	return ls, l, m
}

// rewriteEvents rewrites the texts that lie within events, in the slots after them.
func (r *Reader) rewriteEvents(evs []Event) {
	if r.rewrite == nil {
		return
	}
	var users []UserKindInfo
	read := false
	for i := range evs {
		e := &evs[i]
		var fields []Field
		kind := TextOther
		switch e.Kind {
		case EventThreadName:
			fields, kind = Kinds[e.Kind].Fields, TextThread
		case EventIO: // the other side, or a path
			fields, kind = Kinds[e.Kind].Fields, TextBlocker
			if Blocker(e.Arg).Kind() == BlockedBySocket {
				kind = TextAddress
			}
		case EventDurableHibernate, EventDurableResume, EventDurableReplay, EventDurablePark, EventDurableLease, EventDurableCheckpoint, EventDurableDivergence, EventDurableStep,
			EventDurableLeave:
			fields = Kinds[e.Kind].Fields // a thread's id comes first
		case EventMark, EventSpanBegin, EventSpanEnd:
			if !read {
				users, _ = r.UserKinds()
				read = true
			}
			if n := int(e.Stack); n >= 1 {
				for j := range users {
					if users[j].Number == uint32(n) {
						fields = users[j].Fields
					}
				}
			}
			if fields == nil && MoreSlots(e.Kind, e.Code) > 0 {
				// Of a kind that cannot be read nobody knows which words are a text.
				wipe(evs[i+1:], MoreSlots(e.Kind, e.Code))
				continue
			}
		}
		for _, f := range fields {
			if f.Use == FieldText {
				of := kind
				if f == fieldOf {
					of = TextThread
				}
				r.rewriteText(evs[i+1:], MoreSlots(e.Kind, e.Code), int(f.At-AtMore), of)
			}
		}
	}
}

// rewriteText rewrites the text that begins at a word of the slots after an event.
func (r *Reader) rewriteText(more []Event, slots, at int, kind TextKind) {
	more = more[:min(slots, len(more))]
	end := min(at+TextWords, len(more)*wordsPerSlot)
	if at < 0 || at >= end {
		return
	}
	var b [MaxText]byte
	for i := at; i < end; i++ {
		binary.LittleEndian.PutUint64(b[8*(i-at):], *slotWord(more, i))
	}
	s := fileText(b[:8*(end-at)])
	out := r.text(kind, s)
	if out == s {
		return
	}
	words := TextOf(out)
	for i := at; i < end; i++ {
		*slotWord(more, i) = words[i-at]
	}
}

// slotWord returns a word of the slots after an event.
func slotWord(more []Event, i int) *uint64 {
	e := &more[i/wordsPerSlot]
	switch i % wordsPerSlot {
	case 0:
		return (*uint64)(&e.Time)
	case 1:
		return (*uint64)(&e.Thread)
	}
	return &e.Arg
}

func wipe(more []Event, slots int) {
	for i := range more[:min(slots, len(more))] {
		more[i].Time, more[i].Thread, more[i].Arg = 0, 0, 0
	}
}
