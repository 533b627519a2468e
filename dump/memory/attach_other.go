//go:build !linux

package memory

import (
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say how a process is looked at.
type Options struct {
	Stop    bool // all threads of the process
	Mounted bool // OS threads that execute a thread, one at a time
}

// Attach is for Linux alone: it returns an error that matches [errors.ErrUnsupported].
func Attach(pid int, _ Options) (*Source, error) {
	return nil, fmt.Errorf("memory: read process %d: only on Linux: %w", pid, errors.ErrUnsupported)
}

// Beside is for Linux alone, as [Attach].
func Beside(r *flight.Reader) (*Source, error) { return Attach(r.Process().PID, Options{}) }

// AttachGo is for Linux alone, as [Attach].
func AttachGo(pid int, _ GoroutineOptions) (*Goroutines, error) {
	return nil, fmt.Errorf("memory: read process %d: only on Linux: %w", pid, errors.ErrUnsupported)
}

// GoProcesses is for Linux alone: elsewhere it returns none.
func GoProcesses(func(pid int) bool) []GoProcess { return nil }

// Cost is "": nothing is disturbed.
func (s *Source) Cost() string { return "" }
