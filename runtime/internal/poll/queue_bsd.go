//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package poll

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Polls tells that the system has pollers.
const Polls = true

// A queue is a kqueue, which itself is a descriptor that Go's poller watches.
//
// The token stands in a table beside it and not in the event: its udata is a pointer, of a type that differs between systems.
type queue struct {
	file   *os.File
	raw    syscall.RawConn
	fd     int
	turn   sync.Mutex // of who collects, for what is below
	events [batch]unix.Kevent_t
	tokens [batch]uint64
	mu     struct {
		sync.Mutex
		tokens map[int]uint64 // by descriptor
	}
}

func (q *queue) open() error {
	fd, err := unix.Kqueue()
	if err != nil {
		return os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	q.fd, q.file = fd, os.NewFile(uintptr(fd), "kqueue")
	q.mu.tokens = map[int]uint64{}
	if q.raw, err = q.file.SyscallConn(); err != nil {
		q.file.Close()
	}
	return err
}

func filter(dir Direction) int {
	if dir == Writing {
		return unix.EVFILT_WRITE
	}
	return unix.EVFILT_READ
}

func (q *queue) close() { q.file.Close() }

func (q *queue) add(fd int, dir Direction, token uint64) error {
	q.mu.Lock()
	q.mu.tokens[fd] = token
	q.mu.Unlock()
	var e unix.Kevent_t
	unix.SetKevent(&e, fd, filter(dir), unix.EV_ADD|unix.EV_CLEAR)
	_, err := unix.Kevent(q.fd, []unix.Kevent_t{e}, nil, nil)
	return os.NewSyscallError("kevent", err)
}

func (q *queue) remove(fd int, dir Direction) error {
	q.mu.Lock()
	delete(q.mu.tokens, fd)
	q.mu.Unlock()
	var e unix.Kevent_t
	unix.SetKevent(&e, fd, filter(dir), unix.EV_DELETE)
	_, err := unix.Kevent(q.fd, []unix.Kevent_t{e}, nil, nil)
	return os.NewSyscallError("kevent", err)
}

// collect is as that of epoll.
func (q *queue) collect(f func(tokens []uint64)) (int, error) {
	var none unix.Timespec
	for {
		got, err := unix.Kevent(q.fd, nil, q.events[:], &none)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("kevent", err)
		}
		n := 0
		q.mu.Lock()
		for i := range got {
			if t, ok := q.mu.tokens[int(q.events[i].Ident)]; ok {
				q.tokens[n] = t
				n++
			}
		}
		q.mu.Unlock()
		if n > 0 {
			f(q.tokens[:n])
		}
		return got, nil
	}
}
