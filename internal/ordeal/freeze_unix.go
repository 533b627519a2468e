//go:build unix

package ordeal

import (
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Freeze stops a process for a while, and lets it go on; sooner if in ends. It is for a process of its own, so that the frozen one goes on, and sees that it is to end, even
// when those who wanted it frozen are gone.
func Freeze(pid int, d time.Duration, in io.Reader) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(d):
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}

// quit makes a process print where its goroutines are.
func (p *Process) quit() {
	_ = p.command.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
}

// FreezeOne stops a worker for as long as told, while the others go on. command is that of a process that calls [Freeze].
func FreezeOne(weight int, d time.Duration, command func(pid int, d time.Duration) *exec.Cmd) Act {
	return Act{"freeze", weight, func(s *Storm) error {
		return s.Some(1)[0].process.Freeze(d, command)
	}}
}

// Freeze stops the process for as long as told.
func (p *Process) Freeze(d time.Duration, command func(pid int, d time.Duration) *exec.Cmd) error {
	f, err := Begin("freezer", command(p.PID(), d))
	if err != nil {
		return err
	}
	<-f.ended
	f.wanted = true
	if !f.command.ProcessState.Success() {
		return f.died()
	}
	return nil
}
