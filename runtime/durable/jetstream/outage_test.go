package jetstream_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// journals are the trees of a store, by id.
func journals(t testing.TB, k *keeper) map[string]*journal.Image {
	t.Helper()
	var all journal.Trees
	if err := k.store.Load(func(e journal.Entry) error { return all.Apply(&e) }); err != nil {
		t.Fatal(err)
	}
	byID := map[string]*journal.Image{}
	for _, im := range all.Roots() {
		byID[im.ID] = im
	}
	return byID
}

// checkWork reports a journal of "work" that does not have each of n steps once, in order.
func checkWork(t testing.TB, im *journal.Image, id string, n int) {
	t.Helper()
	if im == nil {
		t.Errorf("%s: no journal", id)
		return
	}
	at := 0
	for _, s := range im.Steps {
		if s.Kind != journal.StepDo {
			continue
		}
		if want := fmt.Sprint("step ", at); s.Name != want || s.Open {
			t.Errorf("%s: got %s, want %q", id, s.String(), want)
			return
		}
		at++
	}
	if at != n || len(im.Steps) != 2*n || !im.Ended {
		t.Errorf("%s: %d steps, %d of them calls, ended %v; want %d calls", id, len(im.Steps), at, im.Ended, n)
	}
}

// finished waits for the results of n threads w0 … of so many steps, and checks all that was recorded.
func finished(t testing.TB, k *keeper, l *ledger, n, steps int) {
	t.Helper()
	for i := range n {
		if got, err := durable.ResultOf[int](within(t), k.Keeper, fmt.Sprint("w", i)); got != steps*(steps-1)/2 || err != nil {
			t.Errorf("w%d: got %d, %v", i, got, err)
			return
		}
	}
	all := journals(t, k)
	for i := range n {
		id := fmt.Sprint("w", i)
		checkWork(t, all[id], id, steps)
	}
	l.check(t)
}

// A keeper that was stopped for longer than its lease finds out by its first commit, and records nothing more.
func TestAPausedKeeperIsFenced(t *testing.T) {
	s := server(t)
	l := newLedger()
	p := newProxy(t, s.URL())
	gate := make(chan struct{})
	a := awake(t, p.url(), works(t, l, time.Millisecond, stopAt20(gate))) // it gives none back before it is stopped
	opened := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(opened)
	b := open(t, s.URL(), works(t, l, time.Millisecond))
	until(t, "b hears of a", func() bool { return b.store.Stats().Members == 1 })
	const n, steps = 5, 40
	var threads []*durable.Thread
	for i := range n {
		th, err := a.Start(fmt.Sprint("w", i), "work", steps)
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, th)
	}
	p.hold(true)
	until(t, "b takes them", func() bool { return b.store.Stats().Taken >= n })
	p.hold(false)
	opened() // what they were about to do is done, and is not recorded
	until(t, "a loses them", func() bool { return a.store.Stats().Lost >= n })
	for _, th := range threads {
		until(t, "a thread has left", func() bool { return th.State() == durable.Away })
		if got, err := durable.Result[int](th); got != steps*(steps-1)/2 || err != nil {
			t.Errorf("joined from where it was: got %d, %v", got, err)
		}
	}
	finished(t, b, l, n, steps)
	told(t, a, b)
}

