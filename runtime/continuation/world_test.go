package continuation_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// everywhere runs a test, as subtests, on a plain goroutine, and on a thread of a scheduler with one carrier and with four.
func everywhere(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Run("on=goroutine", test)
	for _, carriers := range []int{1, 4} {
		t.Run(fmt.Sprintf("on=thread/carriers=%d", carriers), func(t *testing.T) {
			onThread(t, carriers, func() { test(t) })
		})
	}
}

func onThread(t *testing.T, carriers int, f func()) {
	t.Helper()
	fj, err := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: carriers})
	if err != nil {
		t.Fatal(err)
	}
	vthread.Builder{Scheduler: fj}.Start(f).Join()
	if err := fj.Close(); err != nil {
		t.Error(err)
	}
}

// elsewhere calls f on a goroutine of its own.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// panics reports an error if f does not panic with the one that is wanted.
func panics(t *testing.T, want error, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		if err, _ := v.(error); !errors.Is(err, want) {
			t.Errorf("panicked with %v, want %v", v, want)
		}
	}()
	f()
}

// A journal is what happened, in order.
type journal []string

func (j *journal) say(what string, args ...any) { *j = append(*j, fmt.Sprintf(what, args...)) }

func (j journal) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(j, want) {
		t.Errorf("got  %q\nwant %q", []string(j), want)
	}
}

// deep calls f from below n calls.
//
//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

// suspend suspends the innermost continuation of the prompt, which must work.
func suspend(t *testing.T, p *continuation.Prompt) {
	t.Helper()
	if _, err := continuation.Suspend(p, nil); err != nil {
		t.Errorf("suspend: %v", err)
	}
}

// gone waits until no goroutine executes the function with this name, of this package.
func gone(t *testing.T, function string) {
	t.Helper()
	function = "continuation_test." + function
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		all := stacks()
		if !strings.Contains(all, function) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a goroutine is left in %s:\n%s", function, all)
		}
	}
}

// stacks returns those of all goroutines, however many there are.
func stacks() string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}
