package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

type options struct {
	stoppers  int
	gap, most time.Duration
	stopped   func() // is told of each stop; nil: nobody is
}

func main() {
	var o options
	flag.IntVar(&o.stoppers, "n", 2, "how many threads are stopped at a time, at most")
	flag.DurationVar(&o.gap, "gap", 2*time.Millisecond, "mean time between two stops")
	flag.DurationVar(&o.most, "most", 60*time.Millisecond, "longest stop; most are far shorter")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: stall [-n N] [-gap TIME] [-most TIME] PROGRAM [ARGUMENT ...]")
		os.Exit(2)
	}
	code, err := run(o, flag.Args(), os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stall:", err)
	}
	os.Exit(code)
}

// run runs a program to its end, and returns its exit code.
func run(o options, words []string, out, errs io.Writer) (code int, err error) {
	runtime.LockOSThread() // the program dies with the thread that started it
	defer runtime.UnlockOSThread()
	c := exec.Command(words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, out, errs
	c.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := c.Start(); err != nil {
		return 2, err
	}
	done := make(chan struct{})
	all := make([]stopper, o.stoppers)
	var stoppers sync.WaitGroup
	for i := range all {
		all[i] = stopper{options: o, pid: c.Process.Pid, threads: map[int]bool{}}
		stoppers.Go(func() { all[i].run(done) })
	}
	err = c.Wait()
	close(done)
	stoppers.Wait()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code, err = ended.ExitCode(), nil
		if code < 0 {
			code, err = 1, ended // a signal
		}
	}
	stops, threads := 0, map[int]bool{}
	for i := range all {
		stops += all[i].stops
		for tid := range all[i].threads {
			threads[tid] = true
		}
		err = errors.Join(err, all[i].refused)
	}
	if err != nil && code == 0 {
		code = 1
	}
	fmt.Fprintf(errs, "stall: %d stops of %d threads\n", stops, len(threads))
	return code, err
}

// A stopper stops one thread at a time.
type stopper struct {
	options
	pid     int
	stops   int
	threads map[int]bool // that it has stopped
	refused error        // we may not stop threads
}

func (s *stopper) run(done chan struct{}) {
	runtime.LockOSThread() // and the thread ends with the goroutine: it may still be somebody's tracer
	for s.refused == nil {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(rand.ExpFloat64() * float64(s.gap))):
			// Not the first thread: that it is stopped is taken for the process's having stopped.
			if tid := s.choose(); tid != 0 && tid != s.pid {
				s.stop(tid)
			}
		}
	}
}

// choose returns a thread, one that has a processor if a few tries find one; 0 if there is none.
func (s *stopper) choose() (tid int) {
	tasks := fmt.Sprintf("/proc/%d/task", s.pid)
	for range 4 {
		entries, err := os.ReadDir(tasks)
		if err != nil || len(entries) == 0 {
			return 0
		}
		name := entries[rand.IntN(len(entries))].Name()
		tid, _ = strconv.Atoi(name)
		stat, _ := os.ReadFile(filepath.Join(tasks, name, "stat"))
		if _, state, ok := bytes.Cut(stat, []byte(") ")); ok && bytes.HasPrefix(state, []byte("R")) {
			break
		}
	}
	return tid
}

// stop stops a thread for a while, and lets it go on with what it was about to get.
func (s *stopper) stop(tid int) {
	switch err := unix.PtraceSeize(tid); {
	case err == unix.EPERM && s.stops == 0 && alive(tid):
		s.refused = fmt.Errorf("stop thread %d: %w", tid, err)
		return
	case err != nil:
		return // it has ended, or another stopper has it
	}
	var status unix.WaitStatus
	wait := func() error {
		for {
			if _, err := unix.Wait4(tid, &status, unix.WALL, nil); err != unix.EINTR {
				return err
			}
		}
	}
	if unix.PtraceInterrupt(tid) != nil || wait() != nil || !status.Stopped() {
		return // it has ended
	}
	s.stops++
	s.threads[tid] = true
	if s.stopped != nil {
		s.stopped()
	}
	long := time.Duration(rand.ExpFloat64() * float64(s.most) / 8)
	if rand.IntN(10) == 0 {
		long = s.most / 2
	}
	time.Sleep(min(long, s.most))
	signal := unix.Signal(0)
	if status>>16 == 0 { // it stopped for a signal of its own, not for us
		signal = status.StopSignal()
	}
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(signal), 0, 0); errno != 0 {
		_ = wait() // it has been killed meanwhile
	}
}

// alive reports whether a thread can still be stopped: EPERM is also for those that are ending, and for another stopper's.
func alive(tid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	return err == nil && bytes.Contains(status, []byte("TracerPid:\t0\n")) && !bytes.Contains(status, []byte("State:\tZ")) && !bytes.Contains(status, []byte("State:\tX"))
}
