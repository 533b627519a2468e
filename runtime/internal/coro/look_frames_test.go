package coro

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func mustSee(t *testing.T) {
	t.Helper()
	if !SharedLookout().Sees() {
		t.Skipf("no way to look at a goroutine on %s", runtime.GOARCH)
	}
}

// names returns the functions of return addresses, without inlined ones, and without their package if it is this one.
func names(pcs []uintptr) (names []string) {
	for _, pc := range pcs {
		f := function(pc)
		if f == nil {
			names = append(names, "nowhere")
			continue
		}
		names = append(names, strings.TrimPrefix(f.Name(), "github.com/vtscope/vtscope/runtime/internal/coro."))
	}
	return names
}

// only returns those of the names that begin so.
func only(names []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

//go:noinline
func nestOne(f func()) { nestTwo(f); nestNothing() }

//go:noinline
func nestTwo(f func()) { nestThree(f); nestNothing() }

//go:noinline
func nestThree(f func()) { f(); nestNothing() }

//go:noinline
func nestNothing() {}

var nest = []string{"nestThree", "nestTwo", "nestOne"}

func TestFramesOfASuspendedRoutineAreExact(t *testing.T) {
	mustSee(t)
	var g uintptr
	r := New(func(r *Routine) {
		g = Visible()
		nestOne(r.At.Switch)
		nestOne(func() { deepNest(1000, r.At.Switch) })
	})
	r.At.Switch()
	pcs := make([]uintptr, 64)
	wait := func() (n int) {
		t.Helper()
		exact := false
		// On the form of slots by channels it may not have come to rest yet.
		for deadline := time.Now().Add(time.Minute); !exact && time.Now().Before(deadline); runtime.Gosched() {
			n, exact = Frames(g, pcs)
		}
		if !exact {
			t.Fatal("not exact")
		}
		return n
	}
	n := wait()
	if got := only(names(pcs[:n]), "nest"); !slices.Equal(got, nest) {
		t.Errorf("got %q, want %q", names(pcs[:n]), nest)
	}
	r.At.Switch()
	if n := wait(); n != len(pcs) || names(pcs)[n-1] != "deepNest" {
		t.Errorf("into too small a buffer: %d frames, %q, want %d that end in deepNest", n, names(pcs[:n]), len(pcs))
	}
	pcs = make([]uintptr, 4096)
	n = wait()
	if got := only(names(pcs[:n]), "deepNest"); len(got) != 1001 {
		t.Errorf("%d frames of deepNest, want 1001", len(got))
	}
	r.End()
}

//go:noinline
func deepNest(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deepNest(n-1, f)
	nestNothing()
}

// A goroutine that computes leaves traces where Go preempts it, every 10 ms.
func TestFramesOfAGoroutineThatRunsAreItsLatestCalls(t *testing.T) {
	mustSee(t)
	for name, spin := range map[string]func(stop *atomic.Bool){
		"calls": func(stop *atomic.Bool) {
			for !stop.Load() {
				nestNothing()
			}
		},
		"none": func(stop *atomic.Bool) {
			for !stop.Load() {
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "none" && runtime.GOMAXPROCS(0) == 1 {
				t.Skip("a goroutine that is preempted for the looker is seen as runnable: the other case shows it")
			}
			if name == "none" && strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") {
				t.Skip("Go does not preempt a loop without calls when asyncpreemptoff=1")
			}
			var stop atomic.Bool
			gs, done := make(chan uintptr), make(chan struct{})
			go func() {
				defer close(done)
				gs <- getg()
				nestOne(func() { spin(&stop) })
			}()
			g := <-gs
			var pcs [32]uintptr
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				n, exact := Frames(g, pcs[:])
				if exact {
					// It is stopped, for the garbage collector say.
				} else if slices.Equal(only(names(pcs[:n]), "nestO"), nest[2:]) && slices.Equal(only(names(pcs[:n]), "nestT"), nest[:2]) {
					break
				}
				if time.Now().After(deadline) {
					t.Errorf("got %q, want %q in it", names(pcs[:n]), nest)
					break
				}
			}
			stop.Store(true)
			<-done
		})
	}
}

