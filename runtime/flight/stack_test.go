package flight

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// waitStack returns a stack once all its frames have names.
func waitStack(t *testing.T, r *Recorder, id StackID) Stack {
	t.Helper()
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		s, err := rd.Stack(id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Unsymbolised == 0 {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("stack %d: %d frames have no name after a minute", id, s.Unsymbolised)
		}
		time.Sleep(time.Millisecond)
	}
}

// callersText is the stack by the runtime's own means, for comparison.
func callersText(pcs []uintptr) []string {
	var out []string
	if len(pcs) == 0 {
		return out
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		out = append(out, fmt.Sprintf("%s %d", f.Function, f.Line))
		if !more {
			return out
		}
	}
}

func stackText(s Stack) []string {
	var out []string
	for _, f := range s.Frames {
		out = append(out, fmt.Sprintf("%s %d", f.Func, f.Line))
	}
	return out
}

type bothStacks struct {
	r    *Recorder
	id   StackID
	want []string
}

// take records the stack both ways on one line, so that the line numbers agree.
//
//go:noinline
func (b *bothStacks) take(skip int) {
	var pcs [200]uintptr
	b.want, b.id = callersText(pcs[:runtime.Callers(1+skip, pcs[:])]), b.r.Stack(skip)
}

func (b *bothStacks) inlinedOnce(skip int)  { b.take(skip) }
func (b *bothStacks) inlinedTwice(skip int) { b.inlinedOnce(skip) }

//go:noinline
func (b *bothStacks) through(skip int) { func() { b.inlinedTwice(skip) }() }

type taker interface{ through(int) }

//go:noinline
func throughInterface(t taker, skip int) { t.through(skip) }

// wrapped gets a method wrapper made by the compiler for its embedded field.
type wrapped struct{ *bothStacks }

func TestStacksEqualThoseOfTheRuntime(t *testing.T) {
	skipWithoutFramePointers(t)
	if !exactInlining {
		t.Skip("built with vtscope_nolinkname: calls between the innermost and the outermost inlined one are lost")
	}
	r := newTest(t)
	check := func(name string, f func(b *bothStacks, skip int)) {
		for skip := range 6 {
			t.Run(fmt.Sprintf("%s/skip=%d", name, skip), func(t *testing.T) {
				b := &bothStacks{r: r}
				f(b, skip)
				if b.id == 0 {
					t.Fatal("got no stack")
				}
				got := stackText(waitStack(t, r, b.id))
				if !slices.Equal(got, b.want) {
					t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(b.want, "\n\t"))
				}
			})
		}
	}
	check("direct", (*bothStacks).take)
	check("inlined", (*bothStacks).through)
	check("interface", func(b *bothStacks, skip int) { throughInterface(b, skip) })
	check("wrapper", func(b *bothStacks, skip int) { throughInterface(wrapped{b}, skip) })
	check("goroutine", func(b *bothStacks, skip int) {
		var wg sync.WaitGroup
		wg.Go(func() { b.through(skip) })
		wg.Wait()
	})
	check("coroutine", func(b *bothStacks, skip int) {
		next, stop := iter.Pull(func(yield func(int) bool) { b.through(skip); yield(1) })
		defer stop()
		next()
	})
	check("panic", func(b *bothStacks, skip int) {
		defer func() { recover() }()
		defer b.through(skip)
		panic("for the stack")
	})
	check("method-value", func(b *bothStacks, skip int) { value(b.through, skip) })
	check("defer-with-argument", func(b *bothStacks, skip int) { defer b.take(skip) })
	check("generic", func(b *bothStacks, skip int) { generic(b, skip) })
	check("deferred", func(b *bothStacks, skip int) {
		for range 2 {
			defer b.inlinedTwice(skip)
		}
	})
}

//go:noinline
func generic[T taker](b T, skip int) { b.through(skip) }

// value calls through a method value.
//
//go:noinline
func value(f func(int), skip int) { f(skip) }

func skipWithoutFramePointers(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("stacks are sampled on " + runtime.GOARCH)
	}
}

func TestSameStackHasOneID(t *testing.T) {
	skipWithoutFramePointers(t)
	r := newTest(t)
	const goroutines, rounds = 8, 2000
	ids := make([][]StackID, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range rounds {
				for depth := range 5 {
					deep(depth, func() {
						if len(ids[g]) < 5 {
							ids[g] = append(ids[g], 0)
						}
						ids[g][depth] = r.Stack(0)
					})
				}
			}
		})
	}
	wg.Wait()
	for g := range ids {
		if !slices.Equal(ids[g], ids[0]) {
			t.Errorf("goroutine %d got ids %v, the first %v", g, ids[g], ids[0])
		}
	}
	if seen := slices.Compact(slices.Sorted(slices.Values(ids[0]))); len(seen) != 5 || seen[0] == 0 {
		t.Errorf("got ids %v for 5 depths, want 5 different ones", ids[0])
	}
}

