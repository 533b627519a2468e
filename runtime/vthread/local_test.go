package vthread_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// onEveryKind calls test on a thread of each kind, on a scheduler with one carrier and with several, with a builder for more threads
// like it.
func onEveryKind(t *testing.T, test func(t *testing.T, b vthread.Builder)) {
	t.Helper()
	for _, kind := range []vthread.Kind{vthread.Virtual, vthread.OnGoroutine, vthread.OnOSThread} {
		for _, carriers := range []int{1, 3} {
			if kind != vthread.Virtual && carriers > 1 {
				continue
			}
			t.Run(fmt.Sprintf("kind=%s/carriers=%d", kind, carriers), func(t *testing.T) {
				b := vthread.Builder{Kind: kind}
				if kind == vthread.Virtual {
					fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
					if err != nil {
						t.Fatal(err)
					}
					defer fj.Close()
					b.Scheduler = fj
				}
				b.Start(func() { test(t, b) }).Join()
			})
		}
	}
}

// set sets a local, and fails the test if it cannot.
func set[T any](t *testing.T, l *vthread.Local[T], v T) {
	t.Helper()
	if err := l.Set(v); err != nil {
		t.Errorf("set to %v: %v", v, err)
	}
}

// wantLocal checks the calling thread's value.
func wantLocal[T comparable](t *testing.T, l *vthread.Local[T], want T, when string) {
	t.Helper()
	if got := l.Get(); got != want {
		t.Errorf("%s: got %v, want %v", when, got, want)
	}
}

// TL-01
func TestALocalIsPrivateToEachThread(t *testing.T) {
	number := vthread.NewLocal[int]()
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		set(t, number, -1)
		var threads []*vthread.Thread
		for i := range 50 {
			threads = append(threads, b.Start(func() {
				if v, ok := number.Lookup(); ok {
					t.Errorf("thread %d begins with value %d", i, v)
				}
				wantLocal(t, number, 0, "at first")
				for n := range 10 {
					set(t, number, 100*i+n)
					vthread.Yield()
					wantLocal(t, number, 100*i+n, "after it was set")
				}
				number.Remove()
				wantLocal(t, number, 0, "after it was removed")
				if _, ok := number.Lookup(); ok {
					t.Error("there is a value after it was removed")
				}
			}))
		}
		for _, th := range threads {
			th.Join()
		}
		wantLocal(t, number, -1, "of the maker, at the end")
	})
}

// TL-02
func TestALocalOutlivesEveryWait(t *testing.T) {
	name := vthread.NewLocal[string]()
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		var mu sync.Mutex
		relay := make(chan struct{})
		th := b.Start(func() {
			set(t, name, "mine")
			vthread.Park()
			wantLocal(t, name, "mine", "after a park")
			vthread.Sleep(time.Millisecond)
			wantLocal(t, name, "mine", "after a sleep")
			vthread.Yield()
			wantLocal(t, name, "mine", "after a yield")
			b.Start(func() { set(t, name, "another's"); vthread.Sleep(time.Millisecond) }).Join()
			wantLocal(t, name, "mine", "after a join")
			relay <- struct{}{}
			mu.Lock()
			defer mu.Unlock()
			wantLocal(t, name, "mine", "after operations of Go's own")
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			vthread.Sleep(time.Millisecond)
			wantLocal(t, name, "mine", "after a sleep that was pinned")
		})
		set(t, name, "the maker's")
		th.Unpark()
		<-relay
		th.Join()
	})
}

// TL-03
func TestAThreadThatWasBuiltWithoutLocalsHasNone(t *testing.T) {
	plain := vthread.NewLocal[*int]()
	handed := vthread.NewInheritableLocal[string]().WithInitial(func() string { return "first" })
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		set(t, handed, "the maker's")
		without := b
		without.Locals = vthread.NoLocals
		without.Start(func() {
			for _, err := range []error{plain.Set(new(1)), plain.Set(nil), handed.Set("x")} {
				if !errors.Is(err, vthread.ErrNoLocals) || !strings.Contains(err.Error(), "built") {
					t.Errorf("set: got %v, want ErrNoLocals, and why", err)
				}
			}
			for range 2 {
				wantLocal(t, plain, nil, "plain")
				wantLocal(t, handed, "first", "handed on")
				if _, ok := handed.Lookup(); ok {
					t.Error("there is a value where there can be none")
				}
				plain.Remove()
				handed.Remove()
			}
			b.Start(func() {
				wantLocal(t, handed, "first", "of a child")
				set(t, handed, "the child's")
				wantLocal(t, handed, "the child's", "of a child, set")
			}).Join()
		}).Join()
		own := b
		own.Locals = vthread.OwnLocals
		own.Start(func() {
			wantLocal(t, handed, "first", "of who inherits none")
			set(t, handed, "own")
			b.Start(func() { wantLocal(t, handed, "own", "of a child of who inherits none") }).Join()
		}).Join()
	})
}

