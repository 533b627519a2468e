package vthread_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestErrorsAreWhatGoProgramsTestFor(t *testing.T) {
	var lock vsync.Mutex
	lock.Lock()
	defer lock.Unlock()
	onThread := func(f func() error) (err error) {
		vthread.Run("waits", func() { err = f() })
		return err
	}
	never := submit(t, vthread.Builder{}, func() (int, error) { lock.Lock(); defer lock.Unlock(); return 0, nil })
	for what, err := range map[string]error{
		"a lock":                lock.LockFor(time.Millisecond),
		"a lock, on a thread":   onThread(func() error { return lock.LockFor(time.Millisecond) }),
		"a future, on a thread": onThread(func() error { _, err := never.GetFor(time.Millisecond); return err }),
	} {
		err = fmt.Errorf("wrapped: %w", err)
		var timeout net.Error
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, vthread.ErrTimeout) ||
			!errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%s: %v is no time-out to other packages", what, err)
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, vthread.ErrInterrupted) {
			t.Errorf("%s: %v is something else, too", what, err)
		}
	}
	never.Cancel()
	if _, err := never.Get(); !errors.Is(err, context.Canceled) || !errors.Is(err, vthread.ErrCanceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a future that was canceled: %v", err)
	}
	for _, err := range []error{structured.ErrGoexit, durable.ErrGoexit} {
		if err != vthread.ErrGoexit {
			t.Errorf("%v is another value than that of package vthread", err)
		}
	}
}
