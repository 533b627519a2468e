package continuation_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/internal/coro"
)

// call is a frame as tests compare it.
func call(f runtime.Frame) string {
	return fmt.Sprintf("%s:%d", f.Function[strings.LastIndexByte(f.Function, '/')+1:], f.Line)
}

func calls(stack []runtime.Frame) (calls []string) {
	for _, f := range stack {
		calls = append(calls, call(f))
	}
	return calls
}

// truth returns what package runtime says of the calls around the function that calls it, which was given to Suspend, from the caller of
// Suspend to the entry of the innermost body.
func truth() []string { return truthFrom(4) }

func truthFrom(skip int) (calls []string) {
	pcs := make([]uintptr, 1024)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip, pcs)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch c := call(f); {
		case strings.HasPrefix(c, "continuation.(*Continuation).begin"):
			return calls
		case strings.HasPrefix(c, "continuation.") || strings.HasPrefix(c, "runtime."):
		default:
			calls = append(calls, c)
		}
	}
	return append(calls, "no entry")
}

// inBothWays runs a test with both ways of getting at stacks.
func inBothWays(t *testing.T, test func(t *testing.T)) {
	if coro.SharedLookout().Sees() {
		t.Run("stacks=looked-at", func(t *testing.T) { everywhere(t, test) })
	}
	t.Run("stacks=captured", func(t *testing.T) {
		defer continuation.CaptureStacks()()
		everywhere(t, test)
	})
}

type stacker interface{ stack(f func()) }

type viaMethod struct{ depth int }

//go:noinline
func (v viaMethod) stack(f func()) {
	if v.depth > 0 {
		viaMethod{v.depth - 1}.stack(f)
		return
	}
	f()
}

//go:noinline
func viaGeneric[T any](_ T, f func()) { f() }

func viaInlined(f func()) { f() }

//go:noinline
func viaDefer(f func()) {
	defer f()
	runtime.KeepAlive(f)
}

//go:noinline
func viaPanic(f func()) {
	defer func() {
		f()
		recover()
	}()
	panic(1)
}

//go:noinline
func viaRange(f func()) {
	for range func(yield func(int) bool) { yield(1) } {
		f()
	}
}

// CT-03: the stack of a suspended continuation is exactly that from the suspension to the entry, in order.
func TestStackIsExactlyTheCallsFromTheSuspensionToTheEntry(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		ways := map[string]func(f func()){
			"body":      func(f func()) { f() },
			"deep":      func(f func()) { deep(200, f) },
			"method":    func(f func()) { viaMethod{3}.stack(f) },
			"interface": func(f func()) { stacker(viaMethod{1}).stack(f) },
			"value":     func(f func()) { viaMethod{1}.stack(f) },
			"generic":   func(f func()) { viaGeneric(map[string]int{}, f) },
			"inlined":   func(f func()) { viaInlined(func() { viaInlined(f) }) },
			"reflect":   func(f func()) { reflect.ValueOf(deep).Call([]reflect.Value{reflect.ValueOf(2), reflect.ValueOf(f)}) },
			"deferred":  viaDefer,
			"panicking": viaPanic,
			"range":     viaRange,
			"sort":      func(f func()) { slices.SortFunc([]int{1, 2}, func(a, b int) int { f(); return a - b }) },
		}
		for name, way := range ways {
			var want []string
			c := continuation.New(p, func() {
				way(func() {
					continuation.Suspend(p, func(*continuation.Continuation) { want = truth() })
				})
			})
			if got := c.Stack(); got != nil {
				t.Errorf("%s: before the first run: %q", name, calls(got))
			}
			c.Run()
			for range 2 {
				if got := calls(c.Stack()); !slices.Equal(got, want) || len(want) < 2 {
					t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
				}
				runtime.GC() // may move the stack
			}
			c.Run()
			if got := c.Stack(); !c.Done() || got != nil {
				t.Errorf("%s: after the end: %q", name, calls(got))
			}
		}
	})
}

// CT-03, SC-05: there is no stack before the first run, while it runs, and after the end.
func TestStackIsEmptyUnlessSuspended(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		p := continuation.NewPrompt("p")
		var c, outer *continuation.Continuation
		outer = continuation.New(p, func() {
			c = continuation.New(p, func() {
				for _, c := range []*continuation.Continuation{c, outer} {
					if got := c.Stack(); got != nil {
						t.Errorf("while it runs: %q", calls(got))
					}
				}
				suspend(t, p)
			})
			if got := c.Stack(); got != nil {
				t.Errorf("before the first run: %q", calls(got))
			}
			c.Run()
			if got := c.Stack(); got == nil {
				t.Error("no stack while it is suspended")
			}
			c.Run()
		})
		outer.Run()
		for _, c := range []*continuation.Continuation{c, outer} {
			if got := c.Stack(); !c.Done() || got != nil {
				t.Errorf("after the end: %q", calls(got))
			}
		}
	})
}

//go:noinline
func runIn(level string, c *continuation.Continuation) {
	if !c.Run() {
		panic(level + " is suspended by its own prompt")
	}
}

