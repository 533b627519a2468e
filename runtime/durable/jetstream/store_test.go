package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

const patience = 4 * time.Minute

func register[A, R any](t testing.TB, r *durable.Registry, name string, f func(*durable.Thread, A) (R, error)) {
	t.Helper()
	if err := durable.Register(r, name, f); err != nil {
		t.Fatal(err)
	}
}

func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// server starts one that others can connect to.
func server(t testing.TB) *jetstream.Server {
	t.Helper()
	s, err := jetstream.NewServer(jetstream.ServerOptions{Dir: folder(t), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A keeper is one with its store.
type keeper struct {
	*durable.Keeper
	store *jetstream.Store
	late  *impatience
}

func open(t testing.TB, url string, r *durable.Registry, change ...func(*jetstream.Options)) *keeper {
	t.Helper()
	o := jetstream.Options{URL: url, Lease: time.Second, Patience: 500 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	s, err := jetstream.Open(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	late := &impatience{}
	s.GiveUpForTest(late.get)
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return &keeper{k, s, late}
}

// An impatience is when a keeper gives up what it sends: a minute after it began, unless it is told another moment before.
type impatience struct {
	sync.Mutex
	when <-chan struct{}
}

func (i *impatience) get() <-chan struct{} {
	i.Lock()
	defer i.Unlock()
	return i.when
}

// givesUp sets when the keeper gives up what it sends from now on; nil: after a minute.
func (k *keeper) givesUp(when <-chan struct{}) {
	k.late.Lock()
	defer k.late.Unlock()
	k.late.when = when
}

// A ledger counts outside what was done and seen.
type ledger struct {
	sync.Mutex
	did  map[string]int // how often a call was made
	seen map[string]string
	bad  []string
}

func newLedger() *ledger { return &ledger{did: map[string]int{}, seen: map[string]string{}} }

// saw notes what a body was given at a step: the same each time.
func (l *ledger) saw(thread string, step int, value any) {
	l.Lock()
	defer l.Unlock()
	key := fmt.Sprint(thread, ".", step)
	if old, ok := l.seen[key]; ok && old != fmt.Sprint(value) {
		l.bad = append(l.bad, fmt.Sprint(key, ": saw ", old, ", then ", value))
	}
	l.seen[key] = fmt.Sprint(value)
}

func (l *ledger) check(t testing.TB) {
	t.Helper()
	l.Lock()
	defer l.Unlock()
	for _, b := range l.bad {
		t.Error(b)
	}
}

// stopAt20 lets the calls of step 20 wait at a gate.
func stopAt20(gate <-chan struct{}) func(step int) {
	return func(step int) {
		if step == 20 {
			<-gate
		}
	}
}

// works is a registry of threads that do n steps, and sleep in between. Calls wait for what is called before them, if there is something.
func works(t testing.TB, l *ledger, pause time.Duration, before ...func(step int)) *durable.Registry {
	r := durable.NewRegistry()
	register(t, r, "work", func(th *durable.Thread, n int) (int, error) {
		sum := 0
		for i := range n {
			v, err := durable.Do(th, fmt.Sprint("step ", i), func(c durable.Call) (int, error) {
				for _, f := range before {
					f(i)
				}
				l.Lock()
				defer l.Unlock()
				l.did[c.Key]++
				return i, nil
			})
			if err != nil {
				return 0, err
			}
			l.saw(th.ID(), i, v)
			sum += v
			durable.Sleep(th, "pause", pause)
		}
		return sum, nil
	})
	register(t, r, "asks", func(th *durable.Thread, n int) (string, error) {
		all := ""
		for range n {
			all += durable.Await[string](th, "word")
		}
		return all, nil
	})
	register(t, r, "parks", func(th *durable.Thread, n int) (int, error) {
		durable.Park(th, "p")
		return n, nil
	})
	return r
}

func TestAThreadRunsOverAnEmbeddedServer(t *testing.T) {
	dir := folder(t)
	l := newLedger()
	openDir := func() *durable.Keeper {
		s, err := jetstream.Open(within(t), jetstream.Options{Dir: dir, Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: works(t, l, time.Millisecond), Store: s, HibernateAfter: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k := openDir()
	th, err := k.Start("one", "work", 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[int](th); got != 3 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := k.Start("one", "work", 3); !errors.Is(err, durable.ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := k.Start("two", "asks", 1); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = openDir()
	if got, err := durable.ResultOf[int](within(t), k, "one"); got != 3 || err != nil {
		t.Errorf("after it was closed: got %d, %v", got, err)
	}
	if err := k.Signal("two", "word", "w"); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.ResultOf[string](within(t), k, "two"); got != "w" || err != nil {
		t.Errorf("after it was closed: got %q, %v", got, err)
	}
	for _, id := range []string{"one", "two"} {
		if err := k.Forget(id); err != nil {
			t.Error(err)
		}
		if _, err := k.Result(within(t), id); !errors.Is(err, durable.ErrNone) {
			t.Errorf("%s, which was forgotten: %v", id, err)
		}
	}
	if th, err = k.Start("one", "work", 4); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[int](th); got != 6 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClosingGivesThreadsToAnother(t *testing.T) {
	s := server(t)
	l := newLedger()
	long := func(o *jetstream.Options) { o.Lease = time.Hour }
	a := open(t, s.URL(), works(t, l, 50*time.Millisecond), long)
	for i := range 20 {
		if _, err := a.Start(fmt.Sprint("w", i), "work", 10); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, s.URL(), works(t, l, 50*time.Millisecond), long)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if got, err := durable.ResultOf[int](within(t), b.Keeper, fmt.Sprint("w", i)); got != 45 || err != nil {
			t.Errorf("w%d: got %d, %v", i, got, err)
			break
		}
	}
	l.check(t)
	told(t, b)
}

// told prints what participants know, when a test has failed.
func told(t testing.TB, all ...*keeper) {
	if !t.Failed() {
		return
	}
	for i, k := range all {
		st := k.store.Stats()
		t.Logf("keeper %d: %+v", i, st)
		for _, tree := range k.store.Trees() {
			t.Logf("  %+v", tree)
			_ = k.store.Load(func(e journal.Entry) error {
				if e.Thread == tree.ID {
					b, _ := json.Marshal(e)
					t.Logf("    %s", b)
				}
				return nil
			})
			if th := k.Thread(tree.ID); th != nil {
				t.Logf("    here it is %v, after %d steps", th.State(), len(th.Steps()))
				if th.State() == durable.Done {
					t.Logf("    %v", th.Join())
				}
			}
		}
	}
}

// kill stops a store's connection and heartbeats without a goodbye, as a process that is killed does: what it has under way stays so.
func TestADeadKeepersThreadsGoOnAtAnother(t *testing.T) {
	s := server(t)
	l := newLedger()
	gate := make(chan struct{})
	a := open(t, s.URL(), works(t, l, time.Millisecond, stopAt20(gate)))
	t.Cleanup(func() { close(gate) })
	b := open(t, s.URL(), works(t, l, time.Millisecond))
	until(t, "b hears of a", func() bool { return b.store.Stats().Members == 1 })
	for i := range 20 {
		if _, err := a.Start(fmt.Sprint("w", i), "work", 40); err != nil {
			t.Fatal(err)
		}
	}
	a.store.CutForTest()
	for i := range 20 {
		if got, err := durable.ResultOf[int](within(t), b.Keeper, fmt.Sprint("w", i)); got != 39*20 || err != nil {
			t.Errorf("w%d: got %d, %v", i, got, err)
			break
		}
	}
	l.check(t)
	if st := b.store.Stats(); st.Taken < 20 {
		t.Errorf("b has taken %d", st.Taken)
	}
	told(t, b)
}

// A thread waits for a signal, and nobody has it. Whoever has room takes it when the signal comes, also if it comes from where the thread cannot run.
func TestASignalWakesAThreadThatNobodyHas(t *testing.T) {
	s := server(t)
	l := newLedger()
	a := open(t, s.URL(), works(t, l, 0))
	b := open(t, s.URL(), works(t, l, 0))
	teller := open(t, s.URL(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	const n, words = 10, 5
	var threads []*durable.Thread
	for i := range n {
		th, err := a.Start(fmt.Sprint("asks ", i, ".*>"), "asks", words) // what no subject can hold
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, th)
	}
	for w := range words {
		until(t, "all are given back", func() bool { return a.store.Stats().Trees+b.store.Stats().Trees == 0 })
		for i, th := range threads {
			if th.State() != durable.Away {
				t.Fatalf("a hibernated thread is %v", th.State())
			}
			from := []*keeper{a, b, teller}[i%3]
			if err := from.Signal(th.ID(), "word", fmt.Sprint(w)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, th := range threads {
		if got, err := durable.ResultOf[string](within(t), teller.Keeper, th.ID()); got != "01234" || err != nil {
			t.Errorf("thread %d: got %q, %v", i, got, err)
		}
		if err := teller.Signal(th.ID(), "word", "late"); !errors.Is(err, durable.ErrDone) {
			t.Errorf("a signal after the end: %v", err)
		}
	}
	if err := teller.Signal("nobody", "word", ""); !errors.Is(err, durable.ErrNone) {
		t.Errorf("a signal to nobody: %v", err)
	}
	if got := teller.store.Stats(); got.Taken > 0 {
		t.Errorf("one without room has taken %d", got.Taken)
	}
	told(t, a, b)
}

// Signals come while keepers die. Each is taken once, and those of one sender in their order.
func TestSignalsAreTakenOnceThoughOwnersDie(t *testing.T) {
	s := server(t)
	l := newLedger()
	teller := open(t, s.URL(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	const n, words, deaths = 4, 40, 3
	short := func(o *jetstream.Options) { o.Lease = 300 * time.Millisecond }
	k := open(t, s.URL(), works(t, l, 0), short)
	want := ""
	for i := range n {
		if _, err := k.Start(fmt.Sprint("asks", i), "asks", words); err != nil {
			t.Fatal(err)
		}
	}
	for w := range words {
		for i := range n {
			if err := teller.Signal(fmt.Sprint("asks", i), "word", fmt.Sprint(w, " ")); err != nil {
				t.Fatal(err)
			}
		}
		want += fmt.Sprint(w, " ")
		if w%(words/(deaths+1)) == words/(deaths+1)-1 {
			next := open(t, s.URL(), works(t, l, 0), short)
			k.store.CutForTest()
			k = next
		}
	}
	for i := range n {
		if got, err := durable.ResultOf[string](within(t), teller.Keeper, fmt.Sprint("asks", i)); got != want || err != nil {
			t.Errorf("asks%d: got %q, %v", i, got, err)
		}
	}
	told(t, teller, k)
}

// Threads that sleep are nobody's; when they go on, those who have room share them.
func TestAThousandThreadsSpreadOverKeepers(t *testing.T) {
	s := server(t)
	var mu sync.Mutex
	var at [3]int
	registry := func(keeper int) *durable.Registry {
		r := durable.NewRegistry()
		register(t, r, "sleeps", func(th *durable.Thread, n int) (int, error) {
			durable.Sleep(th, "until all are there", 3*time.Second)
			mu.Lock()
			at[keeper]++
			mu.Unlock()
			durable.Await[int](th, "go on")
			return n, nil
		})
		return r
	}
	var all []*keeper
	for i := range at {
		all = append(all, open(t, s.URL(), registry(i)))
	}
	const n = 1000
	var wg sync.WaitGroup
	slots := make(chan struct{}, 50)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			if _, err := all[0].Start(fmt.Sprint("s", i), "sleeps", i); err != nil {
				t.Error(err)
			}
			<-slots
		})
	}
	wg.Wait()
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			if err := all[i%3].Signal(fmt.Sprint("s", i), "go on", 1); err != nil {
				t.Error(err)
			}
			<-slots
		})
	}
	for i := range n {
		if got, err := durable.ResultOf[int](within(t), all[i%3].Keeper, fmt.Sprint("s", i)); got != i || err != nil {
			t.Errorf("s%d: got %d, %v", i, got, err)
			break
		}
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i := range at {
		if at[i] < n/20 {
			t.Errorf("keeper %d had %d of %v", i, at[i], at)
		}
	}
	told(t, all...)
}

// Room limits what is taken: the others wait until there is some.
func TestRoomLimitsWhatIsTaken(t *testing.T) {
	s := server(t)
	l := newLedger()
	var mu sync.Mutex
	now, most := 0, 0
	r := works(t, l, 0)
	register(t, r, "busy", func(th *durable.Thread, n int) (int, error) {
		durable.Await[int](th, "go")
		return durable.Do(th, "work", func(durable.Call) (int, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(50 * time.Millisecond) // so that more would meet
			mu.Lock()
			now--
			mu.Unlock()
			return n, nil
		})
	})
	starter := open(t, s.URL(), r, func(o *jetstream.Options) { o.Room = -1 })
	for i := range 30 {
		if _, err := starter.Start(fmt.Sprint("b", i), "busy", i); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all are given back", func() bool { return starter.store.Stats().Trees == 0 })
	for i := range 30 {
		if err := starter.Signal(fmt.Sprint("b", i), "go", 1); err != nil {
			t.Fatal(err)
		}
	}
	small := open(t, s.URL(), r, func(o *jetstream.Options) { o.Room = 3 })
	for i := range 30 {
		if got, err := durable.ResultOf[int](within(t), starter.Keeper, fmt.Sprint("b", i)); got != i || err != nil {
			t.Errorf("b%d: got %d, %v", i, got, err)
		}
	}
	if most > 3 {
		t.Errorf("%d at a time", most)
	}
	told(t, starter, small)
}

// A search by choices: each clone is a tree of its own, and goes on also if the one that chose dies.
func TestChoicesAreTreesThatAreFoundAgain(t *testing.T) {
	s := server(t)
	var mu sync.Mutex
	found := map[string]int{}
	r := durable.NewRegistry()
	register(t, r, "search", func(th *durable.Thread, n int) (string, error) {
		word := ""
		salt := durable.Random(th)
		for i := range n {
			word += string(rune('a' + durable.Choose(th, fmt.Sprint("letter ", i), 3)))
			durable.Sleep(th, "a moment", 30*time.Millisecond)
		}
		return durable.Do(th, "found", func(durable.Call) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			found[fmt.Sprint(word, " ", salt)]++
			return word, nil
		})
	})
	short := func(o *jetstream.Options) { o.Lease = 300 * time.Millisecond }
	a := open(t, s.URL(), r, short)
	defer func() { told(t, a) }()
	if _, err := a.Start("root", "search", 3); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		commits := a.store.Stats().Commits
		until(t, "commits", func() bool { return a.store.Stats().Commits > commits+10 })
		b := open(t, s.URL(), r, short)
		a.store.CutForTest()
		a = b
	}
	words := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(found)
	}
	until(t, "all are found", func() bool { return words() >= 27 })
	until(t, "all have ended", func() bool { return a.store.Stats().Known == 0 })
	if got := words(); got != 27 {
		t.Errorf("%d were found: %v", got, found)
	}
}

// A checkpoint stands for what was before also in the stream.
func TestACheckpointShortensTheStream(t *testing.T) {
	s := server(t)
	progress := durable.Checkpoint[int]{Name: "progress", Version: 1}
	r := durable.NewRegistry()
	register(t, r, "counts", func(th *durable.Thread, n int) (int, error) {
		at, _ := progress.Restore(th)
		for at < n {
			v, err := durable.Do(th, "next", func(durable.Call) (int, error) { return at + 1, nil })
			if err != nil {
				return 0, err
			}
			at = v
			progress.Save(th, at)
		}
		durable.Await[int](th, "go on")
		return at, nil
	})
	a := open(t, s.URL(), r)
	if _, err := a.Start("one", "counts", 300); err != nil {
		t.Fatal(err)
	}
	until(t, "it waits", func() bool { return a.store.Stats().Released > 0 })
	if n := a.store.MessagesForTest(t.Context()); n == 0 || n > 30 { // of 300
		t.Errorf("%d messages", n)
	}
	b := open(t, s.URL(), r)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Signal("one", "go on", 1); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.ResultOf[int](within(t), b.Keeper, "one"); got != 300 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	told(t, b)
}

// A thread that was parked to bytes elsewhere is kept from then on, once, and any keeper can have it.
func TestAThreadArrivesFromItsBytes(t *testing.T) {
	url := server(t).URL()
	r := durable.NewRegistry()
	register(t, r, "child", func(th *durable.Thread, n int) (int, error) { return n + durable.Await[int](th, "more"), nil })
	register(t, r, "parent", func(th *durable.Thread, n int) (int, error) {
		c, err := durable.Fork(th, "child", n)
		if err != nil {
			return 0, err
		}
		durable.Park(th, "here")
		return durable.Join[int](th, c)
	})
	th, err := durable.Builder{Registry: r, ID: "hops"}.Start("parent", 40)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the park", func() bool { return len(th.Steps()) == 2 })
	b, err := th.ParkAndSerialize()
	if err != nil {
		t.Fatal(err)
	}
	one, two := open(t, url, r), open(t, url, r)
	defer two.Close()
	if _, err := one.DeserializeAndUnpark(b); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*keeper{one, two} {
		if _, err := k.DeserializeAndUnpark(b); !errors.Is(err, durable.ErrExists) {
			t.Errorf("a second time: %v", err)
		}
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := two.Signal("hops/1", "more", 2); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.ResultOf[int](within(t), two.Keeper, "hops"); got != 42 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
