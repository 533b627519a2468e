package dump_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// shop is a flight file with n threads: a tenth sleeps in requests, the others wait for a lock, each in one
// of 300 scopes called checkout; thread 1 is the owner of the scope shop.
func shop(n int) flighttest.Spec {
	spec := flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "shop", Owner: 1}, {Name: "requests", Parent: 1}},
		Stacks: []flighttest.Stack{
			{
				{Func: "github.com/vtscope/vtscope/runtime/vthread.Sleep", File: "/go/vthread/sleep.go", Line: 9, Internal: true},
				{Func: "example.org/shop.(*Store).query", File: "/src/store.go", Line: 88},
				{Func: "example.org/shop.serve", File: "/src/serve.go", Line: 12},
			},
			{
				{Func: "github.com/vtscope/vtscope/runtime/vsync.(*Mutex).Lock", File: "/go/vsync/mutex.go", Line: 40, Internal: true},
				{Func: "example.org/shop.(*Cart).add", File: "/src/cart.go", Line: 230},
			},
		},
		Threads: n,
		Thread: func(i int) flighttest.Thread {
			switch {
			case i == 0:
				return flighttest.Thread{Name: "main", State: flight.StateMounted}
			case i%10 == 0:
				return flighttest.Thread{
					Scope: 2, Stack: 1, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Age: time.Duration(i) * time.Millisecond,
				}
			}
			return flighttest.Thread{
				Scope: 3 + i%300, Stack: 2, State: flight.StateBlocked, Reason: flight.ReasonLock, Age: time.Minute,
				Blocker: flight.BlockLock(0xc000010000),
			}
		},
	}
	for range 300 {
		spec.Scopes = append(spec.Scopes, flighttest.Scope{Name: "checkout", Parent: 2})
	}
	return spec
}

