package flight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A controlSocket waits for those who ask. Nobody waits for them:
//
//	C1  The recorder's background looks whether somebody has connected, each second. The first one who has starts a goroutine, which serves one after the
//	    other and ends when nobody has come for a while. So a process that nobody asks has neither a goroutine nor an OS thread for it.
//	C2  A long command has a goroutine of its own, and one is executed at a time: who has its answer may ask for the next.
//	C3  Only close waits for those goroutines; it closes the connections first.
//	C4  Each connection has a deadline, and is one question and its answer.
type controlSocket struct {
	recorder *Recorder
	fd       int
	dir      int // where name is
	name     string
	stop     chan struct{}
	serving  chan struct{} // one element while a goroutine serves (C1)
	long     chan struct{} // one element while a long command is executed (C2)
	wait     sync.WaitGroup

	mu struct {
		sync.Mutex
		closed bool
		open   map[*os.File]struct{} // connections
	}
}

const (
	askWithin    = 2 * time.Second
	answerWithin = 10 * time.Second
	lingerEvery  = 20 * time.Millisecond
	lingerFor    = 2 * time.Second
)

// listen makes the control socket beside the flight file. It returns nil if there is no file, or it cannot be made.
func (r *Recorder) listen() *controlSocket {
	if r.path == "" {
		return nil
	}
	s, err := newControlSocket(r)
	if err != nil {
		r.warnOnce("settings cannot be changed from outside", err)
		return nil
	}
	return s
}

func newControlSocket(r *Recorder) (*controlSocket, error) {
	dir, err := syscall.Open(filepath.Dir(r.path), syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Dir(r.path), err)
	}
	s := &controlSocket{
		recorder: r, fd: -1, dir: dir, name: filepath.Base(SocketPath(r.path)),
		stop: make(chan struct{}), serving: make(chan struct{}, 1), long: make(chan struct{}, 1),
	}
	s.mu.open = map[*os.File]struct{}{}
	if s.fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0); err == nil {
		err = s.bind()
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("make socket %s: %w", s.name, err)
	}
	return s, nil
}

// bind gives the socket its name. The name of the flight file is this process's alone, so what has the socket's name is of a process that is gone. The mode
// is set before there is a name; the path through the descriptor is short, however long that of the directory is.
func (s *controlSocket) bind() error {
	if err := syscall.Fchmod(s.fd, 0o600); err != nil {
		return err
	}
	if err := unlinkat(s.dir, s.name); err != nil && err != syscall.ENOENT {
		return err
	}
	path := "/proc/self/fd/" + strconv.Itoa(s.dir) + "/" + s.name
	if err := syscall.Bind(s.fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return syscall.Listen(s.fd, 8)
}

// look serves those who have connected. It does not wait.
func (s *controlSocket) look() {
	if s == nil {
		return
	}
	select {
	case s.serving <- struct{}{}:
	default:
		return // the goroutine that serves looks itself
	}
	c, err := s.accept()
	if err != nil {
		<-s.serving
		return
	}
	s.wait.Go(func() {
		defer func() { <-s.serving }()
		s.serve(c)
	})
}

// accept returns a connection of who may ask.
func (s *controlSocket) accept() (*os.File, error) {
	for {
		fd, _, err := syscall.Accept4(s.fd, syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !mayAsk(fd) {
			syscall.Close(fd)
			continue
		}
		c := os.NewFile(uintptr(fd), s.name)
		s.mu.Lock()
		closed := s.mu.closed
		if !closed {
			s.mu.open[c] = struct{}{}
		}
		s.mu.Unlock()
		if closed {
			c.Close()
			return nil, errClosed
		}
		return c, nil
	}
}

// mayAsk reports whether the peer is of this process's user, or is root.
func mayAsk(fd int) bool {
	peer, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	return err == nil && (int(peer.Uid) == os.Geteuid() || peer.Uid == 0)
}

// within sets the deadline of a connection (C4). It returns false if the socket is closed.
func (s *controlSocket) within(c *os.File, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.mu.closed && c.SetDeadline(time.Now().Add(d)) == nil
}

func (s *controlSocket) hangUp(c *os.File) {
	s.mu.Lock()
	delete(s.mu.open, c)
	s.mu.Unlock()
	c.Close()
}

// serve serves c, and then whoever comes soon.
func (s *controlSocket) serve(c *os.File) {
	s.exchange(c)
	tick := time.NewTicker(lingerEvery)
	defer tick.Stop()
	for until := time.Now().Add(lingerFor); time.Now().Before(until); {
		c, err := s.accept()
		if err == nil {
			s.exchange(c)
			until = time.Now().Add(lingerFor)
			continue
		}
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
	}
}

// exchange reads a question and writes the answer, or has that done (C2). An error is the peer's, who is gone or talks nonsense.
func (s *controlSocket) exchange(c *os.File) {
	if !s.within(c, askWithin) {
		s.hangUp(c)
		return
	}
	word, body, err := ReadControl(c, MaxControlBody)
	row := findCommand(word)
	switch {
	case errors.Is(err, ErrControlVersion):
		s.reply(c, AnswerUnknown, []byte(err.Error()))
	case err != nil:
		s.reply(c, AnswerFailed, []byte(err.Error()))
	case row == nil:
		s.reply(c, AnswerUnknown, fmt.Appendf(nil, "no command %q: hello tells which there are", safeText(word)))
	case !row.Long:
		word, answer := row.do(s.recorder, s.stop, body)
		s.reply(c, word, answer)
	default:
		select {
		case s.long <- struct{}{}:
			s.wait.Go(func() {
				word, answer := row.do(s.recorder, s.stop, body)
				<-s.long
				s.reply(c, word, answer)
			})
		default:
			s.reply(c, AnswerBusy, []byte("another long command is executed"))
		}
	}
}

func (s *controlSocket) reply(c *os.File, word string, body []byte) {
	defer s.hangUp(c)
	if s.within(c, answerWithin) {
		_ = WriteControl(c, word, body) // who does not read it has gone
	}
}

// close removes the socket, hangs up, and waits for the goroutines (C3).
func (s *controlSocket) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.mu.closed = true
	for c := range s.mu.open {
		_ = c.SetDeadline(time.Unix(1, 0)) // who has it closes it
	}
	s.mu.Unlock()
	close(s.stop) // now: what is cut short must not be told as done
	s.wait.Wait()
	if s.fd >= 0 {
		syscall.Close(s.fd)
		_ = unlinkat(s.dir, s.name) // somebody may have cleaned up
	}
	syscall.Close(s.dir)
}

// sweepSocket removes the control socket name in dir if its process is gone: its flight file is not there, or nobody writes it.
func sweepSocket(dir *os.File, name string) {
	base, ok := strings.CutSuffix(name, socketSuffix)
	if !ok {
		return
	}
	file := base + fileSuffix
	if _, _, ok := parseFileName(file); !ok || namesLiveProcess(file) {
		return
	}
	var st syscall.Stat_t
	if syscall.Lstat("/proc/self/fd/"+strconv.Itoa(int(dir.Fd()))+"/"+name, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK || int(st.Uid) != os.Geteuid() {
		return
	}
	fd, err := openat(int(dir.Fd()), file, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		held, known := lockHeld(fd)
		syscall.Close(fd)
		if held || !known {
			return
		}
	} else if err != syscall.ENOENT {
		return
	}
	_ = unlinkat(int(dir.Fd()), name) // another start may have been faster
}
