package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo terminal with what was written to it.
type terminal struct {
	t     *testing.T
	keys  *os.File // the side of the user
	line  *os.File // the side of programs
	modes unix.Termios
	read  chan struct{}

	mu struct {
		sync.Mutex
		b bytes.Buffer
	}
}

func openTerminal(t *testing.T, columns, rows uint16) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	keys := os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, keys: keys, line: line, read: make(chan struct{})}
	x.resize(columns, rows)
	x.modes = x.now()
	go func() {
		defer close(x.read)
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			x.mu.Lock()
			x.mu.b.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		line.Close()
		keys.Close()
		<-x.read
	})
	return x
}

func (x *terminal) resize(columns, rows uint16) {
	x.t.Helper()
	if err := unix.IoctlSetWinsize(int(x.line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		x.t.Fatal(err)
	}
}

// now returns the terminal's modes.
func (x *terminal) now() unix.Termios {
	x.t.Helper()
	modes, err := unix.IoctlGetTermios(int(x.line.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *modes
}

// sees waits until a text was written, and forgets what was before it.
func (x *terminal) sees(want string) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		x.mu.Lock()
		all := x.mu.b.String()
		if at := strings.Index(all, want); at >= 0 {
			x.mu.b.Next(at + len(want))
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
		if time.Now().After(deadline) {
			x.t.Fatalf("want %q written to the terminal, got %q", want, all)
		}
	}
}

func (x *terminal) types(s string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// start starts a command on the terminal.
func (x *terminal) start(bin string, args ...string) *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.line, x.line, x.line
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return cmd
}

// leaves fails the test unless the command ends well and the terminal is as it was before.
func (x *terminal) leaves(cmd *exec.Cmd) {
	x.t.Helper()
	if err := cmd.Wait(); err != nil {
		x.t.Errorf("vtdump top: %v", err)
	}
	x.sees("\x1b[?1049l") // the screen of before
	if got := x.now(); got != x.modes {
		x.t.Errorf("modes of the terminal: got %+v, want %+v", got, x.modes)
	}
}

func TestTopOnATerminalLeavesItAsItWas(t *testing.T) {
	path := recorded(t).Path
	bin := build(t)
	for _, c := range []struct {
		name string
		quit func(x *terminal, cmd *exec.Cmd)
	}{
		{"q", func(x *terminal, _ *exec.Cmd) { x.types("q") }},
		{"Ctrl-C", func(x *terminal, _ *exec.Cmd) { x.types("\x03") }},
		{"SIGTERM", func(_ *terminal, cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }},
		{"SIGHUP", func(_ *terminal, cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGHUP) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := openTerminal(t, 100, 24)
			cmd := x.start(bin, "top", path, "--every", "10ms")
			x.sees("\x1b[?1049h") // a screen of its own
			x.sees("1,000 threads in 3 scopes")
			if x.now() == x.modes {
				t.Error("keys are not read one by one")
			}
			x.types("j\r")
			x.sees("Esc back")
			x.types("\x1b?")
			x.sees("any key: back")
			x.types("x")
			x.resize(70, 12)
			x.sees("1,000 threads in 3 scopes") // drawn anew
			c.quit(x, cmd)
			x.leaves(cmd)
		})
	}
}

func TestWatchOnATerminalPrintsInPlace(t *testing.T) {
	path := recorded(t).Path
	x := openTerminal(t, 60, 10)
	cmd := x.start(build(t), path, "--watch=10ms")
	x.sees(eraseScreen + cursorHome)
	x.sees("more lines do not fit")
	x.sees(eraseBelow + cursorHome) // again
	x.types("\x03")
	if err := cmd.Wait(); err != nil {
		t.Errorf("vtdump --watch: %v", err)
	}
}
