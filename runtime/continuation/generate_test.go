package continuation_test

import (
	"errors"
	"iter"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func upTo(n int) iter.Seq[int] {
	return continuation.Generate(func(yield func(int)) {
		for i := range n {
			deep(i, func() { yield(i) })
		}
	})
}

func TestGenerateYieldsFromAnyDepthAndAfreshForEveryRange(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		seq := upTo(5)
		for range 2 {
			if got := slices.Collect(seq); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
				t.Errorf("got %v", got)
			}
		}
		pairs := continuation.Generate2(func(yield func(string, int)) {
			yield("a", 1)
			yield("b", 2)
		})
		if got := maps.Collect(pairs); len(got) != 2 || got["a"] != 1 || got["b"] != 2 {
			t.Errorf("got %v", got)
		}
	})
}

// The proposal's example: code in a generator suspends the enclosing fiber.
func TestAGeneratorOnAThreadParksTheThreadBetweenTwoValues(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		me := vthread.Current()
		var got []int
		for x := range continuation.Generate(func(produce func(int)) {
			for i := range 4 {
				produce(i)
				vthread.Sleep(time.Millisecond)
				if vthread.Current() != me {
					t.Error("another thread in the generator")
				}
			}
		}) {
			vthread.Yield()
			got = append(got, x)
		}
		if !slices.Equal(got, []int{0, 1, 2, 3}) {
			t.Errorf("got %v", got)
		}
	})
}

//go:noinline
func generatorBody(log *journal, yield func(int)) {
	defer log.say("closed")
	defer func() { recover() }()
	defer func() {
		yield(-1) // there is nobody to take it
		log.say("not reached")
	}()
	for i := 0; ; i++ {
		yield(i)
	}
}

func TestLeavingARangeHalfWayClosesTheGenerator(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var log journal
		seq := continuation.Generate(func(yield func(int)) { generatorBody(&log, yield) })
		for name, leave := range map[string]func(){
			"break": func() {
				for x := range seq {
					if x == 2 {
						break
					}
				}
			},
			"return": func() {
				func() {
					for range seq {
						return
					}
				}()
			},
			"panic": func() {
				panics(t, errBoom, func() {
					for range seq {
						panic(errBoom)
					}
				})
			},
			"goexit": func() {
				elsewhere(func() {
					for range seq {
						runtime.Goexit()
					}
				})
			},
			"stop": func() {
				next, stop := iter.Pull(seq)
				next()
				next()
				stop()
				if _, ok := next(); ok {
					t.Error("goes on after stop")
				}
			},
			"invoke": func() {
				p := continuation.NewPrompt("p")
				continuation.Reset(p, func() int {
					for range seq {
						continuation.Invoke(p, func(int) int { return 0 }, 0)
					}
					return 0
				})
			},
		} {
			log = nil
			leave()
			if !slices.Equal(log, journal{"closed"}) {
				t.Errorf("%s: got %q, want it closed once", name, log)
			}
			gone(t, "generatorBody")
		}
	})
}

func TestGeneratorsNest(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		// Each of the two bodies yields to either range.
		var got []int
		for x := range continuation.Generate(func(outer func(int)) {
			for y := range continuation.Generate(func(inner func(int)) {
				inner(1)
				outer(2)
				inner(3)
				outer(4)
			}) {
				outer(y * 10)
			}
		}) {
			got = append(got, x)
		}
		if !slices.Equal(got, []int{10, 2, 30, 4}) {
			t.Errorf("got %v", got)
		}
		// A tree, by a generator for each node.
		var walk func(depth int) iter.Seq[int]
		walk = func(depth int) iter.Seq[int] {
			return continuation.Generate(func(yield func(int)) {
				if depth == 0 {
					yield(1)
					return
				}
				for range 2 {
					for x := range walk(depth - 1) {
						yield(x)
					}
				}
			})
		}
		if n := len(slices.Collect(walk(6))); n != 64 {
			t.Errorf("%d leaves, want 64", n)
		}
	})
}

func TestGenerateInsideIterPull(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		a, stopA := iter.Pull(upTo(3))
		defer stopA()
		b, stopB := iter.Pull2(continuation.Generate2(func(yield func(int, int)) {
			for x := range upTo(3) {
				yield(x, x*x)
			}
		}))
		defer stopB()
		for i := range 3 {
			x, okA := a()
			y, z, okB := b()
			if x != i || y != i || z != i*i || !okA || !okB {
				t.Errorf("round %d: %d %v, %d %d %v", i, x, okA, y, z, okB)
			}
		}
		if _, ok := a(); ok {
			t.Error("a goes on")
		}
		if _, _, ok := b(); ok {
			t.Error("b goes on")
		}
	})
}

func TestWhatAGeneratorMustNotDo(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var kept func(int)
		for range continuation.Generate(func(yield func(int)) {
			kept = yield
			yield(1)
			elsewhere(func() { panics(t, continuation.ErrNoPrompt, func() { yield(2) }) })
			continuation.Pin()
			panics(t, continuation.ErrPinned, func() { yield(3) })
			continuation.Unpin()
			yield(4)
		}) {
		}
		panics(t, continuation.ErrNoPrompt, func() { kept(5) })
		panics(t, errBoom, func() {
			for range continuation.Generate(func(yield func(int)) { yield(1); panic(errBoom) }) {
			}
		})
		panics(t, errBoom, func() {
			for range continuation.Generate(func(yield func(int)) {
				defer func() { panic(errBoom) }()
				yield(1)
			}) {
				break
			}
		})
	})
}

func TestACoroutineTakesAndGivesValues(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		closed := false
		mean := continuation.NewCoroutine(func(in float64, yield func(float64) float64) float64 {
			defer func() { closed = true }()
			sum := in
			for n := 1.0; in >= 0; n++ {
				in = yield(sum / n)
				sum += in
			}
			return -1
		})
		for i, want := range []float64{4, 5, 6} {
			if got, more := mean.Resume(float64(4 + 2*i)); got != want || !more {
				t.Errorf("mean %v, %v, want %v", got, more, want)
			}
		}
		if got, more := mean.Resume(-1); got != -1 || more || !closed {
			t.Errorf("at the end: %v, %v", got, more)
		}
		panics(t, continuation.ErrDone, func() { mean.Resume(1) })
		closed = false
		left := continuation.NewCoroutine(func(in int, yield func(string) int) string {
			defer func() { closed = true }()
			yield("a")
			t.Error("goes on")
			return ""
		})
		left.Resume(1)
		left.Close()
		if !closed {
			t.Error("Close did not run the deferred function")
		}
		var pinned *continuation.PinnedError
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.As(err, &pinned) {
					t.Errorf("got %v, want a PinnedError", err)
				}
			}()
			continuation.NewCoroutine(func(int, func(int) int) int { continuation.Pin(); return 0 }).Resume(0)
			continuation.NewCoroutine(func(_ int, yield func(int) int) int { continuation.Pin(); return yield(0) }).Resume(0)
		}()
	})
}

func BenchmarkGenerate(b *testing.B) {
	for range continuation.Generate(func(yield func(int)) {
		for i := 0; ; i++ {
			yield(i)
		}
	}) {
		if !b.Loop() {
			break
		}
	}
}