func TestStacksFillSegmentAfterSegment(t *testing.T) {
	r := newTest(t)
	const stacks = 3000 // of 30 frames: three segments
	ids := make([]StackID, stacks)
	for i := range ids {
		frames := make([]Frame, 30)
		for j := range frames {
			frames[j] = Frame{Func: "f", File: "f.go", PC: uint64(1 + i*100 + j)}
		}
		if ids[i] = r.AddStack(frames); ids[i] == 0 {
			t.Fatalf("stack %d: no room", i)
		}
	}
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		s, err := rd.Stack(id)
		if err != nil || len(s.PCs) != 30 || s.PCs[29] != uint64(1+i*100+29) || s.Unsymbolised != 0 {
			t.Fatalf("stack %d: got %+v, error %v", i, s, err)
		}
	}
}

func TestFullStackTableLosesAndCounts(t *testing.T) {
	r := newTest(t)
	var n uint64
	for lost := 0; lost < 10; n++ {
		if n > maxKnownStacks+100 {
			t.Fatalf("%d stacks fit, want at most %d", n, maxKnownStacks)
		}
		pcs := []uint64{n + 1}
		id := r.reserveStack(1)
		if id == 0 {
			lost++
			continue
		}
		r.stacks.at(uint64(id)).pcs()[0] = pcs[0]
		r.publishStack(id, hashPCs(pcs, false, 0), 1, 0, 0)
	}
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if l := rd.Lost().Stacks; l < 10 {
		t.Errorf("got %d lost stacks, want 10 or more", l)
	}
}

func TestStackOfAKnownStackKeepsASmallGoroutineStack(t *testing.T) {
	skipWithoutFramePointers(t)
	r := newTest(t)
	allocs := testing.AllocsPerRun(1000, func() { r.Stack(0) })
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}

func TestExpandPCNamesInlinedCalls(t *testing.T) {
	skipWithoutFramePointers(t)
	r := newTest(t)
	b := &bothStacks{r: r}
	b.through(0)
	s := waitStack(t, r, b.id)
	if !exactInlining { // the innermost call and the function it was inlined into
		for _, want := range []string{"take", "inlinedOnce", "through"} {
			if !slices.ContainsFunc(s.Frames, func(f Frame) bool { return strings.HasSuffix(f.Func, want) }) {
				t.Errorf("got %+v; want one of %s", s.Frames, want)
			}
		}
		return
	}
	if len(s.Frames) < 3 || !s.Frames[1].Inlined || !strings.HasSuffix(s.Frames[1].Func, "inlinedOnce") || s.Frames[0].Inlined {
		t.Errorf("got %+v; want take, then inlinedOnce marked as inlined", s.Frames)
	}
	last := s.Frames[len(s.Frames)-1]
	if last.Func != "runtime.goexit" || !last.Internal || s.Frames[0].Internal {
		t.Errorf("got outermost %+v, innermost %+v; want runtime.goexit as internal, a test function as not", last, s.Frames[0])
	}
}

func TestFunctionsOfTheRuntimesAreInternal(t *testing.T) {
	for _, f := range []struct {
		function, file string
		want           bool
	}{
		{"runtime.gopark", "/usr/local/go/src/runtime/proc.go", true},
		{"gcWriteBarrier", "/usr/local/go/src/runtime/asm_amd64.s", true},
		{"gcWriteBarrier", "runtime/asm_arm64.s", true},
		{"memeqbody", "/opt/src/go/src/internal/bytealg/equal_amd64.s", true},
		{"_seek", "syscall/asm.s", false},
		{"sumbody", "/opt/sums/sum_amd64.s", false},
		{"sumbody", "example.com/sums@v1.0.0/sum_amd64.s", false},
		{"main", "main.c", false},
		{"main.main", "main.go", false},
		{"github.com/vtscope/vtscope/runtime/sched.run", "worker.go", true},
		{"github.com/vtscope/vtscope/runtime/sched.TestRun", "worker_test.go", false},
	} {
		if got := InternalFunction(f.function, f.file); got != f.want {
			t.Errorf("%s of %s: internal is %v, want %v", f.function, f.file, got, f.want)
		}
	}
}
