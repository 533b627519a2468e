package vfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/internal/poll"
	"github.com/vtscope/vtscope/runtime/sched"
)

// A Cmd is an [exec.Cmd] for threads: starting a child process and waiting for its end park. A [File] as Stdin, Stdout or Stderr is given to the child as it is.
type Cmd struct {
	*exec.Cmd

	mu struct {
		sync.Mutex
		waiting bool
		ended   bool
		err     error
		waiters []*sched.Waiter
	}
	taken bool // its result was returned
	pipes []*File
	child []*os.File
}

// Command is [exec.Command].
func Command(name string, arg ...string) *Cmd { return &Cmd{Cmd: exec.Command(name, arg...)} }

// CommandContext is [exec.CommandContext]: the process is killed when ctx ends.
func CommandContext(ctx context.Context, name string, arg ...string) *Cmd {
	return &Cmd{Cmd: exec.CommandContext(ctx, name, arg...)}
}

// Start starts the process, as [exec.Cmd.Start].
func (c *Cmd) Start() error {
	if f, ok := c.Stdin.(*File); ok {
		c.Stdin = f.inner()
	}
	same := c.Stdout == c.Stderr && comparable(c.Stdout)
	if f, ok := c.Stdout.(*File); ok {
		c.Stdout = f.inner()
	}
	if same {
		c.Stderr = c.Stdout
	} else if f, ok := c.Stderr.(*File); ok {
		c.Stderr = f.inner()
	}
	// An interrupt does not prevent it: whoever calls Start has a process to wait for, or an error of it.
	err := c.start()
	for _, f := range c.child {
		f.Close()
	}
	c.child = nil
	if err != nil {
		c.closePipes()
	}
	return err
}

func comparable(w io.Writer) bool { _, ok := w.(*File); return ok }

func (c *Cmd) start() (err error) {
	me := sched.Current()
	if me == nil {
		return c.Cmd.Start()
	}
	o := ops.Get().(*op)
	defer o.free()
	o.call = func() { err = c.Cmd.Start() }
	theEngine().helpers.submit(o, true)
	o.await(me, filePause(0), false, nil)
	return err
}

func (c *Cmd) closePipes() {
	for _, f := range c.pipes {
		f.Close()
	}
	c.pipes = nil
}

// Wait waits for the end of the process, as [exec.Cmd.Wait], and closes the pipes to it. If the thread is interrupted while it waits, or was before, it returns
// [sched.ErrInterrupted] and leaves the interrupt status set; the process goes on, and can be waited for again.
func (c *Cmd) Wait() error {
	if err := c.await(true); err != nil {
		return err
	}
	if c.taken {
		return errors.New("exec: Wait was already called")
	}
	c.taken = true
	c.closePipes()
	return c.mu.err
}

// await waits until the process has ended.
func (c *Cmd) await(interrupts bool) error {
	if c.Process == nil {
		c.mu.err = errors.New("exec: not started")
		return nil
	}
	me := sched.Current()
	c.mu.Lock()
	if !c.mu.waiting {
		c.mu.waiting = true
		poll.Start(c.wait)
	}
	if c.mu.ended {
		c.mu.Unlock()
		return nil
	}
	w := sched.NewLooseWaiter(me)
	c.mu.waiters = append(c.mu.waiters, w)
	c.mu.Unlock()
	err := w.WaitWithin(sched.Limits{Interrupts: interrupts}, sched.Pause{State: flight.StateParked, Reason: flight.ReasonIO})
	if err != nil {
		_ = me.Interrupt() // it stays interrupted. It runs: nobody can refuse it
	}
	return err
}

// wait is what waits for the process, on a goroutine.
func (c *Cmd) wait() {
	err := c.Cmd.Wait()
	c.mu.Lock()
	c.mu.ended, c.mu.err = true, err
	waiters := c.mu.waiters
	c.mu.waiters = nil
	c.mu.Unlock()
	for _, w := range waiters {
		_ = w.Wake() // refused, it stays parked: who closed its scheduler knows
	}
}

// Run starts the process and waits for its end. If the thread is interrupted meanwhile, the process is killed, and the error matches [sched.ErrInterrupted]; the
// interrupt status stays set.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	err := c.Wait()
	if err == sched.ErrInterrupted {
		_ = c.Process.Kill() // or it has ended
		_ = c.await(false)
		c.taken = true
		c.closePipes()
		return errors.Join(err, c.mu.err)
	}
	return err
}

// Output runs the process and returns its standard output, as [exec.Cmd.Output].
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("exec: Stdout already set")
	}
	var out, diagnosis bytes.Buffer
	c.Stdout = &out
	capture := c.Stderr == nil
	if capture {
		c.Stderr = &diagnosis
	}
	err := c.Run()
	var exit *exec.ExitError
	if capture && errors.As(err, &exit) {
		exit.Stderr = diagnosis.Bytes()
	}
	return out.Bytes(), err
}

// CombinedOutput runs the process and returns its standard output and standard error, as [exec.Cmd.CombinedOutput].
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("exec: Stdout already set")
	}
	if c.Stderr != nil {
		return nil, errors.New("exec: Stderr already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// StdinPipe returns what the process reads from, as [exec.Cmd.StdinPipe]: a [File].
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if err := c.unset("Stdin", c.Stdin != nil); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stdin = r
	return c.pipe(r, w), nil
}

// StdoutPipe returns what the process writes, as [exec.Cmd.StdoutPipe]: a [File]. Wait closes it: read to the end first.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	if err := c.unset("Stdout", c.Stdout != nil); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stdout = w
	return c.pipe(w, r), nil
}

// StderrPipe is StdoutPipe of the standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	if err := c.unset("Stderr", c.Stderr != nil); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stderr = w
	return c.pipe(w, r), nil
}

func (c *Cmd) unset(what string, set bool) error {
	switch {
	case set:
		return errors.New("exec: " + what + " already set")
	case c.Process != nil:
		return errors.New("exec: " + what + "Pipe after process started")
	}
	return nil
}

func (c *Cmd) pipe(theirs, ours *os.File) *File {
	f := Wrap(ours)
	c.child = append(c.child, theirs)
	c.pipes = append(c.pipes, f)
	return f
}