// The connection is cut again and again, after what was sent has arrived and before it was answered. Nothing is recorded twice, and nothing is lost.
func TestOutcomesThatAreNotKnownAreFoundOut(t *testing.T) {
	s := server(t)
	l := newLedger()
	p := newProxy(t, s.URL())
	a := open(t, p.url(), works(t, l, time.Millisecond), func(o *jetstream.Options) { o.Lease = time.Hour })
	const n, steps = 5, 60
	for i := range n {
		if _, err := a.Start(fmt.Sprint("w", i), "work", steps); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	var cuts atomic.Int32
	go func() {
		defer close(done)
		for range 15 {
			before := a.store.Stats().Commits
			for end := time.Now().Add(10 * time.Second); a.store.Stats().Commits < before+20 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			p.deaf.Store(true)
			time.Sleep(5 * time.Millisecond)
			p.cut()
			p.deaf.Store(false)
			cuts.Add(1)
		}
	}()
	finished(t, a, l, n, steps)
	<-done
	if st := a.store.Stats(); st.Retries == 0 || st.Lost > 0 {
		t.Errorf("%d cuts: %+v", cuts.Load(), st)
	}
	told(t, a)
}

// folder is a temporary one of a server, which may write in it for a moment after it has shut down.
func folder(t testing.TB) string {
	dir, err := os.MkdirTemp("", "jetstream")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { until(t, "the folder can be removed", func() bool { return os.RemoveAll(dir) == nil }) })
	return dir
}

// reserved listens on a port below those that systems give to those who connect, so that nobody has it when this is closed, and while a server is down.
func reserved(t testing.TB) net.Listener {
	t.Helper()
	for range 1000 {
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(15000+rand.IntN(15000)))); err == nil {
			return l
		}
	}
	t.Fatal("no free port")
	return nil
}

// cluster starts three servers that keep everything thrice. Those that are in all at the end are closed.
func cluster(t testing.TB) (all []*jetstream.Server, urls string, options [3]jetstream.ServerOptions) {
	t.Helper()
	all = make([]*jetstream.Server, 3)
	var held [3]net.Listener
	var routes []string
	for i := range held {
		held[i] = reserved(t)
		routes = append(routes, held[i].Addr().String())
	}
	for i := range all {
		listen := reserved(t)
		options[i] = jetstream.ServerOptions{
			Dir: folder(t), Listen: listen.Addr().String(), Name: fmt.Sprint("n", i), Cluster: "c", ClusterListen: routes[i], Routes: routes,
		}
		listen.Close()
		held[i].Close()
		s, err := jetstream.NewServer(options[i])
		if err != nil {
			t.Fatal(err)
		}
		all[i] = s
		t.Cleanup(func() { all[i].Close() })
		if i > 0 {
			urls += ","
		}
		urls += s.URL()
	}
	return all, urls, options
}

// The server that leads the stream ends in the middle of commits, and another one, and both come back.
func TestAClusterLosesItsLeader(t *testing.T) {
	servers, urls, options := cluster(t)
	l := newLedger()
	long := func(o *jetstream.Options) { o.Lease = 30 * time.Second }
	const n, steps = 12, 40
	// So many calls are made until the next thing happens: not all before the last one.
	calls, all := make(chan struct{}, n*steps), make(chan struct{})
	more := func() {
		for range 100 {
			calls <- struct{}{}
		}
	}
	opened := sync.OnceFunc(func() { close(all) })
	paced := func() *durable.Registry {
		return works(t, l, 20*time.Millisecond, func(int) {
			select {
			case <-calls:
			case <-all:
			}
		})
	}
	a, b := open(t, urls, paced(), long), open(t, urls, paced(), long)
	t.Cleanup(opened) // before they are closed
	for i := range n {
		k := a
		if i%2 == 1 {
			k = b
		}
		if _, err := k.Start(fmt.Sprint("w", i), "work", steps); err != nil {
			t.Fatal(err)
		}
	}
	commits := func() uint64 { return a.store.Stats().Commits + b.store.Stats().Commits }
	for range 2 {
		before := commits()
		more()
		until(t, "commits", func() bool { return commits() > before+20 })
		leader := -1
		until(t, "a leader", func() bool {
			for i := range servers {
				if a.store.LeaderForTest() == options[i].Name {
					leader = i
				}
			}
			return leader >= 0
		})
		servers[leader].Close()
		before = commits()
		more()
		until(t, "commits without it", func() bool { return commits() > before+20 })
		s, err := jetstream.NewServer(options[leader])
		if err != nil {
			t.Fatal(err)
		}
		servers[leader] = s
	}
	opened()
	finished(t, a, l, n, steps)
	told(t, a, b)
}
