package flight

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// An Ending is what is known of how a process ended that is gone and did not close its recorder. The zero value stands for nothing: neither the file nor the
// system keeps that a process has returned from main, or was killed, for those that come later.
type Ending struct {
	Known  bool // the kernel has said Code or Signal, to a reader that was there before, or is the process's own parent that has not waited for it yet
	Code   int  // exit status
	Signal syscall.Signal
	Panic  ThreadID // whose panic, which nobody handled, is among the last events; 0: none is
}

// Died reports whether there is evidence that the process did not end by itself: a signal, a panic, or an exit status that is not 0.
func (e Ending) Died() bool { return e.Signal != 0 || e.Panic != 0 || e.Code != 0 }

// String returns the evidence in words, or "" if there is none.
func (e Ending) String() string {
	s := ""
	switch {
	case e.Signal != 0:
		s = "signal: " + e.Signal.String()
	case e.Known:
		s = fmt.Sprintf("exit status %d", e.Code)
	}
	if e.Panic != 0 {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf("thread #%d panicked", e.Panic)
	}
	return s
}

// panicBefore is how long before the last sign of life a panic was that ended the process.
const panicBefore = 5 * time.Second

// lastEvents is how many events of each ring are searched for what ended the process.
const lastEvents = 256

// dyingFor is how long a reader waits, once, for the exit status of a process that the kernel is ending.
const dyingFor = 250 * time.Millisecond

// An exitWatch is what a reader has in hand to learn how its process ends. Its methods may be called from any goroutine.
type exitWatch struct {
	mu     sync.Mutex
	opened bool
	handle *os.File // of the process; nil: none
	read   bool     // the last events
	ending Ending
}

// begin takes a handle of the process, which lives.
func (w *exitWatch) begin(pid int, startTime uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.opened && pid > 0 && pid != os.Getpid() {
		w.opened, w.handle = true, processHandle(pid, startTime)
	}
}

func (w *exitWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened = true; w.handle != nil {
		w.handle.Close()
		w.handle = nil
	}
}

// ending returns what is known of the end of the process, which is gone. last is its last sign of life.
func (r *Reader) ending(pid int, startTime uint64, last Ticks) Ending {
	w := &r.exit
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ending.Known {
		status, ok := exitStatus(w.handle, pid, startTime)
		for deadline := time.Now().Add(dyingFor); !ok && !w.read; {
			ends := time.Now().Before(deadline) && isExiting(pid, startTime) // it has closed its files, and ends in a moment
			if ends {
				time.Sleep(time.Millisecond)
			}
			if status, ok = exitStatus(w.handle, pid, startTime); !ends {
				break
			}
		}
		if ok {
			w.ending.Known = true
			if s := syscall.Signal(status & 0x7f); s != 0 {
				w.ending.Signal = s
			} else {
				w.ending.Code = int(status >> 8 & 0xff)
			}
		}
	}
	if !w.read {
		w.read = true
		w.ending.Panic = r.lastPanic(last)
	}
	return w.ending
}

func (r *Reader) lastPanic(last Ticks) ThreadID {
	rings, _ := r.Rings() // what can be read will do
	for i := range rings {
		g := &rings[i]
		if g.Counts[EventThreadEnd] == 0 {
			continue
		}
		events, _, _, err := r.Events(g.Index, g.Head-min(g.Head, g.Size, lastEvents), lastEvents)
		if err != nil {
			continue
		}
		for _, e := range events {
			if e.Kind == EventThreadEnd && e.Code == ReasonPanic && r.Between(e.Time, last) < panicBefore {
				return e.Thread
			}
		}
	}
	return 0
}
