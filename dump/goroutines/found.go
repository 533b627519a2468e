package goroutines

import (
	"cmp"
	"slices"
	"time"

	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A found is a goroutine of a text. Its scope is known when all of the dump were read.
type found struct {
	id, parent uint64
	wait       time.Duration
	stack      flight.StackID
	labelled   flight.ScopeIndex // the scope that its labels are; 0: there are none
	why        word              // its wait reason
	statement  word              // the go statement that made it; 0: not known
	begins     word              // the package of the function it begins in
	name       word
	locked     bool
	vtscope    bool           // a label of vtscope names its scope
	on         flight.Blocker // what it waits for, by its address; 0: not known
}

// A word is the number of a string.
type word uint32

// words numbers strings: 0 is "".
type words struct {
	all    []string
	number map[string]word
}

// maxWords bounds them: a text may be none of Go's.
const maxWords = 1 << 20

// of returns the number of a string, which it keeps; 0 without room.
func (w *words) of(s []byte) word {
	if len(s) == 0 {
		return 0
	}
	n, ok := w.number[string(s)]
	if !ok {
		if len(w.all) == maxWords {
			return 0
		}
		if w.number == nil {
			w.number = map[string]word{}
		}
		w.all = append(w.all, string(s))
		n = word(len(w.all))
		w.number[string(s)] = n
	}
	return n
}

func (w *words) text(n word) string {
	if n == 0 {
		return ""
	}
	return w.all[n-1]
}

// settle adds the goroutines of a dump, which is at its end.
func (t *textReader) settle() {
	all := t.found
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.id, b.id) })
	tree := NewCreators(t.out, t.top, len(all), func(i int) Birth {
		b := Birth{ID: all[i].id, Parent: all[i].parent, At: uint64(all[i].statement)}
		if b.ID <= 1 {
			b.At = 0
		}
		return b
	}, func(at uint64) string { return t.words.text(word(at)) })
	for i := range all {
		g := &all[i]
		th := roster.Thread{ID: flight.ThreadID(g.id), Creator: flight.ThreadID(g.parent), Name: t.words.text(g.name), Wait: g.wait, Stack: g.stack}
		switch {
		case g.vtscope, t.scopes == ByLabels && g.labelled != 0:
			th.Scope = g.labelled
		case t.scopes == ByLabels:
			th.Scope = t.top
		case t.scopes == ByPackage:
			if th.Scope = t.top; g.begins != 0 {
				th.Scope = t.out.Scope(t.top, t.words.text(g.begins))
			}
		default:
			th.Scope = tree.Scope(i)
		}
		if g.on != 0 {
			for len(t.dump.on) < t.out.Len() {
				t.dump.on = append(t.dump.on, 0)
			}
			t.dump.on = append(t.dump.on, g.on)
		}
		t.reader.add(th, t.words.text(g.why), g.locked, 1)
	}
	t.found = all[:0]
}
