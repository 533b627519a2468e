package vfile

import (
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// Pipe returns the two ends of a pipe, as [os.Pipe]. Threads park while it is empty, or full.
func Pipe() (r, w *File, err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return Wrap(in), Wrap(out), nil
}

// A stream is what can be polled: a pipe, FIFO, terminal or socket.
type stream struct {
	f      *File
	blocks atomic.Bool // others may have it, too: it is asked before each try whether it is ready
	at     poll.Descriptor
}

func newStream(f *File) *stream {
	s := &stream{f: f}
	s.blocks.Store(blocking(f.raw))
	s.at.Init(f.raw, s, poll.Kind{Interrupted: errClosedByInterrupt, Closed: os.ErrClosed})
	return s
}

// Try, Spec, Name and Close are for the descriptor.

func (s *stream) Try(fd int, dir poll.Direction, b []byte) (int, error) {
	return once(fd, dir, b[:min(len(b), largest)], s.blocks.Load())
}

func (s *stream) Spec() flight.BlockerSpec { return flight.BlockerSpec{Name: s.f.Name()} }
func (s *stream) Name() string             { return s.f.Name() }
func (s *stream) Close() error             { return s.f.Close() }

func (s *stream) read(me *sched.Task, b []byte) (int, error) {
	n, err := s.at.Do(me, poll.Reading, flight.ReasonRead, b, nil)
	if err != nil && err != io.EOF {
		err = s.error("read", err)
	}
	return n, err
}

func (s *stream) write(me *sched.Task, b []byte) (n int, err error) {
	s.at.Lock(poll.Writing)
	defer s.at.Unlock(poll.Writing)
	for n < len(b) {
		m, err := s.at.DoLocked(me, poll.Writing, flight.ReasonWrite, b[n:], nil)
		n += m
		switch {
		case err == syscall.EPIPE: // package os ends the process, if this is its standard output
			m, err := s.f.inner().Write(b[n:])
			return n + m, err
		case err != nil:
			return n, s.error("write", err)
		}
	}
	return n, nil
}

// error is as package os has it.
func (s *stream) error(op string, err error) error {
	return &os.PathError{Op: op, Path: s.f.Name(), Err: err}
}

// close closes the file, and wakes who waits for it.
func (s *stream) close() error { return s.at.Close(s.f.inner().Close) }

func (s *stream) setDeadline(t time.Time, read, write bool) {
	for dir, set := range []bool{read, write} {
		if set {
			s.at.SetDeadline(poll.Direction(dir), t)
		}
	}
}