// SC-03: the stack of nested continuations can be delimited at the prompt of any of them.
func TestStackIsDelimitedAtAPrompt(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		a, b, c := continuation.NewPrompt("a"), continuation.NewPrompt("b"), continuation.NewPrompt("c")
		var inC, inB, inA []string
		A := continuation.New(a, func() {
			B := continuation.New(b, func() {
				C := continuation.New(c, func() {
					deep(2, func() {
						continuation.Suspend(a, func(*continuation.Continuation) { inC = truth() })
					})
				})
				deep(1, func() {
					inB = here()
					runIn("C", C)
				})
			})
			inA = here()
			runIn("B", B)
		})
		A.Run()
		// The calls of Run are on the line after those of here.
		shift := func(calls []string) (shifted []string) {
			for i, c := range calls {
				function, line := c[:strings.LastIndexByte(c, ':')], 0
				fmt.Sscan(c[strings.LastIndexByte(c, ':')+1:], &line)
				if i == 0 {
					line++
				}
				shifted = append(shifted, fmt.Sprintf("%s:%d", function, line))
			}
			return shifted
		}
		run := runLine()
		inB = append([]string{run}, shift(inB)...)
		inA = append([]string{run}, shift(inA)...)
		for name, w := range map[string]struct {
			stack []runtime.Frame
			want  []string
		}{
			"C":            {A.StackWithin(c), inC},
			"B":            {A.StackWithin(b), slices.Concat(inC, inB)},
			"A":            {A.StackWithin(a), slices.Concat(inC, inB, inA)},
			"none":         {A.Stack(), slices.Concat(inC, inB, inA)},
			"null":         {A.StackWithin(nil), slices.Concat(inC, inB, inA)},
			"an unrelated": {A.StackWithin(continuation.NewPrompt("k")), slices.Concat(inC, inB, inA)},
		} {
			if got := calls(w.stack); !slices.Equal(got, w.want) {
				t.Errorf("within %s:\ngot  %q\nwant %q", name, got, w.want)
			}
		}
		A.Close()
	})
}

// SC-04: and so can that of the running one, from inside.
func TestTheStackOfTheRunningBodyIsDelimitedAtEachPromptAroundIt(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		a, b, c := continuation.NewPrompt("a"), continuation.NewPrompt("b"), continuation.NewPrompt("c")
		functions := func(stack []runtime.Frame) (names []string) {
			for _, f := range stack {
				names = append(names, f.Function[strings.LastIndexByte(f.Function, '/')+1:])
			}
			return names
		}
		prompts := map[string]*continuation.Prompt{"a": a, "b": b, "c": c, "an unrelated": continuation.NewPrompt("k")}
		got := map[string][]string{}
		A := continuation.New(a, func() {
			B := continuation.New(b, func() {
				C := continuation.New(c, func() {
					continuation.Suspend(c, nil)
					deep(1, func() {
						for name, p := range prompts {
							got[name] = functions(continuation.StackHere(p))
						}
					})
				})
				C.Run()
				deep(2, func() { runIn("C", C) })
			})
			runIn("B", B)
		})
		if A.Run(); len(got) != len(prompts) {
			t.Fatal("the body has not ended")
		}
		count := func(name, function string) (n int) {
			for _, f := range got[name] {
				if strings.HasSuffix(f, "."+function) {
					n++
				}
			}
			return n
		}
		for name, want := range map[string][2]int{"c": {0, 2}, "b": {1, 5}, "a": {2, 5}, "an unrelated": {2, 5}} { // deep(n) is n+1 calls
			if runs, deeps := count(name, "runIn"), count(name, "deep"); runs != want[0] || deeps != want[1] {
				t.Errorf("within %s: %d calls of runIn and %d of deep, want %v: %q", name, runs, deeps, want, got[name])
			}
		}
		if !slices.Equal(got["a"], got["an unrelated"]) {
			t.Errorf("an unrelated prompt: got %q, want %q", got["an unrelated"], got["a"])
		}
	})
	if got := continuation.StackHere(continuation.NewPrompt("k")); got != nil {
		t.Errorf("outside: got %v, want nothing", got)
	}
}

// here returns the calls from its caller to the entry of the innermost body.
//
//go:noinline
func here() []string { return truthFrom(3) }

// runLine returns runIn's call of Run.
func runLine() string {
	f := runtime.FuncForPC(reflect.ValueOf(runIn).Pointer())
	_, line := f.FileLine(f.Entry())
	return fmt.Sprintf("continuation_test.runIn:%d", line+1)
}

func TestStackOfAResetIsThatOfTheContinuationAroundIt(t *testing.T) {
	inBothWays(t, func(t *testing.T) {
		p, q := continuation.NewPrompt("p"), continuation.NewPrompt("q")
		var inside []string
		c := continuation.New(p, func() {
			continuation.Reset(q, func() int {
				return continuation.Invoke(q, func(int) int {
					continuation.Suspend(p, func(*continuation.Continuation) { inside = truth() })
					return 0
				}, 0)
			})
		})
		c.Run()
		got := calls(c.Stack())
		if n := len(inside); len(got) != n+1 || !slices.Equal(got[:n], inside) || !strings.Contains(got[n], "TestStackOfAReset") {
			t.Errorf("got %q, want %q and the body", got, inside)
		}
		c.Close()
	})
}