func TestFramesOfNobody(t *testing.T) {
	mustSee(t)
	var pcs [8]uintptr
	for what, g := range map[string]uintptr{"0": 0, "no g": 64, "nowhere": 1 << 46} {
		if n, exact := Frames(g, pcs[:]); n != 0 || exact {
			t.Errorf("%s: %d frames, exact %v, want none", what, n, exact)
		}
	}
	if n, exact := Frames(getg(), nil); n != 0 || exact {
		t.Errorf("without room: %d frames, exact %v, want none", n, exact)
	}
}

func TestCalleeIsKnownOfDirectCallsOnly(t *testing.T) {
	mustSee(t)
	var pcs [8]uintptr
	nestOne(func() { runtime.Callers(1, pcs[:]) }) // this function, nestThree, nestTwo
	if entry, known := callee(pcs[2]); !known || !slices.Equal(names([]uintptr{entry + 1}), nest[:1]) {
		t.Errorf("the call in nestTwo: %q, %v, want nestThree", names([]uintptr{entry + 1}), known)
	}
	if entry, known := callee(pcs[1]); known {
		t.Errorf("the call in nestThree, of a function value, is known: %q", names([]uintptr{entry + 1}))
	}
}

// A crowd is goroutines that do one thing, with functions that begin with its name.
type crowd struct {
	name  string
	size  int
	brief bool // its members end by themselves
	start func(me *member)
}

type member struct {
	crowd *crowd
	g     atomic.Uintptr
	ended atomic.Bool
	done  chan struct{}
	stop  *atomic.Bool
}

func (m *member) end() {
	m.ended.Store(true)
	close(m.done)
}

func (m *member) begin() { m.g.Store(getg()) }

var spun atomic.Int64

//go:noinline
func spinMain(m *member) {
	m.begin()
	for !m.stop.Load() {
		spun.Store(int64(spinOuter(100)))
	}
	m.end()
}

// A goroutine that Go preempts at the beginning of a function is not seen in it: hence one level more than must be seen.
//
//go:noinline
func spinOuter(n int) int { return spinMiddle(n) + 1 }

//go:noinline
func spinMiddle(n int) (sum int) {
	for i := range n {
		sum += spinInner(i) + spinOther(i)
	}
	return sum
}

//go:noinline
func spinInner(n int) int {
	if n > 0 {
		return spinOther(n-1) + 1
	}
	return 1
}

//go:noinline
func spinOther(n int) int { return n * 3 }

//go:noinline
func parkMain(m *member) {
	m.begin()
	tick := make(chan int)
	go parkPartner(m, tick)
	for !m.stop.Load() {
		parkOuter(tick, 3)
	}
	for range tick {
	}
	m.end()
}

//go:noinline
func parkPartner(m *member, tick chan int) {
	for !m.stop.Load() {
		tick <- 1
	}
	close(tick)
}

//go:noinline
func parkOuter(tick chan int, depth int) int {
	if depth > 0 {
		return parkOuter(tick, depth-1) + parkInner(tick)
	}
	return parkInner(tick)
}

//go:noinline
func parkInner(tick chan int) int { return <-tick }

//go:noinline
func growMain(m *member) {
	m.begin()
	for depth := 0; !m.stop.Load(); depth = (depth + 37) % 400 {
		done := make(chan struct{})
		go growFresh(depth, done) // on a new stack
		for range 20 {
			growOuter(depth)
		}
		<-done
	}
	m.end()
}

//go:noinline
func growFresh(depth int, done chan struct{}) {
	growOuter(depth)
	close(done)
}

//go:noinline
func growOuter(n int) byte {
	var big [128]byte
	if n > 0 {
		big[n%128] = growOuter(n-1) + growInner(n)
	}
	return big[0]
}

//go:noinline
func growInner(n int) byte { return byte(n) }

// Goroutines that end are told to the looker, and looked at while they do.
//
//go:noinline
func endMain(m *member) {
	m.begin()
	time.Sleep(time.Microsecond)
	for range 100 {
		endOuter()
	}
	m.end()
}

//go:noinline
func endOuter() { endInner(); runtime.Gosched() }

//go:noinline
func endInner() {}

// New goroutines that call nothing, on stacks on which others have called.
//
//go:noinline
func freshMain(m *member) {
	m.begin()
	for i := 0; i < 200000 && !m.stop.Load(); i++ {
	}
	m.end()
}

//go:noinline
func swapMain(m *member) {
	enough := false
	r := New(func(r *Routine) {
		m.begin()
		for !enough {
			swapOuter(r)
		}
	})
	for !m.stop.Load() {
		swapResume(r)
	}
	m.ended.Store(true)
	enough = true
	r.End()
	close(m.done)
}

