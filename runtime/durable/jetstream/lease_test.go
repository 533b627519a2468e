package jetstream_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// beats returns how often a participant has said that it is alive since it was called.
func beats(t testing.TB, url, name string) func() int {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	var n atomic.Int64
	if _, err := nc.Subscribe("durable.alive", func(m *nats.Msg) {
		if strings.Contains(string(m.Data), `"name":"`+name+`"`) {
			n.Add(1)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return func() int { return int(n.Load()) }
}

// busy opens a keeper with a lease that has a tree which calls something.
func busy(t testing.TB, url, name string, lease time.Duration) *keeper {
	t.Helper()
	gate := make(chan struct{})
	k := open(t, url, clerks(t, gate), func(o *jetstream.Options) { o.Name, o.Lease = name, lease })
	t.Cleanup(func() { close(gate) }) // before it is closed
	if _, err := k.Start("of-"+name, "calls", 1); err != nil {
		t.Fatal(err)
	}
	return k
}

func member(l *jetstream.Look, name string) jetstream.Member {
	for _, m := range l.Members {
		if m.Name == name {
			return m
		}
	}
	return jetstream.Member{}
}

// A reader has patience with a keeper by the lease that it has: who says something each four seconds is not silent because nothing was heard of it in two.
func TestAKeeperWithALongLeaseIsNotSilent(t *testing.T) {
	s := server(t)
	const lease = 40 * time.Second
	said := beats(t, s.URL(), "slow")
	busy(t, s.URL(), "slow", lease)
	until(t, "it has said something", func() bool { return said() > 0 })
	l := looks(t, s.URL(), jetstream.LookOptions{}) // it says the next thing in four seconds
	if m := member(l.look, "slow"); m.Silent || m.Unheard || m.Lease != lease || m.Trees != 1 {
		t.Errorf("got %+v", m)
	}
	if r := l.rows["of-slow"]; r.Lease == nil || r.Lease.Silent {
		t.Errorf("got %+v", r.Lease)
	}
}

// Of one that says nothing it is told whether that tells something.
func TestASilentKeeperIsToldByItsLease(t *testing.T) {
	s := server(t)
	for name, lease := range map[string]time.Duration{"usual": 10 * time.Second, "longer": 20 * time.Second, "long": time.Hour} {
		busy(t, s.URL(), name, lease).store.CutForTest()
	}
	look := func(patience time.Duration) *jetstream.Look {
		r := reader(t, s.URL())
		r.PatienceForTest(patience)
		l, err := r.Look(within(t), jetstream.LookOptions{During: time.Hour}, func(*jetstream.TreeSeen) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := look(5 * time.Second)
	for name, want := range map[string]jetstream.Member{
		"usual": {Name: "usual", Trees: 1, Lease: 10 * time.Second, Silent: true}, "longer": {Name: "longer", Trees: 1, Lease: 20 * time.Second, Silent: true},
		"long": {Name: "long", Trees: 1, Lease: time.Hour, Unheard: true},
	} {
		if got := member(l, name); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if l.Listened < 5*time.Second {
		t.Errorf("it was listened for %v", l.Listened)
	}
	if got := member(look(10*time.Millisecond), "longer"); !got.Unheard || got.Silent {
		t.Errorf("not long enough for its lease: got %+v", got)
	}
}

// A keeper's lease is its own: one with a shorter lease does not take its trees because it says something less often.
func TestAKeeperWithAShortLeaseHasPatienceWithOthers(t *testing.T) {
	s := server(t)
	slow := busy(t, s.URL(), "slow", time.Hour)
	said := beats(t, s.URL(), "quick")
	opened := make(chan struct{})
	close(opened) // what it takes ends
	quick := open(t, s.URL(), clerks(t, opened), func(o *jetstream.Options) { o.Name, o.Lease = "quick", 100*time.Millisecond })
	until(t, "many of its leases are over", func() bool { return said() > 60 })
	if st := quick.store.Stats(); st.Taken != 0 {
		t.Errorf("it has taken %d trees of one that is alive", st.Taken)
	}
	if st := slow.store.Stats(); st.Lost != 0 || st.Trees != 1 {
		t.Errorf("it has lost %d trees, and has %d", st.Lost, st.Trees)
	}
}