// TL-04
func TestAnInheritableLocalIsTheMakersOfThatMoment(t *testing.T) {
	trace := vthread.NewInheritableLocal[string]()
	other := vthread.NewInheritableLocal[int]()
	private := vthread.NewLocal[string]()
	onEveryKind(t, func(t *testing.T, b vthread.Builder) {
		set(t, trace, "one")
		set(t, private, "secret")
		early := b.Unstarted(func() {
			wantLocal(t, trace, "one", "of a child made before the change")
			wantLocal(t, private, "", "of what is not inheritable")
			wantLocal(t, other, 0, "of what was set later")
			set(t, trace, "the child's")
			set(t, other, 7)
			b.Start(func() {
				wantLocal(t, trace, "the child's", "of a grandchild")
				wantLocal(t, other, 7, "of a grandchild")
			}).Join()
			trace.Remove()
			wantLocal(t, trace, "", "after it was removed")
			b.Start(func() {
				wantLocal(t, trace, "", "of a grandchild after it was removed")
				wantLocal(t, other, 7, "of a grandchild, not removed")
			}).Join()
			set(t, trace, "again")
			wantLocal(t, trace, "again", "set after it was removed")
		})
		set(t, trace, "two")
		late := b.Unstarted(func() { wantLocal(t, trace, "two", "of a child made after the change") })
		for _, th := range []*vthread.Thread{late, early} {
			if err := th.Start(); err != nil {
				t.Error(err)
			}
			th.Join()
		}
		wantLocal(t, trace, "two", "of the maker")
		wantLocal(t, other, 0, "of the maker, who never set it")
		b.Start(func() { // who changes nothing passes on what it has
			b.Start(func() { wantLocal(t, trace, "two", "through a thread between") }).Join()
		}).Join()
	})
}

// TL-04: and kinds do not matter.
func TestLocalsAreInheritedFromOneKindToAnother(t *testing.T) {
	trace := vthread.NewInheritableLocal[string]()
	kinds := []vthread.Kind{vthread.Virtual, vthread.OnGoroutine, vthread.OnOSThread}
	for _, maker := range kinds {
		for _, child := range kinds {
			vthread.Builder{Kind: maker}.Start(func() {
				set(t, trace, maker.String())
				vthread.Builder{Kind: child}.Start(func() {
					wantLocal(t, trace, maker.String(), "of a child of kind "+child.String())
				}).Join()
			}).Join()
		}
	}
}

func TestAGoroutineHasNoLocals(t *testing.T) {
	calls := 0
	l := vthread.NewInheritableLocal[string]().WithInitial(func() string { calls++; return "first" })
	if err := l.Set("x"); !errors.Is(err, vthread.ErrNoLocals) || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("set: got %v, want ErrNoLocals, and why", err)
	}
	l.Remove()
	for range 2 {
		wantLocal(t, l, "first", "of a goroutine")
	}
	if _, ok := l.Lookup(); ok || calls != 2 {
		t.Errorf("got a value %v, and %d calls for a first; want none, 2", ok, calls)
	}
	onThread(t, func() { wantLocal(t, l, "first", "of a goroutine's thread") })
}

func TestTheFirstValueIsMadeOnceForEachThreadThatAsks(t *testing.T) {
	var calls atomic.Int32
	base := vthread.NewLocal[int]().WithInitial(func() int { calls.Add(1); return 40 })
	buffer := vthread.NewLocal[*[]byte]().WithInitial(func() *[]byte { return new(make([]byte, base.Get())) })
	for range 3 {
		onThread(t, func() {
			if _, ok := buffer.Lookup(); ok {
				t.Error("there is a value that nobody has asked for")
			}
			first := buffer.Get()
			*first = append(*first, 1, 2)
			if again := buffer.Get(); again != first || len(*again) != 42 {
				t.Errorf("got %d bytes at %p, want 42 at %p", len(*again), again, first)
			}
			base.Remove()
			wantLocal(t, base, 40, "after it was removed")
			set(t, base, 1)
			wantLocal(t, base, 1, "after it was set")
		})
	}
	if n := calls.Load(); n != 6 {
		t.Errorf("%d first values were made, want 6", n)
	}
}

func TestLocalsAreThereUntilTheThreadHasEnded(t *testing.T) {
	l := vthread.NewLocal[string]()
	var seen []string
	for how, f := range map[string]func(){
		"return": func() {},
		"goexit": runtime.Goexit,
		"panic":  func() { panic("boom") },
	} {
		vthread.Builder{
			OnPanic: func(*vthread.Thread, any, []byte) { seen = append(seen, l.Get()+" handled") },
		}.Start(func() {
			set(t, l, how)
			defer func() { seen = append(seen, l.Get()) }()
			f()
		}).Join()
	}
	slices.Sort(seen)
	if got := strings.Join(seen, ", "); got != "goexit, panic, panic handled, return" {
		t.Errorf("got %s", got)
	}
}

