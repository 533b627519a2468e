package flight

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/vtscope/vtscope/internal/procfs"
)

const (
	sysPidfdOpen = 434 // on all architectures

	pidfdGetInfo   = 3<<30 | pidfdInfoSize<<16 | 0xff<<8 | 11 // an ioctl, since Linux 6.13
	pidfdInfoSize  = 64
	pidfdInfoExit  = 1 << 3 // since Linux 6.15
	pidfdExitField = 60
)

// processHandle returns a pidfd, or nil.
func processHandle(pid int, startTime uint64) *os.File {
	fd, _, e := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if e != 0 {
		return nil
	}
	f := os.NewFile(fd, "pidfd")
	if st, err := procfs.ReadStat(pid); err != nil || st.Start != startTime {
		f.Close()
		return nil
	}
	return f
}

// isExiting reports whether the kernel is ending a process. A process that lives while its flight file is
// unlocked is not: it executes another program by now, or the file is a copy.
func isExiting(pid int, startTime uint64) bool {
	st, err := procfs.ReadStat(pid)
	return pid > 0 && err == nil && st.Start == startTime && st.Exiting && !st.Ended()
}

// exitStatus returns the status of a process that is gone, as wait gives it to its parent: the kernel keeps it for those that have a handle, and while its
// parent has not waited for it, for those who may ask.
func exitStatus(handle *os.File, pid int, startTime uint64) (status uint32, ok bool) {
	if handle != nil {
		var info [pidfdInfoSize]byte
		binary.NativeEndian.PutUint64(info[:], pidfdInfoExit)
		_, _, e := syscall.RawSyscall(syscall.SYS_IOCTL, handle.Fd(), pidfdGetInfo, uintptr(unsafe.Pointer(&info)))
		if e == 0 && binary.NativeEndian.Uint64(info[:])&pidfdInfoExit != 0 {
			return binary.NativeEndian.Uint32(info[pidfdExitField:]), true
		}
	}
	if pid <= 0 {
		return 0, false
	}
	var owner syscall.Stat_t
	proc := "/proc/" + strconv.Itoa(pid)
	st, err := procfs.ReadStat(pid)
	if err != nil || st.Start != startTime || st.State != 'Z' || !st.ExitKnown {
		return 0, false
	}
	// To others the kernel says 0.
	if syscall.Stat(proc, &owner) != nil || os.Geteuid() != 0 && int(owner.Uid) != os.Geteuid() {
		return 0, false
	}
	return st.Exit, true
}
