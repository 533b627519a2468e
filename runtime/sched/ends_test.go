package sched_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A goroutine may end locked to its OS thread, and so may a thread: the next on its routine is not locked.
func TestAThreadMayEndLockedToItsOSThread(t *testing.T) {
	if !coro.CanProbe() {
		t.Skip("this Go release does not let us see OS thread locks")
	}
	queue := make(executor, 16)
	go func() {
		for task := range queue {
			task.Run()
		}
	}()
	defer close(queue)
	for _, s := range []sched.Scheduler{newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1}), queue} {
		b := vthread.Builder{Scheduler: s, OnPanic: func(*vthread.Thread, any, []byte) {}}
		for _, end := range []func(){func() {}, runtime.Goexit, func() { panic("handled") }} {
			b.Start(func() {
				runtime.LockOSThread()
				runtime.LockOSThread()
				end()
			}).Join()
			b.Start(func() {
				if coro.Locked() {
					t.Error("a thread began locked")
				}
			}).Join()
		}
	}
}

// None of these may take the carrier along, nor whoever happens to be in the routine's home.
func TestOddEndsEndOnlyTheThread(t *testing.T) {
	fj := newForkJoin(t, sched.ForkJoinOptions{Parallelism: 1, MaxCarriers: 1})
	handled := 0
	b := vthread.Builder{Scheduler: fj, OnPanic: func(*vthread.Thread, any, []byte) { handled++ }}
	exits := b
	exits.OnPanic = func(*vthread.Thread, any, []byte) { handled++; runtime.Goexit() }
	const rounds = 20
	for range rounds {
		b.Start(func() {
			defer func() { panic("after Goexit") }()
			runtime.Goexit()
		}).Join()
		b.Start(func() {
			defer runtime.Goexit()
			panic("before Goexit")
		}).Join()
		exits.Start(func() { panic("whose handler calls Goexit") }).Join()
		exits.Start(func() {
			defer func() { panic("after Goexit, whose handler calls Goexit") }()
			runtime.Goexit()
		}).Join()
	}
	if want := 3 * rounds; handled != want {
		t.Fatalf("handled %d panics, want %d", handled, want)
	}
}

func TestAnUnhandledPanicEndsTheProgramWithTheThreadsStack(t *testing.T) {
	culprits := map[string]func(*vthread.Thread, any, []byte){
		"unhandled":       nil,
		"panic-in-handle": func(*vthread.Thread, any, []byte) { guilty() },
	}
	if c := os.Getenv("VTSCOPE_TEST_CRASH"); c != "" {
		vthread.Builder{Name: "culprit", OnPanic: culprits[c]}.Start(func() { vthread.Yield(); guilty() }).Join()
		os.Exit(0)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for c := range culprits {
		t.Run(c, func(t *testing.T) {
			cmd := exec.Command(exe, "-test.run=^TestAnUnhandledPanicEndsTheProgramWithTheThreadsStack$")
			cmd.Env = append(os.Environ(), "VTSCOPE_TEST_CRASH="+c, "VTSCOPE=private")
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("ended with %v, want exit status 2", err)
			}
			for _, want := range []string{"panic: boom", `"culprit"`, "sched_test.guilty"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is not in the output:\n%s", want, out)
				}
			}
		})
	}
}

// An alternating scheduler executes every other time itself, and else lets a ForkJoin do it.
type alternating struct {
	fj *sched.ForkJoin
	n  atomic.Uint32
}

func (a *alternating) Execute(t *sched.Task) error {
	if a.n.Add(1)%2 == 0 {
		return a.fj.Execute(t)
	}
	go t.Run()
	return nil
}

func TestAThreadMayEndElsewhereThanItBegan(t *testing.T) {
	b := vthread.Builder{Scheduler: &alternating{fj: newForkJoin(t, sched.ForkJoinOptions{Parallelism: 2})}}
	var ended atomic.Int32
	const rounds, threads = 20, 20
	for i := range rounds {
		var all []*vthread.Thread
		for j := range threads {
			all = append(all, b.Start(func() {
				defer ended.Add(1)
				for range 5 {
					vthread.Yield()
					vthread.ParkFor(time.Microsecond)
				}
				if (i+j)%4 == 0 {
					runtime.Goexit()
				}
			}))
		}
		for _, th := range all {
			returns(t, "a thread", th.Join)
		}
	}
	if n := ended.Load(); n != rounds*threads {
		t.Fatalf("%d threads ended, want %d", n, rounds*threads)
	}
}
