package recording

import (
	"encoding/binary"
	"strconv"
	"sync"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A BlockerNamer is a [Definitions] that knows what blockers are called: by the name that the program gave a lock or a queue, and by that of the signal, the time, the permit or
// the child that a durable thread waits for. A process tells it while somebody waits, so that a short wait may have none.
type BlockerNamer interface {
	BlockerName(flight.Blocker) string
}

// maxBlockerNames is how many a reader, and a source that follows a process, remember.
const maxBlockerNames = 1 << 17

// nameable reports whether a blocker can have a name: what is known by a number has none.
func nameable(b flight.Blocker) bool {
	switch b.Kind() {
	case flight.BlockedByNone, flight.BlockedByThread, flight.BlockedByScope, flight.BlockedByFile, flight.BlockedBySocket:
		return false
	}
	return true
}

func (n *needs) blocker(b flight.Blocker) {
	if b &^= limited; nameable(b) {
		n.blockers[b] = true
	}
}

// encodeBlockers appends the names of the blockers that a chunk refers to; nothing if d knows none of them.
func (n *needs) encodeBlockers(b []byte, d Definitions) []byte {
	namer, ok := d.(BlockerNamer)
	if !ok || len(n.blockers) == 0 {
		return b
	}
	var before flight.Blocker
	for _, id := range keys(n.blockers) {
		if name := namer.BlockerName(id); name != "" {
			b = appendText(binary.AppendUvarint(b, uint64(id-before)), name)
			before = id
		}
	}
	return b
}

// decodeBlockers adds the names of a chunk.
func (g *glossary) decodeBlockers(c *cursor) error {
	var id flight.Blocker
	for len(c.b) > 0 && !c.bad {
		id += flight.Blocker(c.uvarint())
		name := safeText(c.text())
		if _, known := g.blockers[id]; !c.bad && (known || len(g.blockers) < maxBlockerNames) {
			g.blockers[id] = name
		}
	}
	return c.err("names of blockers")
}

// BlockerName returns the name of a blocker that a batch named which was read, "" if it has none.
func (f *File) BlockerName(b flight.Blocker) string { return f.words.blockers[b&^limited] }

// blockerNames are those that a process has told.
type blockerNames struct {
	sync.Mutex
	names map[flight.Blocker]string
	asked time.Time
}

// askBlockers is how often a process is asked at most: for each that has no name it would be asked again.
const askBlockers = 50 * time.Millisecond

// BlockerName is that of a [BlockerNamer].
func (d liveDefinitions) BlockerName(b flight.Blocker) string {
	b &^= limited
	if !nameable(b) {
		return ""
	}
	n := d.blockers
	n.Lock()
	defer n.Unlock()
	name, ok := n.names[b]
	if ok || time.Since(n.asked) < askBlockers {
		return name
	}
	rows, _ := d.Blockers() // those that cannot be read have no names
	if n.names == nil || len(n.names) > maxBlockerNames {
		n.names = map[flight.Blocker]string{}
	}
	for i := range rows {
		if rows[i].Name != "" {
			n.names[rows[i].Blocker] = rows[i].Name
		}
	}
	n.asked = time.Now()
	return n.names[b]
}

// blockerText is what a blocker is for people: signal "address".
func blockerText(d Definitions, word uint64) string {
	text := flight.FieldUses[flight.FieldBlocker].Text(word)
	namer, ok := d.(BlockerNamer)
	if !ok {
		return text
	}
	b := flight.Blocker(word) &^ limited
	if name := namer.BlockerName(b); name != "" {
		return flight.BlockerKinds[b.Kind()].Name + " " + strconv.Quote(name)
	}
	return text
}
