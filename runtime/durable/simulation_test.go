package durable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

// A world is what is outside of the processes of a simulation: a disk, and a ledger of what was done. Its processes die at random.
type world struct {
	random   *rand.Rand
	lasting  [][]journal.Entry // records on the disk that are synchronized
	lies     bool              // the disk says that it has synchronized, and has not
	ledger   map[string]*deed
	values   map[string]string // what bodies have seen, by place
	told     map[string]int    // the last number of each stream
	count    int
	deaths   int
	trace    hash.Hash64 // of all that was done, in order
	twins    bool        // a clone and its origin wait for one moment: who of them is first is decided by plain goroutines, and may be another one when the seed is executed again
	problems []string
}

// A deed is what was done outside by one call, in all its attempts.
type deed struct {
	policy  durable.Policy
	args    string
	values  []int // one for each attempt
	applied int   // by who tells attempts apart by their key
}

func newWorld(r *rand.Rand) *world {
	return &world{random: r, ledger: map[string]*deed{}, values: map[string]string{}, told: map[string]int{}, trace: fnv.New64a()}
}

func (w *world) problem(format string, args ...any) {
	if len(w.problems) < 20 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

func (w *world) note(format string, args ...any) {
	line := fmt.Sprint(time.Now().UnixNano(), " ", fmt.Sprintf(format, args...), "\n")
	w.trace.Write([]byte(line))
}

// saw checks that what was recorded is the same in each replay, in whichever process.
func (w *world) saw(th *durable.Thread, at int, value any) {
	place := fmt.Sprint(th.ID(), " ", at)
	v := fmt.Sprint(value)
	if was, ok := w.values[place]; ok && was != v {
		w.problem("%s was seen as %s, and as %s", place, was, v)
	}
	w.values[place] = v
}

// A process has a keeper, until it dies.
type process struct {
	w       *world
	number  int
	err     error // of its store
	dead    bool
	tail    [][]journal.Entry // written and not synchronized
	flushed int               // records that were synchronized
	commits int
	cutAt   int // commit; 0: never
	full    bool
	long    bool // some calls last long
}

var (
	errDead = errors.New("the process is dead")
	errFull = errors.New("no space left on the disk")
)

// Load is that of a store.
func (p *process) Load(f func(journal.Entry) error) error {
	for _, record := range p.w.lasting {
		for _, e := range record {
			if err := f(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Commit writes a record. It lasts when it is synchronized, with all that were written before, which takes a while.
func (p *process) Commit(entries ...journal.Entry) error {
	if p.err != nil {
		return p.err
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	var record []journal.Entry
	if err := json.Unmarshal(text, &record); err != nil {
		return err
	}
	p.tail = append(p.tail, record)
	mine := p.flushed + len(p.tail)
	if p.commits++; p.commits == p.cutAt {
		p.cut(!p.full)
	}
	vthread.Sleep(time.Duration(1+p.w.random.IntN(200_000)) * time.Nanosecond)
	if p.err != nil {
		return p.err
	}
	if !p.w.lies {
		p.flush(mine - p.flushed)
	}
	p.w.note("%d: %s lasts", p.number, text)
	return nil
}

func (p *process) flush(n int) {
	if n > 0 {
		p.w.lasting = append(p.w.lasting, p.tail[:n]...)
		p.tail = p.tail[n:]
		p.flushed += n
	}
}

// cut ends the store: of what was not synchronized some may last, up to a place.
func (p *process) cut(dies bool) {
	if p.err != nil {
		return
	}
	p.err = errFull
	if dies {
		p.err, p.dead = errDead, true
	}
	p.flush(p.w.random.IntN(len(p.tail) + 1))
	p.w.note("process %d: %v", p.number, p.err)
}

// Close is that of a store.
func (p *process) Close() error {
	if p.err == nil {
		p.flush(len(p.tail))
		p.err = errors.New("closed")
	}
	return nil
}

// do does something outside. What a dead process does is nothing.
func (p *process) do(c durable.Call, policy durable.Policy, args string) (int, error) {
	w := p.w
	if p.dead {
		return 0, errDead
	}
	w.count++
	d := w.ledger[c.Key]
	if d == nil {
		d = &deed{policy: policy, args: args}
		w.ledger[c.Key] = d
	}
	if d.args != args || d.policy != policy {
		w.problem("call %s was made with %q, and with %q", c.Key, d.args, args)
	}
	value := w.count
	switch {
	case policy == durable.ByKey && d.applied > 0:
		value = d.values[0]
	default:
		d.applied++
	}
	d.values = append(d.values, value)
	w.note("%d does %s %s", p.number, c.Key, args)
	vthread.Sleep(time.Duration(w.random.IntN(3)) * 100 * time.Microsecond)
	if p.long && w.random.IntN(8) == 0 { // longer than others wait before they take the tree
		vthread.Sleep(time.Duration(1 + w.random.Int64N(int64(6*lease))))
	}
	if value%7 == 0 {
		return 0, fmt.Errorf("refused %d", value)
	}
	return value, nil
}

// A plan is the argument of a body.
type plan struct {
	Seed  uint64
	Depth int
}

// registry has the bodies as they are in this process.
func (p *process) registry() *durable.Registry {
	r := durable.NewRegistry()
	for name, f := range map[string]func(*durable.Thread, plan) (string, error){"flow": p.flow, "steady": p.steady} {
		if err := durable.Register(r, name, f); err != nil {
			panic(err)
		}
	}
	return r
}

// own is a time that no other thread waits for: timers of one moment are goroutines of which nobody knows who is first.
func own(th *durable.Thread, ns int64) time.Duration {
	h := fnv.New32()
	h.Write([]byte(th.ID()))
	return time.Duration(1 + ns + int64(h.Sum32()%1_000_003))
}

// timed reports whether a thread or a child of it waits for a time.
func timed(th *durable.Thread) bool {
	if s := th.Steps(); len(s) > 0 && s[len(s)-1].Open && (s[len(s)-1].Kind == journal.StepSleep || s[len(s)-1].Kind == journal.StepSignal) {
		return true
	}
	for i := 1; i < 8; i++ {
		if c := th.Child(i); c != nil && timed(c) {
			return true
		}
	}
	return false
}

// flow does what its plan says.
func (p *process) flow(th *durable.Thread, of plan) (string, error) {
	r := rand.New(rand.NewPCG(of.Seed, 1))
	var kids []durable.Child
	var text strings.Builder
	lazy := "" // what nobody has seen yet
	saw := func(i int, v any) {
		p.w.saw(th, i, v)
		fmt.Fprint(&text, v, ";")
	}
	chosen, last := false, 0
	for i := range 3 + r.IntN(7) {
		switch op := r.IntN(14); op {
		case 0, 1, 2, 3, 4:
			policy := durable.Policy(r.IntN(3))
			args := lazy
			v, err := durable.Do(th, fmt.Sprint("call ", i), func(c durable.Call) (int, error) { return p.do(c, policy, args) }, policy)
			saw(i, fmt.Sprint(v, err))
			lazy = ""
		case 5:
			before := durable.Now(th)
			d := time.Duration(r.Int64N(int64(2 * time.Hour)))
			durable.Sleep(th, "a while", own(th, int64(d)))
			if after := durable.Now(th); after.Sub(before) < d {
				p.w.problem("%s slept for %v, of %v", th.ID(), after.Sub(before), d)
			}
			lazy = ""
		case 6:
			lazy += fmt.Sprint(durable.Random(th), durable.NewID(th), durable.Now(th))
		case 7, 8:
			if of.Depth > 0 {
				c, err := durable.Fork(th, [...]string{"flow", "steady"}[r.IntN(2)], plan{r.Uint64(), of.Depth - 1})
				if err != nil {
					return "", err
				}
				kids = append(kids, c)
			}
		case 9:
			saw(i, durable.Await[string](th, fmt.Sprint("signal ", i)))
			lazy = ""
		case 10:
			v, ok := durable.AwaitFor[string](th, fmt.Sprint("signal ", i), own(th, r.Int64N(int64(time.Hour))))
			saw(i, fmt.Sprint(v, ok))
			lazy = ""
		case 11:
			durable.Park(th, fmt.Sprint("park ", i))
			lazy = ""
		case 12:
			if !chosen && of.Depth > 0 && len(kids) == 0 { // clones of children would wait for the same moment: see own
				chosen = true
				p.w.saw(th, i, durable.Choose(th, "way", 1+r.IntN(3)))
				lazy = ""
			}
		case 13:
			for range 3 {
				n := durable.Await[int](th, "stream")
				if n != last && n != last+1 { // who sends again what was not answered may send twice
					p.w.problem("%s: of the stream came %d after %d", th.ID(), n, last)
				}
				last = n
				saw(10_000+100*i+n, n)
			}
		}
		if p.number >= 2 {
			if durable.Patch(th, fmt.Sprint("from the second process on ", i), 2) > 0 {
				durable.Random(th)
			}
		}
	}
	for i, c := range kids {
		if r.IntN(4) == 0 {
			continue // it ends before us all the same
		}
		v, err := durable.Join[string](th, c)
		saw(1000+i, fmt.Sprint(v, err))
	}
	if r.IntN(5) == 0 {
		return "", fmt.Errorf("in the end: %s", text.String())
	}
	return text.String(), nil
}

var steadily = durable.Checkpoint[[]int]{Name: "steadily", Version: 1}

// steady saves a state now and then.
func (p *process) steady(th *durable.Thread, of plan) (string, error) {
	r := rand.New(rand.NewPCG(of.Seed, 2))
	n, every := 3+r.IntN(6), 1+r.IntN(4)
	done, _ := steadily.Restore(th)
	for i := len(done); i < n; i++ {
		v, err := durable.Do(th, "step", func(c durable.Call) (int, error) { return p.do(c, durable.AtLeastOnce, fmt.Sprint(i)) })
		p.w.saw(th, i, fmt.Sprint(v, err))
		done = append(done, v)
		durable.Sleep(th, "between", own(th, rand.New(rand.NewPCG(of.Seed, uint64(i))).Int64N(int64(time.Minute))))
		if i%every == 0 {
			steadily.Save(th, done)
		}
	}
	return fmt.Sprint(done), nil
}

// life is what a process does: it opens its store, starts what is missing, and tells threads what they wait for, until it dies or all have ended. It reports
// whether they have.
func (w *world) life(number, flows int, last bool) (ended bool) {
	p := &process{w: w, number: number}
	w.note("process %d", number)
	if !last {
		p.cutAt = 1 + w.random.IntN(12*flows)
		p.full = w.random.IntN(4) == 0
	}
	k, err := durable.Open(durable.KeeperOptions{Registry: p.registry(), Store: p, Random: w.random.Uint64,
		HibernateAfter: []time.Duration{time.Millisecond, time.Second, 100 * time.Hour}[w.random.IntN(3)]})
	if err != nil {
		w.problem("process %d: open: %v", number, err)
		return true
	}
	defer func() {
		if err := k.Close(); err != nil {
			w.problem("process %d: close: %v", number, err)
		}
	}()
	cloned := false
	for p.err == nil {
		for i := range flows {
			id := fmt.Sprint("flow-", i)
			_, err := k.Start(id, [...]string{"flow", "flow", "steady"}[i%3], plan{uint64(i) + 1000*uint64(flows), 2})
			if err != nil && !errors.Is(err, durable.ErrExists) && p.err == nil {
				w.problem("start %s: %v", id, err)
			}
		}
		vthread.Sleep(time.Duration(1 + w.random.Int64N(int64(20*time.Minute))))
		ended = true
		for _, th := range k.Threads() {
			if th.State() != durable.Done {
				ended = false
				w.tell(th, p)
			}
			if !cloned && number == 1 && w.random.IntN(3*flows) == 0 && !timed(th) {
				cloned = true
				if c, err := th.Clone(); err == nil {
					w.note("clone %s of %s", c.ID(), th.ID())
					w.twins = timed(c) // it has gone on meanwhile
				} else if err != durable.ErrDone && p.err == nil {
					w.problem("clone: %v", err)
				}
			}
		}
		switch {
		case ended && p.err == nil:
			p.cutAt = 0
			w.check(k, flows)
			return true
		case !last && w.random.IntN(40) == 0:
			p.cut(true)
		case !last && w.random.IntN(40) == 0:
			w.note("process %d ends", number)
			return false
		}
	}
	w.deaths++
	if !p.dead {
		vthread.Sleep(time.Second) // its threads stop by themselves
	}
	return false
}

// tell gives a thread and its children what they wait for.
func (w *world) tell(th *durable.Thread, p *process) {
	for i := 1; i < 8; i++ {
		if c := th.Child(i); c != nil {
			w.tell(c, p)
		}
	}
	steps := th.Steps()
	if len(steps) == 0 || !steps[len(steps)-1].Open || w.random.IntN(2) == 0 {
		return
	}
	var err error
	switch s := steps[len(steps)-1]; {
	case s.Kind == journal.StepPark:
		err = th.Unpark()
	case s.Kind == journal.StepSignal && s.Name == "stream":
		n := w.told[th.ID()] + 1
		if n == 1 || w.random.IntN(2) == 0 { // a clone may have got some before
			for _, s := range steps {
				if s.Kind == journal.StepSignal && s.Name == "stream" && !s.Open {
					n = max(n, atoi(s.Value)+1)
				}
			}
		}
		if err = th.Signal("stream", n); err == nil {
			w.told[th.ID()] = n
		}
	case s.Kind == journal.StepSignal:
		err = th.Signal(s.Name, fmt.Sprint("word ", w.random.IntN(1000)))
	}
	if err != nil && !errors.Is(err, durable.ErrDone) && p.err == nil {
		w.problem("tell %s: %v", th.ID(), err)
	}
}

func atoi(b []byte) int {
	n, _ := strconv.Atoi(string(b))
	return n
}

// check looks at the end of all.
func (w *world) check(k *durable.Keeper, flows int) {
	all := k.Threads()
	if len(all) < flows {
		w.problem("%d threads, of %d", len(all), flows)
	}
	for _, th := range all {
		_, err := durable.Result[string](th)
		w.note("%s has ended: %v", th.ID(), err)
		if errors.As(err, new(*durable.Divergence)) || errors.Is(err, durable.ErrStore) || errors.Is(err, durable.ErrClosed) {
			w.problem("%s: %v", th.ID(), err)
		}
	}
	w.audit()
	for _, th := range all {
		if err := k.Forget(th.ID()); err != nil {
			w.problem("forget %s: %v", th.ID(), err)
		}
	}
}

// audit compares the ledger with what was recorded.
func (w *world) audit() {
	results := map[string]journal.Step{} // of calls, by key
	at := map[string]int{}               // by thread: how many steps it has
	record := func(e *journal.Entry) {
		key := fmt.Sprintf("%s.%d", e.Thread, at[e.Thread]-1)
		if e.Step.Kind != journal.StepDo || e.Step.Open {
			return
		}
		if _, twice := results[key]; twice {
			w.problem("call %s was recorded twice", key)
		}
		results[key] = *e.Step
	}
	for _, commit := range w.lasting {
		for _, e := range commit {
			switch e.Op {
			case journal.OpStep:
				at[e.Thread]++
				record(&e)
			case journal.OpSet:
				record(&e)
			case journal.OpBase:
				at[e.Thread] = e.Since + 1
				if e.Image != nil { // as a shared store keeps it
					at[e.Thread], _, _ = stepsOf(&e)
				}
			case journal.OpWhole:
				n, forks, whole := stepsOf(&e)
				at[e.Thread] = n
				if forks != e.Image.Forks && whole {
					w.problem("the image of %s has %d forks in its steps, and %d in all", e.Thread, forks, e.Image.Forks)
				}
			}
		}
	}
	for key, s := range results {
		d := w.ledger[key]
		switch {
		case s.Err == durable.ErrInterruptedCall.Error():
			if d != nil && (d.policy != durable.AtMostOnce || len(d.values) > 1) {
				w.problem("call %s was interrupted, and done %d times, policy %d", key, len(d.values), d.policy)
			}
			continue
		case d == nil:
			w.problem("call %s was recorded, and not done", key)
			continue
		case s.Err == "" && !contains(d.values, atoi(s.Value)), s.Err != "" && !containsRefused(d.values, s.Err):
			w.problem("call %s was recorded as %s %s, and done as %v", key, s.Value, s.Err, d.values)
		}
		if d.policy == durable.AtMostOnce && len(d.values) != 1 || d.policy == durable.ByKey && d.applied != 1 {
			w.problem("call %s was done %d times, policy %d", key, len(d.values), d.policy)
		}
	}
	for key, d := range w.ledger {
		if _, ok := results[key]; !ok && d.policy != durable.AtLeastOnce { // such a call is forgotten where the code was changed
			w.problem("call %s was done %d times, and never recorded", key, len(d.values))
		}
	}
	if len(w.ledger) == 0 {
		w.problem("nothing was done")
	}
}

func contains(all []int, v int) bool {
	for _, a := range all {
		if a == v {
			return true
		}
	}
	return false
}

func containsRefused(all []int, err string) bool {
	for _, a := range all {
		if err == fmt.Sprint("refused ", a) {
			return true
		}
	}
	return false
}

// stepsOf is how many steps the image of an entry has, with those before its checkpoint, and how many of them are forks; whole tells whether it has all of them.
func stepsOf(e *journal.Entry) (n, forks int, whole bool) {
	for _, s := range e.Image.Steps {
		if s.Kind == journal.StepFork {
			forks++
		}
	}
	return e.Image.Since + len(e.Image.Steps), forks, e.Image.Since == 0
}

// run is a simulation: processes die, the next goes on, and the last one comes to the end.
func (w *world) run() {
	flows := 3 + w.random.IntN(10)
	deaths := w.random.IntN(6)
	for number := 1; ; number++ {
		if w.life(number, flows, number > deaths) {
			return
		}
	}
}

// DU-11, DU-12: processes die at random, and their disk loses what it has not synchronized. A thousand seeds are a part of make check, and ten thousand of make nightly: see the flag
// -vt.schedules.
func TestSimulatedProcessesDieAndEveryThreadEnds(t *testing.T) {
	n, calls, deaths := 0, 0, 0
	vttest.Options{Schedules: 50, Choices: 1_000_000}.Run(t, func(t *testing.T) {
		w := newWorld(vttest.Random(t))
		w.run()
		for _, p := range w.problems {
			t.Error(p)
		}
		n, calls, deaths = n+1, calls+w.count, deaths+w.deaths
	})
	t.Logf("%d calls, %d deaths", calls, deaths)
	if n > 10 && (calls < 100 || deaths < 10) {
		t.Errorf("%d calls and %d deaths: what is tested?", calls, deaths)
	}
}

// DU-16
func TestASeedRepeatsItsSimulation(t *testing.T) {
	was := map[uint64]bool{}
	compared := 0
	for i := range 8 {
		twins := false
		seed := fmt.Sprintf("%x", uint64(i+1)<<32|3000<<4|uint64(i))
		var hashes []uint64
		for range 2 {
			vttest.Options{Seed: seed, Choices: 1_000_000}.Run(t, func(t *testing.T) {
				w := newWorld(vttest.Random(t))
				w.run()
				hashes, twins = append(hashes, w.trace.Sum64()), twins || w.twins
			})
		}
		if twins {
			continue
		}
		compared++
		if hashes[0] != hashes[1] || was[hashes[0]] {
			t.Errorf("seed %s: hashes %x and %x, or that of another seed", seed, hashes[0], hashes[1])
		}
		was[hashes[0]] = true
	}
	t.Logf("%d seeds were compared", compared)
	if compared < 4 {
		t.Errorf("%d seeds were compared, of 8: what is tested?", compared)
	}
}

// DU-16: a simulation that finds nothing is worth something because it finds a disk that lies.
func TestSimulationsFindADiskThatLies(t *testing.T) {
	found := map[string]bool{}
	vttest.Options{Schedules: 12, Choices: 1_000_000}.Run(t, func(t *testing.T) {
		w := newWorld(vttest.Random(t))
		w.lies = true
		w.run()
		for _, p := range w.problems {
			for _, word := range []string{"seen as", "was done", "was made with"} {
				if strings.Contains(p, word) {
					found[word] = true
				}
			}
		}
	})
	if len(found) < 2 {
		t.Errorf("found %v", found)
	}
}
