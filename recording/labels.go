package recording

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Bounds on what a reader remembers of the labels in a recording that may be hostile. A flight file has no more.
const (
	maxLabelled  = 1 << 18 // threads
	maxLabelsOne = 128     // of a thread
)

// labelsRest is how many times as long as reading labels took they are not read again.
const labelsRest = 20

// A labelsNow is the labels of threads as they were read, and who held its carrier then.
type labelsNow struct {
	at    time.Duration
	rows  []flight.LabelRow
	whole bool // who is not in rows has none
	holds []Hold
}

type labelsRead struct {
	at    flight.Ticks
	rows  []flight.LabelRow
	holds []Hold
	took  time.Duration
	err   error
}

// pollLabels takes the labels and the holds of threads that were read, and begins to read them anew now and then. What is missed are those of threads that lived, or had them, for less than that.
func (p *poller) pollLabels(m *polled, last bool) {
	read := func() labelsRead {
		began, at := time.Now(), p.r.Now()
		rows, err := p.r.Labels()
		holds, unread := readHolds(p.r, p.c)
		return labelsRead{at, rows, holds, time.Since(began), cmp.Or(err, unread)}
	}
	took := func(l labelsRead) {
		p.labelling, p.labelled, p.labelRest = nil, time.Now(), labelsRest*l.took
		if l.err != nil {
			m.missed = append(m.missed, "labels of some threads could not be read")
		}
		m.labels = &labelsNow{p.c.time(l.at), l.rows, l.err == nil, l.holds}
	}
	if p.labelling != nil {
		select {
		case l := <-p.labelling:
			took(l)
		default:
			if last {
				took(<-p.labelling)
			}
		}
	}
	switch {
	case last:
		took(read())
	case p.labelling == nil && time.Since(p.labelled) >= max(p.o.Every, p.labelRest):
		p.labelling = make(chan labelsRead, 1)
		go func(to chan<- labelsRead) { to <- read() }(p.labelling)
	}
}

// A labelBook is the labels of threads that a [Writer] knows.
//
//	L1  known has all that were written since the last state, or with it, and those that were not written yet, whose threads are in fresh. A row without labels is of a thread that has none any more.
//	L2  With a state are written those of its threads, and fresh: who reads from there needs nothing from before.
type labelBook struct {
	known map[flight.ThreadID]flight.LabelRow
	fresh map[flight.ThreadID]bool
	read  time.Duration // the newest
}

// Label notes the labels of threads, as they were at a time.
func (b *labelBook) Label(at time.Duration, rows []flight.LabelRow) {
	b.read = max(b.read, at)
	for _, row := range rows {
		was, ok := b.known[row.Thread]
		if ok && was.Cut == row.Cut && slices.Equal(was.Labels, row.Labels) || !ok && len(b.known) >= maxLabelled {
			continue
		}
		if b.known == nil {
			b.known, b.fresh = map[flight.ThreadID]flight.LabelRow{}, map[flight.ThreadID]bool{}
		}
		b.known[row.Thread] = row
		b.fresh[row.Thread] = true
	}
}

// labelNow notes the labels of all threads.
func (b *labelBook) labelNow(l *labelsNow) {
	if l.whole && len(b.known) > 0 {
		has := make(map[flight.ThreadID]bool, len(l.rows))
		for i := range l.rows {
			has[l.rows[i].Thread] = true
		}
		for id, row := range b.known {
			if !has[id] && len(row.Labels) > 0 {
				b.known[id] = flight.LabelRow{Thread: id}
				b.fresh[id] = true
			}
		}
	}
	b.Label(l.at, l.rows)
}

// takeLabels returns what is to be written with the next chunk; s is its state, nil if it has none. Of threads that it does not have only those with labels are written again.
func (b *labelBook) takeLabels(s *State) []flight.LabelRow {
	if s != nil && len(b.known) > 0 {
		keep := make(map[flight.ThreadID]flight.LabelRow, len(b.fresh))
		for id := range b.fresh {
			keep[id] = b.known[id]
		}
		for i := range s.Threads {
			if row, ok := b.known[s.Threads[i].ID]; ok {
				keep[row.Thread], b.fresh[row.Thread] = row, true
			}
		}
		b.known = keep
	}
	rows := make([]flight.LabelRow, 0, len(b.fresh))
	for id := range b.fresh {
		rows = append(rows, b.known[id])
	}
	clear(b.fresh)
	slices.SortFunc(rows, byThread)
	return rows
}

func byThread(a, b flight.LabelRow) int { return cmp.Compare(a.Thread, b.Thread) }

// labelsCut is the bit of a thread that may have more labels.
const labelsCut = 1

// encodeLabels appends rows of a time, which are in the order of their threads.
func encodeLabels(b []byte, at time.Duration, rows []flight.LabelRow) []byte {
	var words lexicon
	var body []byte
	b = binary.AppendVarint(b, int64(at))
	put := func(v uint64) { body = binary.AppendUvarint(body, v) }
	put(uint64(len(rows)))
	var before flight.ThreadID
	for i := range rows {
		row := &rows[i]
		bits := uint64(0)
		if row.Cut {
			bits = labelsCut
		}
		put(uint64(row.Thread - before))
		put(bits)
		put(uint64(len(row.Labels)))
		for _, l := range row.Labels {
			put(words.number(l.Key))
			put(words.number(l.Value))
		}
		before = row.Thread
	}
	b = binary.AppendUvarint(b, uint64(len(words.texts)))
	for _, s := range words.texts {
		b = appendText(b, s)
	}
	return append(b, body...)
}

// decodeLabels reads what encodeLabels wrote.
func decodeLabels(c *cursor) (time.Duration, []flight.LabelRow, error) {
	at := time.Duration(c.varint())
	word := c.words()
	var rows []flight.LabelRow
	var id flight.ThreadID
	n := c.count(3)
	if n > maxLabelled {
		c.fail()
	}
	for range n {
		by := flight.ThreadID(c.uvarint())
		row := flight.LabelRow{Thread: id + by, Cut: c.uvarint()&labelsCut != 0}
		if by == 0 || row.Thread < id {
			c.fail()
		}
		count := c.count(2)
		if count > maxLabelsOne {
			c.fail()
		}
		if c.bad {
			break
		}
		for range count {
			row.Labels = append(row.Labels, flight.Label{Key: word(), Value: word()})
		}
		rows = append(rows, row)
		id = row.Thread
	}
	if len(c.b) > 0 {
		c.fail()
	}
	return at, rows, c.err("labels")
}
