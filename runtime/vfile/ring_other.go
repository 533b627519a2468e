//go:build !linux

package vfile

import (
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/sched"
)

const (
	opFsync = iota
	opRead
	opWrite

	position = ^uint64(0)
)

// A ring does not exist here.
type ring struct{ number int }

func newRing(int) (*ring, error) { return nil, fmt.Errorf("io_uring: %w", errors.ErrUnsupported) }

func (*ring) look() bool { return false }
func (*ring) close()     {}

func (*ring) executed() uint64 { return 0 }

// onDescriptor leaves the operation to a helper.
func (o *op) onDescriptor(uintptr) {}

func openFD(*sched.Task, string, int, uint32) (fd int, err error, handled bool) {
	return -1, nil, false
}

type vector struct{}
