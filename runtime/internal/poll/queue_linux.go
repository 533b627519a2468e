package poll

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Polls tells that the system has pollers.
const Polls = true

// A queue is an epoll instance, which itself is a descriptor that Go's poller watches.
type queue struct {
	file   *os.File
	raw    syscall.RawConn
	fd     int
	turn   sync.Mutex // of who collects, for what is below
	events [batch]unix.EpollEvent
	tokens [batch]uint64
}

func (q *queue) open() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that NewFile gives it to Go's poller
		unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	q.fd, q.file = fd, os.NewFile(uintptr(fd), "epoll")
	if q.raw, err = q.file.SyscallConn(); err != nil {
		q.file.Close()
	}
	return err
}

func (q *queue) close() { q.file.Close() }

func (q *queue) add(fd int, dir Direction, token uint64) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
	if dir == Writing {
		e.Events = unix.EPOLLOUT | unix.EPOLLET&0xffffffff
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(q.fd, unix.EPOLL_CTL_ADD, fd, &e))
}

func (q *queue) remove(fd int, _ Direction) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(q.fd, unix.EPOLL_CTL_DEL, fd, nil))
}

// collect calls f with the tokens of descriptors that have become ready, if there are some, and returns how many the system told of. It does not block.
func (q *queue) collect(f func(tokens []uint64)) (int, error) {
	for {
		n, err := unix.EpollWait(q.fd, q.events[:], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, os.NewSyscallError("epoll_wait", err)
		}
		for i := range n {
			e := &q.events[i]
			q.tokens[i] = uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
		}
		if n > 0 {
			f(q.tokens[:n])
		}
		return n, nil
	}
}
