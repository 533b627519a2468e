package ordeal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Policy says how often an effect may come.
type Policy string

// The policies.
const (
	ByKey       Policy = "by key"        // often; the ledger counts it once, and gives the same answer
	AtLeastOnce Policy = "at least once" // often; each time it has another answer
	AtMostOnce  Policy = "at most once"
)

// An Effect is a call as its caller tells it.
type Effect struct {
	Thread, Step, Key string
	Policy            Policy
	Chain             uint64 // of what the caller has learned before
	Worker            string
}

// An entry is an effect that was had, in the ledger.
type entry struct {
	Effect
	answer int64
}

// A question is a line that a worker sends; the answer is one too.
type question struct {
	Asks   string
	Effect Effect          `json:",omitzero"`
	ID     string          `json:",omitempty"` // of a work
	Result json.RawMessage `json:",omitempty"`
	Err    string          `json:",omitempty"`
}

type answer struct {
	Number int64
	Args   *Args `json:",omitempty"`
}

// What a worker asks.
const (
	asksEffect  = "effect"  // do it
	asksReturns = "returns" // a work's body is about to return, with that chain
	asksStart   = "start"   // which work is to be started? None: Args is nil
	asksCount   = "count"   // how many works are there?
	asksStarted = "started" // ID lasts
	asksEnded   = "ended"   // ID has ended, with that result or error
)

// A Ledger is what works act upon, outside of them and of what they record. It lives in the test.
type Ledger struct {
	works    []Args
	listener net.Listener
	served   sync.WaitGroup
	allEnded chan struct{} // closed when each work has ended

	mu struct {
		sync.Mutex
		random     *rand.Rand
		next       int64 // answer
		entries    map[string][]entry
		started    map[string]bool
		handed     int
		returns    map[string]uint64
		ended      map[string]string
		complaints []string
		conns      map[net.Conn]bool
		trap       *trap // nil: none is set
	}
}

// A trap holds the answer to one call.
type trap struct {
	caller   chan string // has room for it
	released chan struct{}
}

// NewLedger listens on a free port of the loopback.
func NewLedger(works []Args) (*Ledger, error) {
	l := &Ledger{works: works, allEnded: make(chan struct{})}
	l.mu.random = rand.New(rand.NewPCG(works[0].Seed, 2))
	l.mu.entries = map[string][]entry{}
	l.mu.started = map[string]bool{}
	l.mu.returns = map[string]uint64{}
	l.mu.ended = map[string]string{}
	l.mu.conns = map[net.Conn]bool{}
	var err error
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	l.served.Go(l.accept)
	return l, nil
}

// Address is where workers find it.
func (l *Ledger) Address() string { return l.listener.Addr().String() }

// Close ends it. Workers that ask any more end.
func (l *Ledger) Close() error {
	err := l.listener.Close()
	l.mu.Lock()
	for c := range l.mu.conns {
		c.Close()
	}
	l.mu.Unlock()
	l.served.Wait()
	return err
}

// AllEnded is closed when a worker has seen the end of each work.
func (l *Ledger) AllEnded() <-chan struct{} { return l.allEnded }

// Ended returns how many works have ended.
func (l *Ledger) Ended() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.ended)
}

// Complaints returns what was wrong already.
func (l *Ledger) Complaints() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.complaints) == 0 {
		return nil
	}
	return errors.New(strings.Join(l.mu.complaints, "\n"))
}

// Missing returns the ids of works that have not ended.
func (l *Ledger) Missing() (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.works {
		if l.mu.ended[a.ID()] == "" {
			ids = append(ids, a.ID())
		}
	}
	return ids
}

func (l *Ledger) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		l.mu.conns[c] = true
		l.mu.Unlock()
		l.served.Go(func() { l.serve(c) })
	}
}

