package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience is how long the shop may take to close before it is killed; after a minute it ends by itself.
const patience = 70 * time.Second

// A demo is the shop as a child process. Its standard input is a pipe that only vtserve holds: when vtserve
// dies, even by SIGKILL, the kernel closes the pipe, and the shop ends.
type demo struct {
	command  *exec.Cmd
	lifeline io.Closer
	ended    chan struct{} // closed when it has ended
}

// startDemo starts the shop. If it ends while ctx lives, nobody asked it to, and stderr is told.
func startDemo(ctx context.Context, s *settings, stdout, stderr io.Writer) (*demo, error) {
	path, err := shopPath(s.shop)
	if err != nil {
		return nil, err
	}
	c := exec.Command(path, "--exit-with-stdin", "--threads", strconv.Itoa(s.threads))
	c.Stdout, c.Stderr = stdout, stderr
	// The demo is there to be seen, whatever the user's own programs are told.
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "VTSCOPE=") })
	lifeline, err := c.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the shop: %w", err)
	}
	if err := c.Start(); err != nil {
		return nil, hint{fmt.Errorf("start the shop: %w", err), "make build, or --shop FILE"}
	}
	d := &demo{command: c, lifeline: lifeline, ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		c.Wait() // how it ended is in ProcessState
		if ctx.Err() == nil {
			fmt.Fprintf(stderr, "vtserve: the shop (pid %d) ended: %v; the page shows its last state\n", d.pid(), c.ProcessState)
		}
	}()
	return d, nil
}

// shopPath finds the shop's program beside vtserve's own.
func shopPath(given string) (string, error) {
	path := given
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", hint{fmt.Errorf("find the shop: %w", err), "--shop FILE"}
		}
		path = filepath.Join(filepath.Dir(self), "shop"+filepath.Ext(self))
	}
	if _, err := os.Stat(path); err != nil {
		return "", hint{fmt.Errorf("find the shop: %w", err), "make build, or --shop FILE"}
	}
	return path, nil
}

func (d *demo) pid() int { return d.command.Process.Pid }

// stop ends the shop and waits for it.
func (d *demo) stop() error {
	d.lifeline.Close()
	select {
	case <-d.ended:
		return nil
	case <-time.After(patience):
	}
	err := fmt.Errorf("the shop (pid %d) did not end within %v, and is killed", d.pid(), patience)
	if kill := d.command.Process.Kill(); kill != nil && !errors.Is(kill, os.ErrProcessDone) {
		err = errors.Join(err, kill)
	}
	<-d.ended
	return err
}

func demoText(address string, pid, threads int) string {
	return fmt.Sprintf(`
The shop, a small web shop made of virtual threads, starts as pid %d with about %s threads.
  Open %s in a browser. In another terminal, try:

    vtdump %d                   its threads, grouped by scope and stack
    vtdump --format folded %d   folded stacks, for a flame graph
    kill -STOP %d               the page says STOPPED, and vtdump works still; -CONT lets it run on
    kill -KILL %d               the page shows the shop's last state

  Ctrl-C ends vtserve and the shop.

`, pid, grouped(threads), address, pid, pid, pid, pid)
}

// grouped writes 100,000.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
