//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package poll

import "errors"

// Polls tells that the system has pollers. Without them a helper makes each call that blocks.
const Polls = false

// A queue does not exist here.
type queue struct{}

func (*queue) open() error                      { return errors.ErrUnsupported }
func (*queue) close()                           {}
func (*queue) add(int, Direction, uint64) error { return errors.ErrUnsupported }
func (*queue) remove(int, Direction) error      { return errors.ErrUnsupported }
func (*queue) serve(func([]uint64)) error       { return errors.ErrUnsupported }
func (*queue) look(func([]uint64)) bool         { return false }
