package ordeal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Process is a child that ends when its starter does, however that ends: its standard input is a pipe that nobody else holds.
type Process struct {
	Name    string
	command *exec.Cmd
	in      io.WriteCloser
	out     *tail
	ended   chan struct{}
	wanted  bool // its end
}

// Begin starts a process and waits until it has printed the line "open".
func Begin(name string, c *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, command: c, out: &tail{opened: make(chan struct{})}, ended: make(chan struct{})}
	c.Stdout, c.Stderr = p.out, p.out
	var err error
	if p.in, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	if err = c.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		_ = c.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

// patience bounds each wait for a process.
const patience = 2 * time.Minute

// WaitOpen waits until the process has printed "open".
func (p *Process) WaitOpen() error {
	select {
	case <-p.out.opened:
		return nil
	case <-p.ended:
		return p.died()
	case <-time.After(patience):
		return fmt.Errorf("%s does not open:\n%s", p.Name, p.out)
	}
}

func (p *Process) died() error {
	return fmt.Errorf("%s (%d) ended by itself: %v\n%s", p.Name, p.PID(), p.command.ProcessState, p.out)
}

// PID returns its id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Check returns an error if it has ended without being told to.
func (p *Process) Check() error {
	select {
	case <-p.ended:
		if !p.wanted {
			return p.died()
		}
	default:
	}
	return nil
}

// Kill ends it at once, and waits until it is gone.
func (p *Process) Kill() {
	p.wanted = true
	_ = p.command.Process.Kill() // it may be gone
	<-p.ended
}

// Close tells it to end, and waits; the error is its own, with what it has printed.
func (p *Process) Close() error {
	if err := p.Check(); err != nil {
		return err
	}
	p.wanted = true
	if _, err := io.WriteString(p.in, "close\n"); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.Name, err, p.out)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.quit()
		return fmt.Errorf("%s does not close:\n%s", p.Name, p.out)
	}
	if !p.command.ProcessState.Success() {
		return fmt.Errorf("%s closes with %v\n%s", p.Name, p.command.ProcessState, p.out)
	}
	return nil
}

// tail keeps the end of what a process prints.
type tail struct {
	sync.Mutex
	text   []byte
	open   bool
	opened chan struct{}
}

const tailSize = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.Lock()
	defer t.Unlock()
	t.text = append(t.text, b...)
	if !t.open && (bytes.HasPrefix(t.text, []byte("open\n")) || bytes.Contains(t.text, []byte("\nopen\n"))) {
		t.open = true
		close(t.opened)
	}
	if n := len(t.text); n > 2*tailSize {
		t.text = append([]byte("…"), t.text[n-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.Lock()
	defer t.Unlock()
	return strings.TrimSpace(string(t.text))
}

// A Seat is a place for a worker: when one is killed there, the next is started.
type Seat struct {
	Name    string
	Command func() *exec.Cmd
	process *Process
}

// Process is who sits there; nil: nobody.
func (s *Seat) Process() *Process { return s.process }

// Begin starts a worker where none is.
func (s *Seat) Begin() (err error) {
	if s.process != nil {
		return nil
	}
	s.process, err = Begin(s.Name, s.Command())
	return err
}

// Kill leaves the seat empty.
func (s *Seat) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Close leaves the seat empty, in good order.
func (s *Seat) Close() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Close()
	if err != nil {
		s.process.Kill()
	}
	s.process = nil
	return err
}

// errAll is the error of several seats.
func errAll(seats []*Seat, f func(*Seat) error) error {
	var errs []error
	for _, s := range seats {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}
