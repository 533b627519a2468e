package profile

import (
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A what is one of the things that happen to threads, and are counted.
type what uint8

const (
	whatPark what = iota + 1
	whatReady
	whatPinned
	whatRun
)

// A word is the number of a text in words. 0 is the empty one.
type word int32

// A key tells samples apart.
type key struct {
	stack   flight.StackID
	scope   word // the path
	name    word // a template
	blocker word
	what    what
	state   flight.State
	reason  flight.Reason
}

// words numbers texts. There are at most most of them, and one that stands for all others.
type words struct {
	most    int
	texts   []string
	numbers map[string]word
	over    uint64 // texts that did not fit, each as often as it was met
}

// others is the text that stands for those that did not fit.
const others = "[others]"

func newWords(most int) *words {
	return &words{most: most, texts: []string{"", others}, numbers: map[string]word{"": 0, others: 1}}
}

// of returns the number of a text. It allocates nothing if the text is known.
func (w *words) of(text []byte) word {
	if n, ok := w.numbers[string(text)]; ok {
		return n
	}
	if len(w.texts) >= w.most {
		w.over++
		return 1
	}
	n := word(len(w.texts))
	w.texts = append(w.texts, string(text))
	w.numbers[w.texts[n]] = n
	return n
}

// maxPath bounds how long the path of a scope gets: deeper ones have that of the scope above them.
const maxPath = 512

// BlockerRows is what a process tells of what its threads wait for, as [flight.Reader.Blockers] does.
type BlockerRows func() ([]flight.BlockerRow, error)

// A blockerNames tells what blockers are called: by the name that the program gave, without numbers and ids; else by where it was made; else by the kind alone. Never by
// number or address: there may be millions of them, and they are others in the next process.
type blockerNames struct {
	rows  BlockerRows // nil: only the kind is known
	stack func(flight.StackID) flight.Stack
	words *words
	most  int // blockers that are known at a time

	kinds [flight.BlockerKindCount]word
	known map[flight.Blocker]word
	read  time.Time     // when rows was asked last
	pause time.Duration // until it may be asked again
	bytes []byte
}

const (
	maxBlockers   = 1 << 15 // that a collector knows at a time
	blockersEvery = time.Second
	blockersShare = 50 // rows may take one part of so many of the time
)

func newBlockerNames(rows BlockerRows, stack func(flight.StackID) flight.Stack, w *words) *blockerNames {
	return &blockerNames{rows: rows, stack: stack, words: w, most: maxBlockers, known: map[flight.Blocker]word{}}
}

// told reports whether rows can tell more of a blocker than its kind: a synchronizer has a record while somebody waits for it.
func told(k flight.BlockerKind) bool {
	switch k {
	case flight.BlockedByNone, flight.BlockedByThread, flight.BlockedByScope, flight.BlockedByTimer, flight.BlockedByFile, flight.BlockedBySocket:
		return false
	}
	return true
}

// of returns what a blocker is called.
func (n *blockerNames) of(b flight.Blocker) word {
	k := b.Kind()
	if k == flight.BlockedByNone || k >= flight.BlockerKindCount {
		return 0
	}
	if n.rows != nil && told(k) {
		w, ok := n.known[b]
		if !ok && time.Since(n.read) >= n.pause {
			n.look()
			w, ok = n.known[b]
		}
		if ok {
			return w
		}
	}
	if n.kinds[k] == 0 {
		n.kinds[k] = n.words.of([]byte(flight.BlockerKinds[k].Name))
	}
	return n.kinds[k]
}

// look asks what there is now. What was known before stays, since waits are short and what is waited for mostly lives on.
func (n *blockerNames) look() {
	n.read = time.Now()
	rows, _ := n.rows() // what cannot be read has no name
	if len(n.known)+len(rows) > n.most {
		clear(n.known)
	}
	for i := range rows[:min(len(rows), n.most)] {
		n.known[rows[i].Blocker] = n.words.of(n.appendName(n.bytes[:0], &rows[i]))
	}
	n.pause = max(blockersEvery, blockersShare*time.Since(n.read))
}

func (n *blockerNames) appendName(b []byte, row *flight.BlockerRow) []byte {
	kind := ""
	if k := row.Blocker.Kind(); k < flight.BlockerKindCount {
		kind = flight.BlockerKinds[k].Name
	}
	b = append(b, kind...)
	if row.Name != "" {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, dump.Template(row.Name))
	} else if place := placeOf(n.stack(row.Made)); place != "" {
		b = append(append(b, " made at "...), place...)
	}
	n.bytes = b
	return b
}

// placeOf returns the innermost call of the program's own, "" if there is none.
func placeOf(s flight.Stack) string {
	for _, f := range s.Frames {
		if !f.Internal && f.Func != "" {
			return f.Func[strings.LastIndexByte(f.Func, '/')+1:] + " " + f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.Itoa(f.Line)
		}
	}
	return ""
}
