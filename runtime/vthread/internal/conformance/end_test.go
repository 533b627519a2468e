package conformance_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A report is what a panic handler was told.
type report struct {
	by     string
	thread *vthread.Thread
	on     *vthread.Thread
	value  any
	stack  string
}

//go:noinline
func guilty(value any) { panic(value) }

// LC-26: the builder's before the scope's, on the thread, while the guilty frames stand.
// LC-30
func TestTheBuildersPanicHandlerComesBeforeTheScopes(t *testing.T) {
	everywhere(t, startable, func(w *world) {
		reports := make(chan report, 2)
		handler := func(by string) func(*vthread.Thread, any, []byte) {
			return func(th *vthread.Thread, value any, stack []byte) {
				reports <- report{by, th, vthread.Current(), value, string(stack)}
			}
		}
		var ended atomic.Int32
		scope := &vthread.Scope{
			Ended: func(_ *vthread.Thread, how flight.Reason) {
				if how == flight.ReasonPanic {
					ended.Add(1)
				}
			},
			Panicked: handler("scope"),
		}
		for _, c := range []struct {
			scope   *vthread.Scope
			builder func(*vthread.Thread, any, []byte)
			want    string
		}{
			{nil, handler("builder"), "builder"},
			{scope, handler("builder"), "builder"},
			{scope, nil, "scope"},
		} {
			b := w.builder()
			b.Scope, b.OnPanic = c.scope, c.builder
			value := new(int)
			th := b.Start(w.pinned(func() {
				vthread.Sleep(time.Microsecond)
				waitsDeep(3, func() { guilty(value) })
			}))
			w.join(th)
			select {
			case got := <-reports:
				if got.by != c.want || got.thread != th || got.on != th || got.value != any(value) {
					w.Errorf("got the handler of the %s, for %v, on %v, with %v, want %s, %v twice, %p", got.by, got.thread, got.on, got.value, c.want, th, value)
				}
				for _, frame := range []string{"conformance_test.guilty", "conformance_test.waitsDeep"} {
					if !strings.Contains(got.stack, frame) {
						w.Errorf("got no %s in the stack, want it:\n%s", frame, got.stack)
					}
				}
			default:
				w.Errorf("no handler was called, want that of the %s", c.want)
			}
			if len(reports) > 0 {
				w.Errorf("both handlers were called, want that of the %s", c.want)
			}
		}
		if got := ended.Load(); got != 2 {
			w.Errorf("the scope was told of %d panics, want 2", got)
		}
	})
}

func init() {
	for _, kind := range (axes{kinds: true}).ofKinds() {
		for _, p := range (axes{pins: true}).pinned(kind) {
			programs[fmt.Sprintf("panic-%v-%s", kind, p)] = func() {
				w := &world{pin: p}
				vthread.Main(func() {
					th := vthread.Builder{Kind: kind}.Start(w.pinned(func() {
						defer fmt.Println("a deferred call")
						vthread.Sleep(time.Millisecond)
						waitsDeep(3, func() { guilty("of it all") })
					}))
					th.Join()
					fmt.Println("it goes on")
				})
			}
		}
	}
}

// LC-26: without a handler the program ends as if a goroutine had panicked, and prints the thread's own stack first.
func TestAPanicThatNobodyHandlesEndsTheProgramWithTheThreadsStack(t *testing.T) {
	frames := regexp.MustCompile(`(?s)^a deferred call\npanic: of it all\n\nthread #\d+ \[running\]:\n.*conformance_test\.guilty\(.*conformance_test\.waitsDeep\(`)
	for _, kind := range (axes{kinds: true}).ofKinds() {
		for _, p := range (axes{pins: true}).pinned(kind) {
			name := fmt.Sprintf("panic-%v-%s", kind, p)
			printed, code := runProgram(t, name)
			if code != 2 || !frames.MatchString(printed) {
				t.Errorf("%s: got exit code %d, want 2 and %v in\n%s", name, code, frames, printed)
			}
			if strings.Contains(printed, "it goes on") {
				t.Errorf("%s: it went on:\n%s", name, printed)
			}
		}
	}
}

func init() {
	programs["threads-live"] = func() {
		vthread.Main(func() {
			prompt := continuation.NewPrompt("conformance")
			started := make(chan struct{})
			for _, kind := range (axes{kinds: true}).ofKinds() {
				for _, lives := range []func(){
					func() { vthread.Park() },
					func() { vthread.Sleep(long) },
					func() {
						for {
							runtime.Gosched()
						}
					},
					func() { continuation.New(prompt, func() { vthread.Park() }).Run() },
					func() { select {} },
				} {
					vthread.Builder{Kind: kind}.Start(func() { started <- struct{}{}; lives() })
					<-started
				}
			}
			fmt.Println("main ends")
		})
	}
}

// LC-10
func TestNoThreadKeepsTheProgramAlive(t *testing.T) {
	if printed, code := runProgram(t, "threads-live"); printed != "main ends\n" || code != 0 {
		t.Errorf("got exit code %d, %q, want 0, main ends", code, printed)
	}
}

func init() {
	programs["late"] = func() {
		starts := func(where string) {
			for _, kind := range (axes{kinds: true}).ofKinds() {
				child := vthread.Builder{Kind: kind}
				th := vthread.Builder{Kind: kind}.Start(func() {
					vthread.Sleep(time.Millisecond)
					child.Start(func() { vthread.ParkFor(time.Millisecond) }).Join()
				})
				fmt.Println(where, kind, th.Join(), th.State())
			}
		}
		defer starts("after main's thread")
		vthread.Main(func() { defer starts("at the end of main's thread") })
	}
}

// LC-34: the recorder is closed by then.
func TestThreadsStartAndAreJoinedWhileTheProgramEnds(t *testing.T) {
	printed, code := runProgram(t, "late")
	var want strings.Builder
	for _, where := range []string{"at the end of main's thread", "after main's thread"} {
		for _, kind := range (axes{kinds: true}).ofKinds() {
			fmt.Fprintln(&want, where, kind, nil, flight.StateDone)
		}
	}
	if printed != want.String() || code != 0 {
		t.Errorf("got exit code %d,\n%swant 0,\n%s", code, printed, want.String())
	}
}