// serve answers a worker until that dies.
func (l *Ledger) serve(c net.Conn) {
	defer func() {
		c.Close()
		l.mu.Lock()
		delete(l.mu.conns, c)
		l.mu.Unlock()
	}()
	in, out := json.NewDecoder(bufio.NewReader(c)), json.NewEncoder(c)
	for {
		var q question
		if in.Decode(&q) != nil {
			return
		}
		if q.Asks == asksEffect {
			time.Sleep(l.delay()) // so that processes die within calls, before the effect and after it
		}
		a := l.answer(q)
		if q.Asks == asksEffect {
			time.Sleep(l.delay())
			l.hold(q.Effect)
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// Catch holds the next call that may be repeated: its effect was had, and the caller, a worker and its process, does not hear of it until release. There is one at a time.
func (l *Ledger) Catch() (caller <-chan string, release func()) {
	t := &trap{make(chan string, 1), make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.trap = t
	return t.caller, func() {
		l.mu.Lock()
		l.mu.trap = nil
		l.mu.Unlock()
		close(t.released)
	}
}

func (l *Ledger) hold(e Effect) {
	l.mu.Lock()
	t := l.mu.trap
	if t == nil || e.Policy == AtMostOnce {
		l.mu.Unlock()
		return
	}
	l.mu.trap = nil
	l.mu.Unlock()
	t.caller <- e.Worker
	<-t.released
}

func (l *Ledger) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := l.mu.random.IntN(100); {
	case n < 80:
		return 0
	case n < 98:
		return time.Duration(l.mu.random.IntN(int(20 * time.Millisecond)))
	default:
		return time.Duration(l.mu.random.IntN(int(time.Second)))
	}
}

func (l *Ledger) complainLocked(format string, args ...any) {
	l.mu.complaints = append(l.mu.complaints, fmt.Sprintf(format, args...))
}

func (l *Ledger) answer(q question) (a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch q.Asks {
	case asksEffect:
		a.Number = l.effectLocked(q.Effect)
	case asksReturns:
		id, chain := q.Effect.Thread, q.Effect.Chain
		if before, is := l.mu.returns[id]; is && before != chain {
			l.complainLocked("%s returns with the chain %x, and before with %x", id, chain, before)
		}
		l.mu.returns[id] = chain
	case asksStart:
		a.Args = l.startLocked()
	case asksCount:
		a.Number = int64(len(l.works))
	case asksStarted:
		l.mu.started[q.ID] = true
	case asksEnded:
		l.endedLocked(q)
	default:
		l.complainLocked("a worker asks %q", q.Asks)
	}
	return a
}

func (l *Ledger) effectLocked(e Effect) int64 {
	before := l.mu.entries[e.Key]
	for _, b := range before {
		if b.Thread != e.Thread || b.Step != e.Step || b.Policy != e.Policy {
			l.complainLocked("the key %s is that of %+v, and of %+v", e.Key, b.Effect, e)
		}
		if b.Chain != e.Chain {
			l.complainLocked("%s %q is called with the history %x by %s, and was with %x by %s", e.Thread, e.Step, e.Chain, e.Worker, b.Chain, b.Worker)
		}
	}
	if e.Policy == AtMostOnce && len(before) > 0 {
		l.complainLocked("%s %q is called by %s, and was by %s: want it at most once", e.Thread, e.Step, e.Worker, before[0].Worker)
	}
	l.mu.next += 1 + l.mu.random.Int64N(1000)
	answer := l.mu.next
	switch {
	case e.Policy == ByKey && len(before) > 0:
		answer = before[0].answer
	case l.mu.random.IntN(20) == 0:
		answer = -answer
	}
	l.mu.entries[e.Key] = append(before, entry{e, answer})
	return answer
}

// startLocked hands out the works in turn until all last; some of them twice at a time, so that workers race.
func (l *Ledger) startLocked() *Args {
	if l.mu.handed > 0 && l.mu.random.IntN(4) == 0 {
		l.mu.handed--
	}
	for range l.works {
		a := &l.works[l.mu.handed%len(l.works)]
		l.mu.handed++
		if !l.mu.started[a.ID()] {
			return a
		}
	}
	return nil
}

func (l *Ledger) endedLocked(q question) {
	text := string(q.Result)
	if q.Err != "" {
		text = "error: " + q.Err
		l.complainLocked("%s ends with the error %s", q.ID, q.Err)
	}
	if !slices.ContainsFunc(l.works, func(a Args) bool { return a.ID() == q.ID }) {
		l.complainLocked("%q ends, which is none", q.ID)
		return
	}
	switch before := l.mu.ended[q.ID]; before {
	case text:
	case "":
		l.mu.ended[q.ID] = text
		if len(l.mu.ended) == len(l.works) {
			close(l.allEnded)
		}
	default:
		l.complainLocked("%s ends with %s, and before with %s", q.ID, text, before)
	}
}