//go:noinline
func swapResume(r *Routine) { r.At.Switch() }

//go:noinline
func swapOuter(r *Routine) { swapInner(r) }

//go:noinline
func swapInner(r *Routine) { r.At.Switch() }

// Goroutines run, park, end, grow their stacks and use those of others while somebody looks: nothing faults, and no
// function is seen that is not the goroutine's.
func TestLookingAtACrowdDoesNoHarmAndInventsNothing(t *testing.T) {
	mustSee(t)
	crowds := []*crowd{ // each begins with a function of its own
		{"spin", 2, false, func(m *member) { go spinMain(m) }},
		{"park", 4, false, func(m *member) { go parkMain(m) }},
		{"grow", 2, false, func(m *member) { go growMain(m) }},
		{"swap", 2, false, func(m *member) { go swapMain(m) }},
		{"end", 4, true, func(m *member) { go endMain(m) }},
		{"fresh", 2, true, func(m *member) { go freshMain(m) }},
	}
	var stop atomic.Bool
	var running sync.WaitGroup
	var places []*atomic.Pointer[member]
	for _, c := range crowds {
		for range c.size {
			place := new(atomic.Pointer[member])
			places = append(places, place)
			running.Go(func() {
				for again := true; again && !stop.Load(); again = c.brief {
					m := &member{crowd: c, stop: &stop, done: make(chan struct{})}
					place.Store(m)
					c.start(m)
					<-m.done
				}
			})
		}
	}
	looks, exacts, seen := map[string]int{}, map[string]int{}, map[string]int{}
	var pcs [512]uintptr
	look := func(m *member) {
		g := m.g.Load()
		if g == 0 {
			return
		}
		n, exact := Frames(g, pcs[:])
		if m.ended.Load() {
			return // the g may be another's
		}
		name := m.crowd.name
		looks[name]++
		if exact {
			exacts[name]++
		}
		fs := names(pcs[:n])
		for i, f := range fs {
			switch head, _, _ := strings.Cut(f, "."); {
			case strings.HasPrefix(f, name):
				seen[f]++
			case slices.Contains([]string{"runtime", "time", "sync", "sync/atomic", "internal/race", "internal/sync"}, head):
			case strings.HasPrefix(f, "TestLookingAtACrowd"): // wraps go statements
			case name == "swap" && slices.Contains([]string{"iter", "(*Slot)"}, head):
			default:
				t.Errorf("%s: %q is none of its functions; exact %v, frame %d of %q", name, f, exact, i, fs)
			}
		}
		if own := only(fs, name); exact && len(own) > 0 && n < len(pcs) && !strings.HasPrefix(own[len(own)-1], name+"Main") {
			t.Errorf("%s: not in its main: %q", name, fs)
		}
	}
	want := []string{"spinMain", "spinOuter", "parkInner", "growOuter", "swapInner", "endMain", "freshMain"}
	unseen := func(f string) bool { return seen[f] == 0 }
	begun := time.Now()
	for !t.Failed() && (time.Since(begun) < 300*time.Millisecond || slices.ContainsFunc(want, unseen) && time.Since(begun) < 5*time.Minute) {
		for _, p := range places {
			for range 50 {
				if m := p.Load(); m != nil && !t.Failed() {
					look(m)
				}
			}
		}
		runtime.Gosched()
	}
	stop.Store(true)
	running.Wait()
	t.Logf("looks %v, exact ones %v, functions seen %v", looks, exacts, seen)
	if never := slices.DeleteFunc(want, func(f string) bool { return !unseen(f) }); len(never) > 0 {
		t.Errorf("never seen: %q", never)
	}
}

func BenchmarkFrames(b *testing.B) {
	for name, wait := range map[string]bool{"goroutine=suspended": true, "goroutine=running": false} {
		b.Run(name, func(b *testing.B) {
			if !SharedLookout().Sees() {
				b.Skipf("no way to look at a goroutine on %s", runtime.GOARCH)
			}
			b.ReportAllocs()
			var pcs [64]uintptr
			g := getg()
			r := New(func(r *Routine) {
				if wait {
					g = getg()
				}
				nestOne(r.At.Switch)
			})
			r.At.Switch()
			for b.Loop() {
				Frames(g, pcs[:])
			}
			r.End()
		})
	}
}
