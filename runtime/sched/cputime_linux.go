package sched

import (
	"syscall"
	"unsafe"
)

// clockThreadCPU is CLOCK_THREAD_CPUTIME_ID.
const clockThreadCPU = 3

// clockProcessCPU is CLOCK_PROCESS_CPUTIME_ID.
const clockProcessCPU = 2

func markCPU() cpuMark {
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	return mark(clockThreadCPU, int(tid))
}

// markCPUOf measures another OS thread, 0 for none.
func markCPUOf(tid int) cpuMark {
	if tid <= 0 {
		return cpuMark{}
	}
	const ofThread, scheduled = 4, 2 // as the C library makes the clock of a thread
	return mark(uintptr(int(int32(^tid<<3|ofThread|scheduled))), tid)
}

// markProcess measures all OS threads of the process together.
func markProcess() cpuMark { return mark(clockProcessCPU, 1) }

func mark(clock uintptr, tid int) cpuMark {
	var ts syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		return cpuMark{}
	}
	return cpuMark{tid, ts.Nano()}
}
