package recording

import (
	"math/bits"

	"github.com/vtscope/vtscope/runtime/flight"
)

// An idTable knows a value of each of many threads: a hash table with open addressing, since a map of a million takes half as much memory again, and time for
// each event. The zero value is empty. There is no thread 0.
//
//	H1  A row is at its home, or behind it with no free row in between; the row behind the last is the first.
//	H2  At most three quarters of the rows are in use.
type idTable[V any] struct {
	rows []idRow[V]
	used int
}

type idRow[V any] struct {
	value V               // before id: an empty one takes no room there
	id    flight.ThreadID // 0: free
}

const leastRows = 64

// newIDTable returns a table with room for n.
func newIDTable[V any](n int) idTable[V] {
	if n == 0 {
		return idTable[V]{}
	}
	return idTable[V]{rows: make([]idRow[V], max(leastRows, n+n/3+1))}
}

// renewed returns an empty table with room for n, in the memory of this one if that fits. This one must not be used any more.
func (t *idTable[V]) renewed(n int) idTable[V] {
	if has := len(t.rows); has < n+n/3+1 || has > 4*max(n, leastRows) {
		return newIDTable[V](n)
	}
	clear(t.rows)
	return idTable[V]{rows: t.rows}
}

// home is where the row of an id would be if all others were elsewhere. Ids are given one after the other: multiplied, they are far apart.
func (t *idTable[V]) home(id flight.ThreadID) int {
	at, _ := bits.Mul64(uint64(id)*0x9e3779b97f4a7c15, uint64(len(t.rows)))
	return int(at)
}

func (t *idTable[V]) after(i int) int {
	if i++; i == len(t.rows) {
		return 0
	}
	return i
}

// at returns the position of an id, -1 if it is not known.
func (t *idTable[V]) at(id flight.ThreadID) int {
	if id == 0 || len(t.rows) == 0 {
		return -1
	}
	for i := t.home(id); ; i = t.after(i) {
		switch t.rows[i].id {
		case id:
			return i
		case 0:
			return -1
		}
	}
}

// find returns where the value of an id is kept until the table changes, nil if it is not known.
func (t *idTable[V]) find(id flight.ThreadID) *V {
	if i := t.at(id); i >= 0 {
		return &t.rows[i].value
	}
	return nil
}

// put gives an id a value, whether it has one or not. Nothing is kept for 0.
func (t *idTable[V]) put(id flight.ThreadID, v V) {
	if id == 0 {
		return
	}
	if known := t.find(id); known != nil {
		*known = v
		return
	}
	if 4*(t.used+1) > 3*len(t.rows) {
		t.resize(max(leastRows, len(t.rows)+len(t.rows)/2))
	}
	t.add(id, v)
}

func (t *idTable[V]) add(id flight.ThreadID, v V) {
	i := t.home(id)
	for t.rows[i].id != 0 {
		i = t.after(i)
	}
	t.rows[i] = idRow[V]{v, id}
	t.used++
}

func (t *idTable[V]) resize(n int) {
	old := t.rows
	t.rows, t.used = make([]idRow[V], n), 0
	for i := range old {
		if old[i].id != 0 {
			t.add(old[i].id, old[i].value)
		}
	}
}

// remove forgets an id, and reports whether it was known.
func (t *idTable[V]) remove(id flight.ThreadID) bool {
	free := t.at(id)
	if free < 0 {
		return false
	}
	for i := t.after(free); t.rows[i].id != 0; i = t.after(i) {
		// H1: what would be found in the free row moves there.
		if t.way(t.home(t.rows[i].id), i) >= t.way(free, i) {
			t.rows[free] = t.rows[i]
			free = i
		}
	}
	t.rows[free] = idRow[V]{}
	t.used--
	if n := len(t.rows); n > 4096 && 8*t.used < n {
		t.resize(n / 4)
	}
	return true
}

// way is how many rows behind another one is.
func (t *idTable[V]) way(from, to int) int {
	if to < from {
		to += len(t.rows)
	}
	return to - from
}

// all calls f with each id until it returns false. The table must not change meanwhile.
func (t *idTable[V]) all(f func(flight.ThreadID, V) bool) {
	for i := range t.rows {
		if r := &t.rows[i]; r.id != 0 && !f(r.id, r.value) {
			return
		}
	}
}
