package sched_test

import (
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// affinity returns the first words of the CPU set of the calling OS thread.
func affinity(t *testing.T) (set [16]uint64) {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		t.Error(errno)
	}
	return set
}

func TestThreadsOfAPinnedKeepTheirOSThreadAndCPU(t *testing.T) {
	if !coro.Binds {
		t.Skip("threads are not bound to OS threads in this build")
	}
	usable := affinity(t)
	cpus := 0
	for _, word := range usable {
		for ; word != 0; word &= word - 1 {
			cpus++
		}
	}
	for _, anyCPU := range []bool{false, true} {
		const carriers = 3
		b := vthread.Builder{Scheduler: newPinned(t, sched.PinnedOptions{Carriers: carriers, AnyCPU: anyCPU})}
		osThreads := make([]map[int]bool, carriers) // of the threads of each carrier
		for i := range osThreads {
			osThreads[i] = map[int]bool{}
		}
		var threads []*vthread.Thread
		for i := range 4 * carriers {
			threads = append(threads, b.Start(func() {
				for range 10 {
					osThreads[i%carriers][syscall.Gettid()] = true // no lock: they share a carrier
					set := affinity(t)
					n := 0
					for _, word := range set {
						for ; word != 0; word &= word - 1 {
							n++
						}
					}
					want := 1
					if anyCPU {
						want = cpus
					}
					if n != want {
						t.Errorf("any CPU %v: bound to %d CPUs, want %d", anyCPU, n, want)
					}
					vthread.Sleep(10 * time.Microsecond)
				}
			}))
		}
		for _, th := range threads {
			returns(t, "a thread", th.Join)
		}
		all := map[int]bool{}
		for i, ids := range osThreads {
			if len(ids) != 1 {
				t.Errorf("threads of carrier %d executed on %d OS threads, want 1", i, len(ids))
			}
			for id := range ids {
				all[id] = true
			}
		}
		if len(all) != carriers {
			t.Errorf("%d OS threads for %d carriers", len(all), carriers)
		}
	}
}

func TestOSThreadsOfAPinnedEndWithIt(t *testing.T) {
	if !coro.Binds {
		t.Skip("threads are not bound to OS threads in this build")
	}
	p, err := sched.NewPinned(sched.PinnedOptions{Carriers: 1})
	if err != nil {
		t.Fatal(err)
	}
	id := 0
	vthread.Builder{Scheduler: p}.Start(func() { id = syscall.Gettid() }).Join()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if id == syscall.Getpid() {
		t.Skip("it was the main thread, which never ends")
	}
	await(t, "the end of the OS thread", func() bool { return syscall.Tgkill(syscall.Getpid(), id, 0) == syscall.ESRCH })
}
