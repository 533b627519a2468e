package sched

import (
	"context"
	"errors"
	"os"
)

// Errors of waits that are given up. ErrTimeout is what Go's programs test for when a time was over: it matches
// [context.DeadlineExceeded] and [os.ErrDeadlineExceeded], and is a net.Error whose Timeout is true.
var (
	ErrTimeout     error = timedOut{}
	ErrInterrupted       = errors.New("thread was interrupted")
)

// ErrNoMore is the error of whoever takes from a channel or a queue that is closed and empty, or gives to a closed queue.
var ErrNoMore = errors.New("vthread: closed channel or queue")

// ErrGoexit is the error of what a thread was to do that has called runtime.Goexit.
var ErrGoexit = errors.New("thread called runtime.Goexit")

type timedOut struct{}

func (timedOut) Error() string   { return "timed out" }
func (timedOut) Timeout() bool   { return true }
func (timedOut) Temporary() bool { return true }

func (timedOut) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
