package journal

import (
	"encoding/json"
	"fmt"
)

// most is more than what each byte of entries as JSON can make [json.Unmarshal] allocate, with the lists that it drops while they grow: so short texts need no budget.
const most = 1 << 10

// short reports whether entries of a text so long cannot ask for more than limits allow, whatever they are.
func (l Limits) short(text int) bool { return text <= l.Memory/most }

// PackEntries returns entries as JSON. The error matches [ErrMemory]: UnpackEntries with the same limits takes what it returns. Who keeps the text says how long it can be.
func (l Limits) PackEntries(entries []Entry) ([]byte, error) {
	l, err := l.checked()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(entries)
	if err != nil || l.short(len(text)) {
		return text, err
	}
	b := &budget{limit: l.Memory}
	if err = b.take(len(text), 1, "bytes of text"); err == nil {
		err = b.take(len(entries), entrySize, "entries")
	}
	for i := range entries {
		if err == nil {
			err = b.measureEntry(&entries[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// UnpackEntries is the opposite of PackEntries, for text from anywhere: it allocates no more than a few times l.Memory. The error matches [ErrDamaged] or [ErrMemory], or is about l.
func (l Limits) UnpackEntries(text []byte) ([]Entry, error) { return l.Unpacker().Entries(text) }

// An Unpacker unpacks texts that are kept together: what each of them asks for is less for the others.
type Unpacker struct {
	limits Limits
	short  int // bytes of texts that are too short to be measured
	used   int // memory of the others
}

// Unpacker returns one that has unpacked nothing yet.
func (l Limits) Unpacker() *Unpacker { return &Unpacker{limits: l} }

// Entries is [Limits.UnpackEntries].
func (u *Unpacker) Entries(text []byte) (entries []Entry, err error) {
	l, err := u.limits.checked()
	if err != nil {
		return nil, err
	}
	if l.short(u.short + len(text)) {
		u.short += len(text)
		if err := json.Unmarshal(text, &entries); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return entries, nil
	}
	d := entriesDecoder(text, l)
	d.budget.used = u.used
	if err := d.all(func() error { return d.entries(&entries) }); err != nil {
		return nil, err
	}
	u.used = d.budget.used
	return entries, nil
}

// UnpackEntry is UnpackEntries for the text of one entry.
func (l Limits) UnpackEntry(text []byte) (e Entry, err error) {
	if l, err = l.checked(); err != nil {
		return e, err
	}
	if l.short(len(text)) {
		if err := json.Unmarshal(text, &e); err != nil {
			return e, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return e, nil
	}
	d := entriesDecoder(text, l)
	err = d.all(func() error { return d.entry(&e) })
	return e, err
}

// measureEntry takes what an entry takes whose text and place in a list were taken.
func (b *budget) measureEntry(e *Entry) error {
	b.id = e.Thread
	err := error(nil)
	if e.Op == OpNew {
		err = b.take(1, childSize, "thread")
	}
	if err == nil && e.Step != nil {
		err = b.take(1, stepSize, "step")
	}
	if err == nil && e.Image != nil {
		if err = b.take(1, childSize, "thread"); err == nil {
			err = b.measure(e.Image)
		}
	}
	return err
}
