package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say how a process is looked at. A child that somebody in this process waits for must not be stopped: the kernel tells its parent of that, too.
type Options struct {
	// Stop stops all threads of the process from [Attach] to [Source.Close], so that all that is seen is of one moment.
	Stop bool
	// Mounted stops OS threads that execute a thread, one at a time and for some microseconds, to see what it executes.
	Mounted bool
}

// Attach opens the memory of a process that has a recorder. Errors match [flight.ErrNoProcess], [flight.ErrNotVtscope], [flight.ErrFormat] or, as a
// [Denied], [flight.ErrPermission].
func Attach(pid int, o Options) (*Source, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, err
	}
	src, err := attach(p, o)
	if err != nil {
		p.close()
	}
	return src, err
}

// Beside returns a source of what the flight file of a live process has, and of what threads on goroutines wait for in operations of Go's own, which is in its memory.
// Errors are those of [Attach], or say why goroutines cannot be read. The source has r from then on: its Close closes r.
func Beside(r *flight.Reader) (*Source, error) {
	p, err := openProcess(r.Process().PID)
	if err != nil {
		return nil, err
	}
	src := open(p, r)
	if src.walker == nil {
		p.close()
		return nil, errors.New(src.missing[0])
	}
	src.walker.onGoroutines = true
	return src, nil
}

func attach(p *process, o Options) (*Source, error) {
	// What takes long is done before anything is stopped.
	g, err := findRegistry(p)
	if err != nil {
		if alive, _ := p.Alive(); !alive {
			err = flight.ErrNoProcess
		}
		return nil, fmt.Errorf("memory: read process %d: %w", p.pid, err)
	}
	r, err := flight.OpenMemory(fmt.Sprintf("memory of process %d", p.pid), p, g, p.pid)
	if err != nil {
		return nil, err
	}
	src := open(p, r)
	if !o.Stop && !o.Mounted {
		return src, nil
	}
	src.held = "mounted"
	if o.Stop {
		src.held = "stopped"
	}
	t := newTracer(p.pid)
	p.tracer, p.cost = t, t
	hold := t.hold
	if o.Stop {
		p.began = time.Now()
		if err := t.stopAll(); err != nil {
			return nil, p.traceable(err)
		}
		hold = t.held
	}
	if src.walker != nil {
		src.walker.stopped = o.Stop
		src.walker.mounted = src.walker.executing(hold)
	}
	return src, nil
}

// AttachGo opens the memory of a process of any Go program, for its goroutines. The process is not stopped. Errors match [flight.ErrNoProcess], [ErrNotGo] or, as a
// [Denied], [flight.ErrPermission].
func AttachGo(pid int, o GoroutineOptions) (*Goroutines, error) {
	p, err := openProcess(pid)
	if errors.Is(err, flight.ErrNotVtscope) { // it is one of the kernel's, or was just started
		return nil, fmt.Errorf("memory: read process %d: it has no executable: %w", pid, ErrNotGo)
	}
	if err != nil {
		return nil, err
	}
	src, err := newGoroutines(p, o)
	if err != nil {
		alive, _ := p.Alive()
		p.close()
		if !alive {
			err = flight.ErrNoProcess
		}
		return nil, fmt.Errorf("memory: read process %d: %w", pid, err)
	}
	src.alive = func() bool { alive, _ := p.Alive(); return alive }
	src.clock = monotonic
	src.status = func() flight.Status {
		if st, err := procfs.ReadStat(pid); err == nil && (st.State == 'T' || st.State == 't') {
			return flight.StatusStopped
		}
		return flight.StatusRunning
	}
	src.process.PID = pid
	src.process.Exe, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	src.process.Program = filepath.Base(strings.TrimSuffix(src.process.Exe, " (deleted)"))
	if uids, err := procfs.UIDs(pid); err == nil && len(uids) > 0 {
		src.process.UID = uids[0]
	}
	src.process.Start = startedAt(p.start)
	return src, nil
}

// monotonic returns the time of the clock that Go programs use.
func monotonic() (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano()), err == nil
}

// startedAt returns when a process was started, of which /proc has ticks since the machine was.
func startedAt(ticks uint64) time.Time {
	const perSecond = 100
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(ticks)*(time.Second/perSecond) - time.Duration(t.Nano()))
}
