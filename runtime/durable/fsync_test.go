//go:build unix

package durable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// namesOf are the names of the steps of each thread that a store has.
type namesOf map[string][]string

// loaded opens the store of a disk, and returns what it has.
func loaded(d *frail, segment int64) (*durable.FileStore, namesOf, error) {
	s, err := durable.NewFileStore(d.dir, durable.OnDiskForTest(durable.FileOptions{SegmentSize: segment}, d))
	if err != nil {
		return nil, nil, err
	}
	var trees journal.Trees
	if err := s.Load(func(e journal.Entry) error { return trees.Apply(&e) }); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	all := namesOf{}
	for _, im := range trees.Roots() {
		all[im.ID] = []string{}
		for i := range im.Steps {
			all[im.ID] = append(all[im.ID], im.Steps[i].Name)
		}
	}
	return s, all, nil
}

func named(thread, name string) journal.Entry {
	return journal.Entry{Thread: thread, Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepDo, Name: name, Value: []byte(`"` + strings.Repeat("x", 40) + `"`)}}
}

// DU-13: synchronizations fail, processes die, the power goes: whatever was said to last is there, in its order, each time that the store is opened, and what was read once is there from
// then on.
func TestWhatWasSaidToLastLasts(t *testing.T) {
	rounds, seed := 40, rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("VTSCOPE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("VTSCOPE_SEED=%d", seed)
	var count struct{ fails, forgotten, cuts, unknown, folds int }
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		d := newFrail(t, r)
		known := namesOf{}   // that lasts
		unknown := namesOf{} // … or not
		next := 0
		for range 8 {
			var mu sync.Mutex
			harm := fate(0)
			after, kind := r.IntN(40), []fate{fails, dies}[r.IntN(2)]
			d.mu.Lock()
			d.fail = func(string) fate {
				mu.Lock()
				defer mu.Unlock()
				if after--; after < 0 && harm == lasts {
					harm = kind
					return harm
				}
				if harm == dies {
					return dies
				}
				return lasts
			}
			d.mu.Unlock()
			s, got, err := loaded(d, 600)
			if err == nil {
				for id, steps := range known {
					if more := len(got[id]) - len(steps); more < 0 || !slices.Equal(got[id][:len(steps)], steps) || !slices.Equal(got[id][len(steps):], unknown[id][:more]) {
						t.Fatalf("round %d: thread %s: got %q, want %q, and perhaps %q", round, id, got[id], steps, unknown[id])
					}
				}
				known, unknown = got, namesOf{}
				for range r.IntN(40) {
					id := fmt.Sprint(r.IntN(3))
					var e []journal.Entry
					if _, there := known[id]; !there {
						e = append(e, journal.Entry{Thread: id, Op: journal.OpNew, Body: "b"})
					}
					next++
					name := fmt.Sprint(next)
					if err = s.Commit(append(e, named(id, name))...); err != nil {
						if known[id] == nil {
							known[id] = []string{}
						}
						unknown[id] = append(unknown[id], name)
						count.unknown++
						break
					}
					known[id] = append(known[id], name)
				}
				if err != nil {
					if again := s.Commit(named("0", "again")); again == nil {
						t.Fatalf("round %d: after %v a commit was taken", round, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil && !errors.Is(err, syscall.EIO) {
				t.Fatalf("round %d: %v", round, err)
			}
			mu.Lock()
			if harm == fails {
				count.fails++
			}
			mu.Unlock()
			if bases, _ := filepath.Glob(filepath.Join(d.dir, "*.base")); len(bases) > 0 {
				count.folds++
			}
			switch r.IntN(4) {
			case 0:
				d = d.cut()
				count.cuts++
			case 1:
				d.forget()
				count.forgotten++
			}
		}
	}
	if count.fails == 0 || count.forgotten == 0 || count.cuts == 0 || count.unknown == 0 || count.folds == 0 {
		t.Errorf("it did not come to all: %+v", count)
	}
	t.Logf("%+v", count)
}

// DU-13: a synchronization fails, and nothing else: its thread is told, and stops there; nothing is committed any more, nor synchronized again; and the next keeper goes on from what lasts, whether the
// kernel still has what it could not write, has forgotten it, or the power went.
func TestASynchronizationThatFailsStopsTheStore(t *testing.T) {
	const steps = 12
	for failing := 2; failing < 2+steps; failing += 3 {
		for _, what := range []string{"kept", "forgotten", "cut"} {
			t.Run(fmt.Sprint(failing, what), func(t *testing.T) {
				d := newFrail(t, rand.New(rand.NewPCG(1, uint64(failing))))
				var mu sync.Mutex
				done, seen := map[string]int{}, 0
				tell := func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					if line := fmt.Sprintf(format, args...); strings.HasPrefix(line, "did ") {
						done[line]++
					} else {
						seen++
					}
				}
				s, err := durable.NewFileStore(d.dir, durable.OnDiskForTest(durable.FileOptions{}, d))
				if err != nil {
					t.Fatal(err)
				}
				k, err := durable.Open(durable.KeeperOptions{Registry: works(t, tell), Store: s})
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				d.mu.Lock()
				d.fail = func(string) fate {
					if n++; n == failing {
						return fails
					}
					return lasts
				}
				d.mu.Unlock()
				th, err := k.Start("one", "work", steps)
				if err != nil {
					t.Fatal(err)
				}
				if err := th.Join(); !errors.Is(err, durable.ErrStore) || !errors.Is(err, syscall.EIO) {
					t.Errorf("got %v, want one of the store that says why", err)
				}
				d.mu.Lock()
				syncs := len(d.syncs)
				d.mu.Unlock()
				size := func() (n int64) {
					logs, _ := filepath.Glob(filepath.Join(d.dir, "*.log"))
					for _, l := range logs {
						if info, err := os.Stat(l); err == nil {
							n += info.Size()
						}
					}
					return n
				}
				before := size()
				if _, err := k.Start("two", "work", 1); !errors.Is(err, syscall.EIO) {
					t.Errorf("a store that has failed takes a thread: %v", err)
				}
				if err := k.Forget("one"); !errors.Is(err, syscall.EIO) {
					t.Errorf("a store that has failed drops a thread: %v", err)
				}
				closed(t, k)
				if after := size(); after != before {
					t.Errorf("%d bytes were written after the failure", after-before)
				}
				d.mu.Lock()
				if len(d.syncs) != syncs {
					t.Errorf("it was synchronized again: %q", d.syncs[syncs:])
				}
				d.mu.Unlock()

				sawBefore := seen
				switch what {
				case "forgotten":
					d.forget()
				case "cut":
					d = d.cut()
				}
				if s, err = durable.NewFileStore(d.dir, durable.OnDiskForTest(durable.FileOptions{}, d)); err != nil {
					t.Fatal(err)
				}
				if k, err = durable.Open(durable.KeeperOptions{Registry: works(t, tell), Store: s}); err != nil {
					t.Fatal(err)
				}
				if k.Thread("two") != nil {
					t.Error("a thread that was refused is there")
				}
				th = k.Thread("one")
				if recorded := len(th.Steps()); recorded < sawBefore {
					t.Errorf("%d steps, and the body saw %d", recorded, sawBefore)
				}
				got, err := durable.Result[int](th)
				if want := steps * (steps - 1) / 2; err == nil && got != want {
					t.Errorf("got %d, want %d", got, want)
				}
				if err != nil && err.Error() != durable.ErrInterruptedCall.Error() {
					t.Error(err)
				}
				for call, times := range done {
					if times > 1 {
						t.Errorf("%s %d times, at most once", call, times)
					}
				}
				closed(t, k)
			})
		}
	}
}

// DU-13: the folder of a store that is new lasts too, with those that it is in.
func TestANewFolderLasts(t *testing.T) {
	d := newFrail(t, rand.New(rand.NewPCG(1, 1)))
	top := t.TempDir()
	s, err := durable.NewFileStore(filepath.Join(top, "a", "b"), durable.OnDiskForTest(durable.FileOptions{}, d))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := []string{top, filepath.Join(top, "a")}; !slices.Equal(d.syncs, want) {
		t.Errorf("synchronized were %q, want %q", d.syncs, want)
	}
}

// What a base stands for is removed only when the base lasts.
func TestABaseLastsBeforeWhatItStandsForIsRemoved(t *testing.T) {
	d := newFrail(t, rand.New(rand.NewPCG(1, 2)))
	s, _, err := loaded(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	harmed := false
	d.fail = func(name string) fate {
		if bases, _ := filepath.Glob(filepath.Join(d.dir, "*.base")); !harmed && name == "." && len(bases) > 0 {
			harmed = true
			return fails
		}
		return lasts
	}
	d.mu.Unlock()
	if err := s.Commit(journal.Entry{Thread: "a", Op: journal.OpNew, Body: "b"}, named("a", "1")); err != nil {
		t.Fatal(err)
	}
	until(t, "the base, of which nobody knows whether it lasts", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return harmed })
	until(t, "the store has failed", func() bool { err = s.Commit(named("a", "2")); return err != nil })
	if !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(journal.LogPath(d.dir, 1)); err != nil {
		t.Errorf("what the base stands for is gone: %v", err)
	}
	// The next process dies before it has synchronized the folder, too.
	d.mu.Lock()
	d.fail = func(string) fate { return dies }
	d.mu.Unlock()
	if _, _, err := loaded(d, 1); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(journal.LogPath(d.dir, 1)); err != nil {
		t.Errorf("what the base stands for is gone: %v", err)
	}
}
