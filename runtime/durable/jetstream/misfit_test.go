package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// openCode is open, for a keeper of some code.
func openCode(t testing.TB, url, code string, r *durable.Registry) *keeper {
	t.Helper()
	s, err := jetstream.Open(within(t), jetstream.Options{URL: url, Lease: 30 * time.Second, Patience: patience}) // nobody is taken for dead, and who is closed tells what it has to
	if err != nil {
		t.Fatal(err)
	}
	late := &impatience{}
	s.GiveUpForTest(late.get)
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: 20 * time.Millisecond, Code: code})
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

// parcels are bodies whose first call has that name: "pack", or what does not fit. "family" has a child that is one.
func parcels(t testing.TB, first string) *durable.Registry {
	r := durable.NewRegistry()
	register(t, r, "parcel", func(th *durable.Thread, n int) (string, error) {
		packed, err := durable.Do(th, first, func(durable.Call) (string, error) { return "packed", nil })
		if err != nil {
			return "", err
		}
		return packed + " and " + durable.Await[string](th, "sent"), nil
	})
	register(t, r, "family", func(th *durable.Thread, n int) (string, error) {
		c, err := durable.Fork(th, "parcel", n)
		if err != nil {
			return "", err
		}
		said := durable.Await[string](th, "hello")
		got, err := durable.Join[string](th, c)
		return said + ", " + got, err
	})
	return r
}

// treeOf is what a keeper knows of a tree.
func treeOf(k *keeper, id string) (jetstream.Tree, bool) {
	for _, tree := range k.store.Trees() {
		if tree.ID == id {
			return tree, true
		}
	}
	return jetstream.Tree{}, false
}

// A thread that does not fit the code of its keeper is given up; keepers of the same code leave it alone, and one whose code fits takes it at once.
func TestAThreadThatDivergedGoesToCodeThatFits(t *testing.T) {
	for _, c := range []struct{ body, signal, misfit, want string }{
		{"parcel", "one", "one", "packed and sent"},
		{"family", "one/1", "one/1", "hello, packed and sent"},
	} {
		t.Run(c.body, func(t *testing.T) {
			s := server(t)
			first := openCode(t, s.URL(), "1", parcels(t, "pack"))
			if _, err := first.Start("one", c.body, 1); err != nil {
				t.Fatal(err)
			}
			until(t, "it is given back", func() bool { return first.store.Stats().Released > 0 })
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			bad := []*keeper{openCode(t, s.URL(), "2", parcels(t, "wrap")), openCode(t, s.URL(), "2", parcels(t, "wrap"))}
			if err := bad[0].Signal(c.signal, "sent", "sent"); err != nil {
				t.Fatal(err)
			}
			var tree jetstream.Tree
			for _, k := range bad {
				until(t, "it is given up", func() bool {
					tree, _ = treeOf(k, "one")
					return len(tree.Misfits) == 1 && tree.Owner == ""
				})
				m := tree.Misfits[0]
				if m.Code != "2" || m.Thread != c.misfit || m.Times != 1 || !strings.Contains(m.What, `the journal has do "pack", the body does do "wrap"`) {
					t.Errorf("got %+v", m)
				}
				if again := m.Again().Sub(m.At); again < 30*time.Second || again > time.Hour {
					t.Errorf("the same code tries again after %v", again)
				}
				if due := k.store.DueForTest("one"); !due.Equal(m.Again()) {
					t.Errorf("a keeper of the same code would take it at %v, want %v", due, m.Again())
				}
				if th := k.Thread("one"); th != nil {
					t.Errorf("a keeper has it still: %v", th.State())
				}
			}
			if taken := bad[0].store.Stats().Taken + bad[1].store.Stats().Taken; taken != 1 {
				t.Errorf("they have taken it %d times, want once", taken)
			}
			good := openCode(t, s.URL(), "3", parcels(t, "pack"))
			if c.body == "family" {
				if err := bad[0].Signal("one", "hello", "hello"); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := durable.ResultOf[string](within(t), bad[1].Keeper, "one"); got != c.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			if st := good.store.Stats(); st.Taken == 0 {
				t.Errorf("the keeper whose code fits: %+v", st)
			}
			told(t, bad[0], bad[1], good)
		})
	}
}

// A keeper that is closed while a part of a tree diverged, and another part of it has a call under way, tells of it all the same.
func TestAClosedKeeperTellsWhatDiverged(t *testing.T) {
	s := server(t)
	hold := make(chan struct{})
	holding := make(chan struct{})
	busy := func(first string) *durable.Registry {
		r := parcels(t, first)
		register(t, r, "busy", func(th *durable.Thread, n int) (string, error) {
			c, err := durable.Fork(th, "parcel", n)
			if err != nil {
				return "", err
			}
			durable.Await[string](th, "hello")
			_, err = durable.Do(th, "hold", func(durable.Call) (int, error) {
				close(holding)
				<-hold
				return 0, nil
			})
			if err != nil {
				return "", err
			}
			return durable.Join[string](th, c)
		})
		return r
	}
	first := openCode(t, s.URL(), "1", busy("pack"))
	if _, err := first.Start("one", "busy", 1); err != nil {
		t.Fatal(err)
	}
	until(t, "it is given back", func() bool { return first.store.Stats().Released > 0 })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	bad := openCode(t, s.URL(), "2", busy("wrap"))
	for id, name := range map[string]string{"one": "hello", "one/1": "sent"} {
		if err := bad.Signal(id, name, "x"); err != nil {
			t.Fatal(err)
		}
	}
	<-holding
	until(t, "the child diverged", func() bool {
		th := bad.Thread("one")
		return th != nil && th.Child(1) != nil && th.Child(1).State() == durable.Done
	})
	if err := bad.Thread("one").Child(1).Signal("later", "for code that fits"); err != nil {
		t.Errorf("a signal to a thread that goes on elsewhere: %v", err)
	}
	same := openCode(t, s.URL(), "2", parcels(t, "wrap"))
	closed := make(chan error, 1)
	go func() { closed <- bad.Close() }()
	until(t, "it is being closed", func() bool {
		_, err := bad.Start("two", "parcel", 1)
		return errors.Is(err, durable.ErrClosed)
	})
	close(hold)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	until(t, "it is known", func() bool {
		tree, _ := treeOf(same, "one")
		return len(tree.Misfits) == 1 && tree.Misfits[0].Thread == "one/1" && tree.Owner == ""
	})
	if due := same.store.DueForTest("one"); time.Until(due) < 10*time.Second {
		t.Errorf("the same code would take it at %v", due)
	}
	if err := same.Forget("one"); !errors.Is(err, durable.ErrRuns) {
		t.Errorf("forgotten: %v", err)
	}
}