// Values are dropped with the end of the thread, its own and those that it has from its maker and has passed on.
func TestAThreadThatHasEndedKeepsNoLocals(t *testing.T) {
	own := vthread.NewLocal[*[64]byte]()
	handed := vthread.NewInheritableLocal[*[64]byte]()
	var values []weak.Pointer[[64]byte]
	make64 := func() *[64]byte {
		v := new([64]byte)
		values = append(values, weak.Make(v))
		return v
	}
	var maker, heir, changer *vthread.Thread
	maker = vthread.Start(func() {
		set(t, handed, make64())
		heir = vthread.Start(func() { // has it from its maker
			set(t, own, make64())
			vthread.Start(func() {}).Join()
		})
		heir.Join()
		changer = vthread.Builder{Labels: map[string]string{"a": "b"}}.Start(func() { // and passes more on
			set(t, own, make64())
			set(t, handed, make64())
			vthread.Start(func() {}).Join()
		})
		changer.Join()
	})
	maker.Join()
	threads := []*vthread.Thread{maker, heir, changer}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		left := 0
		for _, v := range values {
			if v.Value() != nil {
				left++
			}
		}
		if left == 0 && len(values) == 4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d values are still held, want none of 4", left, len(values))
		}
	}
	for _, th := range threads {
		if th.Context().Err() == nil { // which looks at what the thread had from its maker
			t.Errorf("%v: its context has not ended", th)
		}
	}
	runtime.KeepAlive(threads)
}

func TestManyLocalsDoNotMeet(t *testing.T) {
	const n = 1000
	locals := make([]*vthread.Local[int], n)
	for i := range locals {
		if locals[i] = vthread.NewLocal[int](); i%3 == 0 {
			locals[i] = vthread.NewInheritableLocal[int]()
		}
	}
	onThread(t, func() {
		for i, l := range locals {
			set(t, l, i+1)
		}
		for i := 0; i < n; i += 2 {
			locals[i].Remove()
		}
		check := func(who string, has func(i int) bool) {
			for i, l := range locals {
				if v, ok := l.Lookup(); ok != has(i) || ok && v != i+1 {
					t.Errorf("%s: local %d: got %d, %v", who, i, v, ok)
				}
			}
		}
		check("the thread", func(i int) bool { return i%2 == 1 })
		vthread.Start(func() {
			check("its child", func(i int) bool { return i%2 == 1 && i%3 == 0 })
			for i := 0; i < n; i += 3 {
				set(t, locals[i], i+1)
			}
			check("its child, afterwards", func(i int) bool { return i%3 == 0 })
			vthread.Start(func() { check("its grandchild", func(i int) bool { return i%3 == 0 }) }).Join()
		}).Join()
	})
}

func TestLocalsCostNoAllocationOnceTheyAreThere(t *testing.T) {
	plain := vthread.NewLocal[int]()
	handed := vthread.NewInheritableLocal[string]()
	unset := vthread.NewLocal[string]()
	onThread(t, func() {
		set(t, plain, 1000)
		set(t, handed, "x")
		for what, f := range map[string]func(){
			"get":         func() { plain.Get() },
			"look up":     func() { handed.Lookup() },
			"get nothing": func() { unset.Get() },
			"set":         func() { _ = plain.Set(1 << 20) },
		} {
			if n := testing.AllocsPerRun(100, f); n != 0 {
				t.Errorf("%s: got %v allocations, want 0", what, n)
			}
		}
		vthread.Start(func() {
			if n := testing.AllocsPerRun(100, func() { handed.Get() }); n != 0 {
				t.Errorf("get what was inherited: got %v allocations, want 0", n)
			}
		}).Join()
	})
}

// Locals cost those alone that set them: a thread is as many allocations with one inherited from its maker, or forbidden, as without.
func TestInheritingALocalCostsNoAllocation(t *testing.T) {
	handed := vthread.NewInheritableLocal[string]()
	start := func(b vthread.Builder) float64 {
		return testing.AllocsPerRun(200, func() { b.Start(func() {}).Join() })
	}
	onThread(t, func() {
		before := start(vthread.Builder{})
		set(t, handed, "x")
		for mode := vthread.InheritLocals; mode <= vthread.NoLocals; mode++ {
			if n := start(vthread.Builder{Locals: mode}); n > before {
				t.Errorf("mode %d: got %v allocations, want %v as without locals", mode, n, before)
			}
		}
	})
}

func TestABuilderRefusesAnUnknownModeOfLocals(t *testing.T) {
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "9") {
			t.Errorf("got %v, want a panic that tells the mode", v)
		}
	}()
	vthread.Builder{Locals: 9}.Unstarted(func() {})
}
