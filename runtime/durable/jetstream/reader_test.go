package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// guarded starts a server with users: "owner" may do all, "reader" what docs/durable.md says that a reader needs, "stranger" nothing.
func guarded(t testing.TB) (url func(user string) string) {
	t.Helper()
	all := &natsd.Permissions{Publish: &natsd.SubjectPermission{Allow: []string{">"}}, Subscribe: &natsd.SubjectPermission{Allow: []string{">"}}}
	few := &natsd.Permissions{
		Publish:   &natsd.SubjectPermission{Allow: []string{"$JS.API.STREAM.INFO.vt-durable", "$JS.API.STREAM.NAMES", "$JS.API.DIRECT.GET.vt-durable"}},
		Subscribe: &natsd.SubjectPermission{Allow: []string{"_INBOX.>", "durable.alive"}},
	}
	none := &natsd.Permissions{Publish: &natsd.SubjectPermission{Deny: []string{">"}}, Subscribe: &natsd.SubjectPermission{Allow: []string{"_INBOX.>"}}}
	n, err := natsd.NewServer(&natsd.Options{
		Host: "127.0.0.1", Port: natsd.RANDOM_PORT, JetStream: true, StoreDir: folder(t), NoLog: true, NoSigs: true,
		Users: []*natsd.User{{Username: "owner", Password: "pw", Permissions: all}, {Username: "reader", Password: "pw", Permissions: few}, {Username: "stranger", Password: "pw", Permissions: none}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	return func(user string) string { return "nats://" + user + ":pw@" + n.Addr().String() }
}

// clerks is a registry of threads that end, fail, wait, have children, and call something that goes on until the gate opens.
func clerks(t testing.TB, gate <-chan struct{}) *durable.Registry {
	r := works(t, newLedger(), 0)
	register(t, r, "fails", func(th *durable.Thread, n int) (int, error) { return 0, errors.New("no card") })
	register(t, r, "family", func(th *durable.Thread, n int) (string, error) {
		c, err := durable.Fork(th, "asks", n)
		if err != nil {
			return "", err
		}
		return durable.Join[string](th, c)
	})
	register(t, r, "calls", func(th *durable.Thread, n int) (int, error) {
		return durable.Do(th, "query", func(durable.Call) (int, error) { <-gate; return n, nil })
	})
	return r
}

// looked are the rows of a look, by id.
type looked struct {
	rows  map[string]journal.DurableRow
	moves map[string][]journal.LeaseMove
	look  *jetstream.Look
}

func reader(t testing.TB, url string) *jetstream.Reader {
	t.Helper()
	r, err := jetstream.OpenReader(within(t), jetstream.ReaderOptions{URL: url, Within: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func looks(t testing.TB, url string, o jetstream.LookOptions) looked {
	t.Helper()
	if o.During == 0 {
		o.During = time.Hour
	}
	l := looked{rows: map[string]journal.DurableRow{}, moves: map[string][]journal.LeaseMove{}}
	r := reader(t, url)
	defer r.Close()
	var err error
	l.look, err = r.Look(within(t), o, func(s *jetstream.TreeSeen) error {
		l.moves[s.ID] = s.Moves
		for _, row := range s.Rows() {
			if _, twice := l.rows[row.ID]; twice {
				t.Errorf("%s came twice", row.ID)
			}
			l.rows[row.ID] = row
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stateOf tells all of a stream and of the consumers of it that a look could change.
func stateOf(t testing.TB, url string) string {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	j, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := j.Stream(within(t), "vt-durable")
	if err != nil {
		t.Fatal(err)
	}
	info := s.CachedInfo().State
	account, err := j.AccountInfo(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d messages, %d bytes, %d to %d, %d deleted, %d subjects, %d consumers; %d streams, %d consumers of all", info.Msgs, info.Bytes, info.FirstSeq, info.LastSeq, info.NumDeleted, info.NumSubjects,
		info.Consumers, account.Streams, account.Consumers)
}

// A user who may only read sees what each thread does, whether or not a keeper is alive, and changes nothing.
func TestAReaderSeesThreadsWhoeverHasThem(t *testing.T) {
	url := guarded(t)
	gate := make(chan struct{})
	named := func(name string) func(*jetstream.Options) {
		return func(o *jetstream.Options) { o.Name = name }
	}
	a := open(t, url("owner"), clerks(t, gate), named("a"))
	for id, body := range map[string]string{"asks": "asks", "family": "family", "ends": "work", "fails": "fails"} {
		if _, err := a.Start(id, body, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"ends", "fails"} {
		if _, err := a.Result(within(t), id); err != nil && id == "ends" {
			t.Fatal(err)
		}
	}
	until(t, "a has given its threads back", func() bool { return a.store.Stats().Trees == 0 })
	teller := open(t, url("owner"), durable.NewRegistry(), named("teller"), func(o *jetstream.Options) { o.Room = -1 })
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, url("owner"), clerks(t, gate), named("b"), func(o *jetstream.Options) { o.Room = 1 })
	if _, err := b.Start("calls", "calls", 7); err != nil {
		t.Fatal(err)
	}
	opened := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(opened)
	if err := teller.Signal("family/1", "word", "hello"); err != nil { // b has no room for it
		t.Fatal(err)
	}
	until(t, "the call has lasted long enough to be recorded", func() bool { return looks(t, url("reader"), jetstream.LookOptions{}).rows["calls"].Wait != nil })

	before := stateOf(t, url("owner"))
	var l looked
	until(t, "both are heard of", func() bool {
		l = looks(t, url("reader"), jetstream.LookOptions{})
		return len(l.look.Members) == 2 && !l.look.Members[0].Silent
	})
	if after := stateOf(t, url("owner")); before != after {
		t.Errorf("a look has changed the stream: it was %s, and is %s", before, after)
	}
	for id, want := range map[string]string{
		"asks":     "asks hibernated signal \"word\"; steps 1; keeper \"\"",
		"family":   "family hibernated join of child 1; steps 2; keeper \"\"",
		"family/1": "asks hibernated signal \"word\"; steps 1; keeper \"\"",
		"ends":     "work done ; steps 2; ended",
		"fails":    "fails failed ; steps 0; ended; error no card",
		"calls":    "calls running do \"query\"; steps 1; keeper \"b\"",
	} {
		r := l.rows[id]
		got := fmt.Sprintf("%s %s %s; steps %d", r.Body, r.State, r.Wait.Of(), r.Steps)
		if r.Lease == nil {
			got += "; ended"
		} else {
			got += fmt.Sprintf("; keeper %q", r.Lease.Holder)
			if r.Lease.Since.IsZero() || time.Since(r.Lease.Since) > time.Hour || time.Since(r.Lease.Since) < -time.Minute {
				t.Errorf("%s: since %v", id, r.Lease.Since)
			}
		}
		if r.Err != "" {
			got += "; error " + r.Err
		}
		if got != want {
			t.Errorf("%s: got  %s\nwant %s", id, got, want)
		}
	}
	if len(l.rows) != 6 || l.look.Trees != 5 || l.look.Read != 5 || l.look.Came != 0 {
		t.Errorf("got %d rows and %+v", len(l.rows), l.look)
	}
	if got := l.rows["family/1"].Inbox; got != 1 {
		t.Errorf("a signal that nobody has taken: got %d", got)
	}
	if len(l.look.Members) != 2 || l.look.Members[0].Name != "b" || l.look.Members[0].Trees != 1 || l.look.Members[0].Silent || l.look.Members[1].Name != "teller" {
		t.Errorf("got the members %+v", l.look.Members)
	}

	// b is cut off: it has the thread, and is silent, until another takes it.
	b.store.CutForTest()
	l = looks(t, url("reader"), jetstream.LookOptions{})
	if r := l.rows["calls"]; r.State != journal.Running || r.Lease == nil || r.Lease.Holder != "b" || !r.Lease.Silent {
		t.Errorf("of one that is cut off: got %+v, %+v", r, r.Lease)
	}
	c := open(t, url("owner"), clerks(t, gate), named("c"))
	t.Cleanup(opened)
	until(t, "c has taken the thread", func() bool { return c.Thread("calls") != nil && c.store.Stats().Trees > 0 })
	until(t, "it is told", func() bool {
		r := looks(t, url("reader"), jetstream.LookOptions{}).rows["calls"]
		return r.Lease != nil && r.Lease.Holder == "c"
	})
	r := reader(t, url("reader"))
	seen, _, err := r.Thread(within(t), "calls")
	if err != nil || seen == nil {
		t.Fatal(seen, err)
	}
	if m := seen.Moves; len(m) != 2 || m[0].Holder != "b" || m[0].Given || !m[0].To.Equal(m[1].From) || m[1].Holder != "c" || !m[1].To.IsZero() || m[1].From.Before(m[0].From) {
		t.Errorf("got the moves %+v", m)
	}
	if row := seen.Row(seen.Root); row.Lease.Taken != 1 || row.Lease.Silent {
		t.Errorf("got %+v", row.Lease)
	}
	if seen, _, err := r.Thread(within(t), "nobody"); seen != nil || err != nil {
		t.Errorf("of a thread that there is not: %v, %v", seen, err)
	}
}

// Of many threads the heads are read, and some journals: the others are told with what their heads say, and counted.
func TestAReaderOfManyThreadsReadsSomeJournals(t *testing.T) {
	s := server(t)
	const n = 1300 // more than the servers tell at a time
	teller := open(t, s.URL(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	if err := teller.store.FillForTest(within(t), "t", n); err != nil {
		t.Fatal(err)
	}
	l := looks(t, s.URL(), jetstream.LookOptions{Journals: 100})
	if len(l.rows) != n || l.look.Trees != n || l.look.Read != 100 || l.look.Late {
		t.Fatalf("got %d rows, %+v", len(l.rows), l.look)
	}
	unread := 0
	for id, r := range l.rows {
		if r.State != journal.Hibernated || r.Wait.Of() != `signal "word"` || r.Body != "asks" || time.Since(r.Since) < 30*time.Minute || r.Unread != (r.Steps == 0) {
			t.Fatalf("%s: %+v waits for %v", id, r, r.Wait)
		}
		if r.Unread {
			unread++
		}
	}
	if unread != n-100 {
		t.Errorf("%d were not read", unread)
	}
	if l := looks(t, s.URL(), jetstream.LookOptions{Journals: -1}); l.look.Read != n || len(l.rows) != n {
		t.Errorf("all: got %+v", l.look)
	}
	if l := looks(t, s.URL(), jetstream.LookOptions{Journals: -1, During: time.Nanosecond}); l.look.Read != 0 || !l.look.Late || len(l.rows) != n {
		t.Errorf("without time: got %+v", l.look)
	}
}

// What came while it was looked at is counted, since threads are then not of one moment.
func TestALookTellsThatItIsNotOneMoment(t *testing.T) {
	s := server(t)
	teller := open(t, s.URL(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	if err := teller.store.FillForTest(within(t), "t", 3); err != nil {
		t.Fatal(err)
	}
	first := true
	look, err := reader(t, s.URL()).Look(within(t), jetstream.LookOptions{}, func(*jetstream.TreeSeen) error {
		if first {
			first = false
			return teller.store.FillForTest(within(t), "later", 2)
		}
		return nil
	})
	if err != nil || look.Came != 2 || look.Trees != 3 {
		t.Errorf("got %+v, %v", look, err)
	}
}

// A journal that is none, or that somebody has encrypted, is told of that thread alone.
func TestAJournalThatCannotBeReadIsTold(t *testing.T) {
	s := server(t)
	teller := open(t, s.URL(), durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	if err := teller.store.FillForTest(within(t), "t", 1); err != nil {
		t.Fatal(err)
	}
	keys, err := journal.NewKeys([]byte("a secret of sixteen bytes"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := journal.Pack(&journal.Image{ID: "sealed", Body: "asks"}, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := teller.store.PutForTest(within(t), "sealed", sealed); err != nil {
		t.Fatal(err)
	}
	l := looks(t, s.URL(), jetstream.LookOptions{})
	if r := l.rows["sealed"]; l.look.Damaged != 1 || !r.Unread || !strings.Contains(r.Err, "damaged") || r.State != journal.Hibernated {
		t.Errorf("got %+v, %+v", l.look, r)
	}
	if r := l.rows["t0"]; r.Unread || r.Steps != 1 {
		t.Errorf("of the other: %+v", r)
	}
}

// Where nobody answers, or somebody says no, there is an error in time that says which.
func TestAReaderThatIsNotLetInSaysWhy(t *testing.T) {
	url := guarded(t)
	open(t, url("owner"), durable.NewRegistry())
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, c := range []struct {
		name, url, namespace string
		is                   error
		says                 string
	}{
		{"nobody listens", "nats://127.0.0.1:1", "", jetstream.ErrNoServer, "connection refused"},
		{"nobody answers", "nats://" + mute.Addr().String(), "", jetstream.ErrNoServer, "timeout"},
		{"a wrong password", strings.Replace(url("reader"), ":pw@", ":wrong@", 1), "", jetstream.ErrDenied, "uthorization"},
		{"no permission", url("stranger"), "", jetstream.ErrDenied, "ermissions"},
		{"another namespace", url("owner"), "shop", jetstream.ErrNoStream, `"shop"`},
		{"a namespace that is none", url("owner"), "a.b", nil, "namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			within := time.Minute
			switch c.name {
			case "nobody answers":
				within = 500 * time.Millisecond
			case "no permission": // that is said beside the answer, which is waited for
				within = 3 * time.Second
			}
			r, err := jetstream.OpenReader(ctx, jetstream.ReaderOptions{URL: c.url, Namespace: c.namespace, Within: within})
			if err == nil {
				r.Close()
				t.Fatal("it was let in")
			}
			if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || ctx.Err() != nil {
				t.Errorf("got %v, want %v with %q", err, c.is, c.says)
			}
			var none *jetstream.NoStream
			if c.is == jetstream.ErrNoStream && (!errors.As(err, &none) || len(none.Others) != 1 || none.Others[0] != "durable") {
				t.Errorf("got the others %+v", none)
			}
		})
	}
}

// A thread whose code did not fit is told as diverged, with what happened, and when it is tried again.
func TestAReaderTellsWhatDiverged(t *testing.T) {
	s := server(t)
	a := open(t, s.URL(), clerks(t, nil))
	for id, body := range map[string]string{"alone": "asks", "family": "family"} {
		if _, err := a.Start(id, body, 1); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "a has given its threads back", func() bool { return a.store.Stats().Trees == 0 })
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	other := durable.NewRegistry()
	register(t, other, "asks", func(th *durable.Thread, n int) (string, error) {
		return durable.Do(th, "something else", func(durable.Call) (string, error) { return "", nil })
	})
	b := open(t, s.URL(), other, func(o *jetstream.Options) { o.Name = "b" })
	if err := b.Signal("alone", "word", "x"); err != nil {
		t.Fatal(err)
	}
	var row journal.DurableRow
	until(t, "the thread has diverged", func() bool {
		row = looks(t, s.URL(), jetstream.LookOptions{}).rows["alone"]
		return row.State == journal.Diverged
	})
	for _, want := range []string{`do "something else"`, "once with code ", "tries again from "} {
		if !strings.Contains(row.Err, want) {
			t.Errorf("want %q in %s", want, row.Err)
		}
	}
	l := looks(t, s.URL(), jetstream.LookOptions{Journals: 0, During: time.Nanosecond})
	if r := l.rows["alone"]; r.State != journal.Diverged || !r.Unread || !strings.Contains(r.Err, "something else") {
		t.Errorf("of its head alone: got %+v", r)
	}
	if r := l.rows["family"]; r.State != journal.Hibernated {
		t.Errorf("of another: got %+v", r)
	}
	seen, _, err := reader(t, s.URL()).Thread(within(t), "alone")
	if err != nil || len(seen.Moves) != 2 || seen.Moves[1].Holder != "b" || !strings.Contains(seen.Moves[1].Err, "something else") {
		t.Errorf("got %+v, %v", seen, err)
	}
}

// Of a stream most of whose servers are gone, so that it has no leader and takes nothing, the one that is left tells what it has.
func TestAReaderOfAStreamWithoutALeaderAsksWhoIsLeft(t *testing.T) {
	servers, urls, _ := cluster(t)
	teller := open(t, urls, durable.NewRegistry(), func(o *jetstream.Options) { o.Room = -1 })
	until(t, "all servers have the thread", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if teller.store.MessagesForTest(ctx) == 0 {
			_ = teller.store.FillForTest(ctx, "t", 1) // the cluster may have no leader yet
		}
		return teller.store.MessagesForTest(ctx) > 0 && teller.store.WholeForTest(ctx)
	})
	servers[1].Close()
	servers[2].Close()
	until(t, "it has no leader", func() bool { return teller.store.LeaderForTest() == "" })
	until(t, "the thread is told", func() bool { // a server that is losing its leader leaves some questions without an answer
		r, err := jetstream.OpenReader(within(t), jetstream.ReaderOptions{URL: servers[0].URL(), Within: 2 * time.Second})
		if err != nil {
			return false
		}
		defer r.Close()
		seen, _, err := r.Thread(within(t), "t0")
		return err == nil && seen != nil && seen.Row(seen.Root).State == journal.Hibernated
	})
}
