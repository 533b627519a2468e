package memory

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A tracer stops OS threads of a process and lets them go on. The kernel wants all of that from one OS thread, which the tracer has for itself. Nothing is
// written into the process, and when we are killed the kernel lets it go on.
type tracer struct {
	pid     int
	stopped map[int]syscall.Signal // OS threads, and the signal that each was about to get, which it gets later
	calls   chan func()

	stops int           // how many OS threads were stopped so far, one at a time
	spent time.Duration // the time for which they were, in sum
}

const (
	ptraceSeize     = 0x4206
	ptraceInterrupt = 0x4207
	ptraceDetach    = 17
	waitAll         = 0x40000000 // __WALL: also for threads that are no children

	stopPatience = 5 * time.Second // for an OS thread that does not stop, since it is deep in the kernel
)

func newTracer(pid int) *tracer {
	t := &tracer{pid: pid, stopped: map[int]syscall.Signal{}, calls: make(chan func())}
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		for f := range t.calls {
			f()
		}
	}()
	return t
}

// do calls f on the tracer's OS thread.
func (t *tracer) do(f func()) {
	done := make(chan struct{})
	t.calls <- func() { f(); close(done) }
	<-done
}

// close lets all go on, and ends the tracer.
func (t *tracer) close() {
	t.do(func() {
		for tid := range t.stopped {
			t.release(tid)
		}
	})
	close(t.calls)
}

// stopAll stops all OS threads of the process.
func (t *tracer) stopAll() (err error) {
	t.do(func() {
		for more := true; more && err == nil; { // until there are no new ones
			more = false
			tasks, readErr := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.pid))
			if err = readErr; err != nil {
				break
			}
			var begun []int
			for _, task := range tasks {
				tid, _ := strconv.Atoi(task.Name())
				if _, known := t.stopped[tid]; known {
					continue
				}
				if err = t.seize(tid); errors.Is(err, syscall.ESRCH) {
					err = nil
					continue
				} else if err != nil {
					break
				}
				begun, more = append(begun, tid), true
			}
			for _, tid := range begun {
				if waitErr := t.await(tid); waitErr != nil {
					err = errors.Join(err, waitErr)
				}
			}
		}
		if err != nil {
			for tid := range t.stopped {
				t.release(tid)
			}
		}
	})
	return err
}

// hold stops one OS thread.
func (t *tracer) hold(tid int) (r registers, release func(), ok bool) {
	var began time.Time
	t.do(func() {
		if _, known := t.stopped[tid]; known {
			return
		}
		began = time.Now()
		if t.seize(tid) != nil || t.await(tid) != nil {
			return
		}
		if r, ok = readRegisters(tid); !ok {
			t.release(tid)
		}
	})
	return r, func() {
		t.do(func() {
			t.release(tid)
			t.stops++
			t.spent += time.Since(began)
		})
	}, ok
}

// held returns the registers of an OS thread that is stopped already.
func (t *tracer) held(tid int) (r registers, release func(), ok bool) {
	t.do(func() {
		if _, ok = t.stopped[tid]; ok {
			r, ok = readRegisters(tid)
		}
	})
	return r, func() {}, ok
}

// seize asks an OS thread to stop.
func (t *tracer) seize(tid int) error {
	if err := ptrace(ptraceSeize, tid, 0); err != nil {
		return err
	}
	return ptrace(ptraceInterrupt, tid, 0)
}

// await waits until an OS thread that was asked to stop does. It may be about to get a signal, which it must get when it goes on.
func (t *tracer) await(tid int) error {
	for deadline := time.Now().Add(stopPatience); ; {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(tid, &status, waitAll|syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD, err == nil && got == tid && (status.Exited() || status.Signaled()):
			return nil // it has ended
		case err != nil:
			return err
		case got == tid && status.Stopped():
			t.stopped[tid] = 0
			if uint32(status)>>16 == 0 {
				t.stopped[tid] = status.StopSignal()
			}
			return nil
		}
		if time.Now().After(deadline) {
			// It is left traced: it goes on by itself when the tracer's thread is gone.
			return fmt.Errorf("OS thread %d did not stop within %v", tid, stopPatience)
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// release lets an OS thread go on, with the signal that it was about to get.
func (t *tracer) release(tid int) {
	signal := t.stopped[tid]
	delete(t.stopped, tid)
	_ = ptrace(ptraceDetach, tid, uintptr(signal)) // it has ended
}

func ptrace(request, tid int, data uintptr) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), 0, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// readRegisters asks for the registers by the kernel's name of the set: NT_PRSTATUS.
func readRegisters(tid int) (r registers, ok bool) {
	const (
		getRegisterSet = 0x4204
		general        = 1
	)
	var words [34]uint64
	part := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&words)), Len: uint64(unsafe.Sizeof(words))}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, getRegisterSet, uintptr(tid), general, uintptr(unsafe.Pointer(&part)), 0, 0); errno != 0 {
		return r, false
	}
	switch runtime.GOARCH {
	case "amd64":
		return registers{pc: words[16], sp: words[19], bp: words[4]}, true
	case "arm64":
		return registers{pc: words[32], sp: words[31], bp: words[29], lr: words[30], arm: true}, true
	}
	return r, false
}

// Cost says in a sentence how the process was disturbed until [Source.Close]; "" if it was not.
func (s *Source) Cost() string {
	p, ok := s.space.(*process)
	switch {
	case !ok || p.cost == nil:
		return ""
	case !p.began.IsZero():
		return fmt.Sprintf("process %d was stopped for %v", p.pid, p.ended.Sub(p.began).Round(10*time.Microsecond))
	}
	return fmt.Sprintf("process %d went on; one of its OS threads at a time was stopped %d times, for %v in all", p.pid, p.cost.stops, p.cost.spent.Round(time.Microsecond))
}

// traceable makes the error of a process that may not be stopped.
func (p *process) traceable(err error) error {
	if by, _ := procfs.Status(p.pid, "TracerPid"); len(by) > 0 && by[0] != 0 && errors.Is(err, syscall.EPERM) {
		return &Denied{
			Err: fmt.Errorf("memory: stop process %d: process %d traces it already: %w", p.pid, by[0], flight.ErrPermission),
			Try: "without stopping it: its memory can be read beside a debugger",
		}
	}
	return p.failed("stop it", err)
}