func open(t testing.TB, path string) *flight.Reader {
	t.Helper()
	r, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func take(t testing.TB, path string, o dump.Options) *dump.Snapshot {
	t.Helper()
	s, err := dump.Take(t.Context(), open(t, path), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTakeTellsWhatTheFlightFileHolds(t *testing.T) {
	const n = 40_000
	f := flighttest.Write(t, shop(n))
	s := take(t, f.Path, dump.Options{})
	if !s.Complete || s.Threads != n || s.ScopeCount != 303 || s.Process.PID != os.Getpid() || s.Process.Status != dump.StatusRunning {
		t.Errorf("got complete=%v %v, %d threads, %d scopes, pid %d %s; want true, %d, 303, %d running",
			s.Complete, s.Incomplete, s.Threads, s.ScopeCount, s.Process.PID, s.Process.Status, n, os.Getpid())
	}
	var names []string
	for _, sc := range s.Scopes {
		names = append(names, fmt.Sprintf("%d %s %d %d %d", sc.Depth, sc.Name, sc.Count, sc.Own, sc.Total))
	}
	want := []string{"0 root 1 1 40000", "1 shop 1 0 39999", "2 requests 1 3999 39999", "3 checkout 300 36000 36000"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("scopes: got %q, want %q", names, want)
	}
	if sc := s.Scopes[1]; sc.Owner != 1 || sc.OwnerName != "main" {
		t.Errorf("owner: got #%d %q, want #1 main", sc.Owner, sc.OwnerName)
	}
	if len(s.Groups) != 3 || len(s.Stacks) != 2 {
		t.Fatalf("got %d groups and %d stacks, want 3 and 2", len(s.Groups), len(s.Stacks))
	}
	g := s.Groups[0]
	if g.Count != 36000 || g.State != flight.StateBlocked || g.Reason != flight.ReasonLock || g.Blocker != "lock 0xc000010000" {
		t.Errorf("first group: got %+v", g)
	}
	if w := g.Wait; w.Min < time.Minute || w.Max > 2*time.Minute {
		t.Errorf("waits: got %v, want about a minute", w)
	}
	g = s.Groups[1]
	if w := g.Wait.Median; w < 19*time.Second || w > 21*time.Second+time.Minute {
		t.Errorf("median of the sleepers: got %v, want about 20s", w)
	}
	if len(g.Examples) != 5 || g.Examples[0].ID != n-10+1 || g.Examples[0].Wait < 39*time.Second {
		t.Errorf("examples: got %+v, want the longest first", g.Examples)
	}
	st := s.Stacks[g.Stack]
	if len(st.Frames) != 3 || st.Frames[1].Func != "example.org/shop.(*Store).query" || st.Frames[1].Line != 88 || !st.Frames[0].Internal {
		t.Errorf("stack: got %+v", st)
	}
	if g = s.Groups[2]; g.Stack != -1 || g.State != flight.StateMounted || len(g.Examples) != 1 || g.Examples[0].Name != "main" {
		t.Errorf("last group: got %+v", g)
	}
}

func TestKeysStayTheSameFromOneSnapshotToTheNext(t *testing.T) {
	f := flighttest.Write(t, shop(1000))
	a, b := take(t, f.Path, dump.Options{}), take(t, f.Path, dump.Options{})
	dump.Compare(a, b)
	for i := range b.Scopes {
		if b.Scopes[i].Key != a.Scopes[i].Key || b.Scopes[i].Change != 0 {
			t.Errorf("scope %s: key %s, change %d; want %s and 0", b.Scopes[i].Name, b.Scopes[i].Key, b.Scopes[i].Change, a.Scopes[i].Key)
		}
	}
	seen := map[string]bool{}
	for i := range b.Groups {
		if seen[b.Groups[i].Key] || b.Groups[i].Change != 0 {
			t.Errorf("group %d: key %s seen before, or change %d", i, b.Groups[i].Key, b.Groups[i].Change)
		}
		seen[b.Groups[i].Key] = true
	}
}

func TestTakeStopsWhenItsContextDoes(t *testing.T) {
	f := flighttest.Write(t, shop(10))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dump.Take(ctx, open(t, f.Path), dump.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestEndedProcessIsToldApart(t *testing.T) {
	spec := shop(100)
	spec.Ended = true
	s := take(t, flighttest.Write(t, spec).Path, dump.Options{})
	if s.Process.Status != dump.StatusEnded || s.Threads != 100 || s.AsOf.After(s.Taken) {
		t.Errorf("got %s, %d threads, as of %v; want ended, 100, not after %v", s.Process.Status, s.Threads, s.AsOf, s.Taken)
	}
}

// Counts must hold while every thread changes its state all the time.
func TestSnapshotOfBusyThreadsCountsThemAll(t *testing.T) {
	const n = 5000
	f := flighttest.Write(t, shop(n))
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				rec := f.Records[(2*i+w)%n]
				now := flight.Now()
				rec.Runnable(now, 1)
				rec.Mounted(now, 0)
				rec.Parked(now, flight.StateParked, flight.ReasonPark, f.Stacks[i%2], 0)
			}
		})
	}
	defer writers.Wait()
	defer stop.Store(true)
	r := open(t, f.Path)
	for range 50 {
		s, err := dump.Take(t.Context(), r, dump.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Threads+s.Lost.Torn != n || s.Lost.Torn > 2 {
			t.Fatalf("got %d threads and %d torn, want %d in sum and at most 2 torn", s.Threads, s.Lost.Torn, n)
		}
		sum := s.Rest.Threads
		for _, g := range s.Groups {
			sum += g.Count
		}
		if sum != s.Threads || s.States.Total() != s.Threads || s.Scopes[0].Total != s.Threads {
			t.Fatalf("got %d in groups, %d in states, %d in the tree; want %d", sum, s.States.Total(), s.Scopes[0].Total, s.Threads)
		}
	}
}

// survive reads a flight file that may be damaged, and prints what it holds.
func survive(t testing.TB, path string) (snapshot *dump.Snapshot) {
	t.Helper()
	began := time.Now()
	defer func() {
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("took %v", d)
		}
	}()
	r, err := flight.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	s, err := dump.Take(t.Context(), r, dump.Options{})
	if err != nil {
		return nil
	}
	for _, print := range []func(io.Writer, *dump.Snapshot) error{
		dump.JSON,
		func(w io.Writer, s *dump.Snapshot) error { return dump.Text(w, s, dump.TextOptions{}) },
		func(w io.Writer, s *dump.Snapshot) error { return dump.Folded(w, s, dump.FoldedOptions{}) },
	} {
		var b bytes.Buffer
		if err := print(&b, s); err != nil {
			t.Error(err)
		}
	}
	return s
}

func damaged(t testing.TB) (whole []byte, path string) {
	f := flighttest.Write(t, shop(100))
	whole, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	return whole, filepath.Join(t.TempDir(), filepath.Base(f.Path))
}

func TestEveryPrefixIsAnErrorOrIncompleteOrTheWhole(t *testing.T) {
	whole, path := damaged(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	complete := 0
	n := 0
	rng := rand.New(rand.NewPCG(7, 8))
	for size := len(whole); size >= 0; n++ {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if s := survive(t, path); s != nil && s.Complete {
			complete++
			if s.Threads != 100 {
				t.Errorf("prefix of %d of %d bytes: got a complete snapshot of %d threads, want 100", size, len(whole), s.Threads)
			}
		}
		switch {
		case size <= 8192 && !testing.Short() || size <= 256:
			size -= 1 + n%7 // every byte takes too long; every field is cut somewhere
		default:
			size -= 1 + rng.IntN(len(whole)/200)
		}
	}
	t.Logf("%d prefixes of %d bytes, %d of them complete", n, len(whole), complete)
	if complete == 0 {
		t.Error("not even the whole file is complete")
	}
}

// used returns the pages of a file that hold something.
func used(whole []byte) (pages []int) {
	for at := 0; at+4096 <= len(whole); at += 4096 {
		if bytes.ContainsFunc(whole[at:at+4096], func(r rune) bool { return r != 0 }) {
			pages = append(pages, at)
		}
	}
	return pages
}

// A patch is a byte to change in a file.
type patch struct {
	at    int
	value byte
}

// surviveWith reads the file at path, which holds whole, with patches.
func surviveWith(t testing.TB, path string, whole []byte, patches []patch) *dump.Snapshot {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(at int, b byte) {
		if _, err := file.WriteAt([]byte{b}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range patches {
		write(p.at, p.value)
	}
	s := survive(t, path)
	for _, p := range patches {
		write(p.at, whole[p.at])
	}
	return s
}

func TestFlippedBitsNeverCrash(t *testing.T) {
	whole, path := damaged(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	pages := used(whole)
	rng := rand.New(rand.NewPCG(9, 10))
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	read, complete := 0, 0
	for range rounds {
		var patches []patch
		for range 1 + rng.IntN(30) {
			at := pages[rng.IntN(len(pages))]
			if rng.IntN(3) == 0 {
				at = 0 // the header
			}
			at += rng.IntN(4096)
			patches = append(patches, patch{at, whole[at] ^ 1<<rng.IntN(8)})
		}
		if s := surviveWith(t, path, whole, patches); s != nil {
			read++
			if s.Complete {
				complete++
			}
		}
	}
	t.Logf("%d damaged files: %d gave a snapshot, %d of them complete", rounds, read, complete)
	if read == 0 || read == rounds {
		t.Error("want some of them, but not all, to give a snapshot")
	}
}

// FuzzTake patches a good file: each three bytes of the input are an offset within a page and a value, and each
// byte 0xff before them goes to the next page that is not empty.
func FuzzTake(f *testing.F) {
	whole, path := damaged(f)
	pages := used(whole)
	f.Add([]byte{0, 0, 1})
	f.Add([]byte{0xff, 1, 2, 3, 0xff, 4, 5, 6})
	f.Fuzz(func(t *testing.T, input []byte) {
		path := fmt.Sprintf("%s.%d", path, os.Getpid()) // fuzzing has several processes
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var patches []patch
		page := 0
		for len(input) > 0 {
			if input[0] == 0xff {
				page = (page + 1) % len(pages)
				input = input[1:]
				continue
			}
			if len(input) < 3 {
				break
			}
			patches = append(patches, patch{pages[page] + (int(input[0])<<8|int(input[1]))%4096, input[2]})
			input = input[3:]
		}
		surviveWith(t, path, whole, patches)
	})
}

func BenchmarkTake(b *testing.B) {
	for _, bench := range []struct {
		threads, groups int
	}{{1000, 3}, {100_000, 3}, {1_000_000, 3}, {1_000_000, 10_000}} {
		b.Run(fmt.Sprintf("threads=%d/groups=%d", bench.threads, bench.groups), func(b *testing.B) {
			spec := shop(bench.threads)
			if bench.groups > 3 { // a hundred scopes with a hundred stacks each
				for i := range 100 {
					spec.Scopes = append(spec.Scopes, flighttest.Scope{Name: fmt.Sprintf("GET /cart/%d", i)})
					spec.Stacks = append(spec.Stacks, flighttest.Stack{{Func: fmt.Sprintf("shop.f%d", i), File: "/f.go", Line: i}})
				}
				spec.Thread = func(i int) flighttest.Thread {
					return flighttest.Thread{
						Scope: 303 + i%100, Stack: 3 + i/100%100, State: flight.StateParked, Reason: flight.ReasonIO,
						Age: time.Duration(i*7919%1_000_000) * time.Microsecond,
					}
				}
			}
			f := flighttest.Write(b, spec)
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				r, err := flight.Open(f.Path)
				if err != nil {
					b.Fatal(err)
				}
				s, err := dump.Take(b.Context(), r, dump.Options{})
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
				var out bytes.Buffer
				if err := dump.Text(&out, s, dump.TextOptions{}); err != nil {
					b.Fatal(err)
				}
				if s.Threads != bench.threads || len(s.Groups) != bench.groups {
					b.Fatalf("got %d threads in %d groups", s.Threads, len(s.Groups))
				}
				size = out.Len()
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
			b.ReportMetric(float64(size), "B/page")
		})
	}
}

func TestADumpShowsTheDeadlineAndTheLimitOfScopes(t *testing.T) {
	f := flighttest.Write(t, flighttest.Spec{
		Scopes: []flighttest.Scope{
			{Name: "soon", Deadline: time.Hour},
			{Name: "late", Deadline: -time.Hour},
			{Name: "few", Limit: 3, Queued: 7, Policy: "any"},
			{Name: "twice", Deadline: 3 * time.Hour},
			{Name: "twice", Deadline: 2 * time.Hour},
			{Name: "over", Deadline: time.Hour, State: flight.ScopeClosed},
		},
		Threads: 6,
		Thread: func(i int) flighttest.Thread {
			return flighttest.Thread{Scope: i + 1, State: flight.StateParked}
		},
	})
	s := take(t, f.Path, dump.Options{})
	for _, sc := range s.Scopes {
		var want dump.Scope
		in := time.Duration(0)
		switch sc.Name {
		case "soon":
			in = time.Hour
		case "late":
			in = -time.Hour
		case "twice": // the first
			in = 2 * time.Hour
		case "few":
			want = dump.Scope{Policy: "any", Limit: 3, Queued: 7}
		}
		if sc.Policy != want.Policy || sc.Limit != want.Limit || sc.Queued != want.Queued || (sc.Deadline != nil) != (in != 0) {
			t.Errorf("%s: got %+v", sc.Name, sc)
		}
		if sc.Deadline != nil && sc.Deadline.Sub(s.AsOf).Round(time.Minute) != in {
			t.Errorf("%s: got a deadline in %v, want %v", sc.Name, sc.Deadline.Sub(s.AsOf), in)
		}
	}
	var b strings.Builder
	if err := dump.Text(&b, s, dump.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deadline in 1h", "deadline 1h ago", "deadline in 2h", "limit 3, 7 queued"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got no %q in\n%s", want, &b)
		}
	}
}
