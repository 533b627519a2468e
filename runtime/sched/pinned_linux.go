package sched

import (
	"math/bits"
	"runtime"
	"syscall"
	"unsafe"
)

// A cpuSet has a bit for each CPU, in the kernel's order. There is room for more than a kernel can be built for.
type cpuSet [16384 / bits.UintSize]uint

// usableCPUs returns the CPUs that the process may use.
func usableCPUs() ([]int, error) {
	type answer struct {
		cpus []int
		err  error
	}
	answered := make(chan answer)
	go func() { // the caller's OS thread may be bound to a CPU: new OS threads are not made by such
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var set cpuSet
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
		if errno != 0 {
			answered <- answer{err: errno}
			return
		}
		var cpus []int
		for i, word := range set {
			for ; word != 0; word &= word - 1 {
				cpus = append(cpus, i*bits.UintSize+bits.TrailingZeros(word))
			}
		}
		answered <- answer{cpus: cpus}
	}()
	a := <-answered
	return a.cpus, a.err
}

// bindToCPU lets the calling OS thread execute on that CPU alone.
func bindToCPU(cpu int) error {
	var set cpuSet
	set[cpu/bits.UintSize] = 1 << (cpu % bits.UintSize)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set))); errno != 0 {
		return errno
	}
	return nil
}
