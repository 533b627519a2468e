package flight

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/vtscope/vtscope/internal/procfs"
)

// What a start leaves of dead processes' files.
const (
	sweepKeep      = 8
	sweepKeepBytes = 256 << 20
)

// sweepDir removes flight files of dead processes beside the recorder's own: the newest stay, up to
// a count and a size; of their control sockets none stays. Only regular files and sockets of this user
// whose lock is free are touched.
func (r *Recorder) sweepDir() {
	if r.path == "" {
		return
	}
	dir, self := filepath.Split(r.path)
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what was read before an error will do
	type dead struct {
		name  string
		mtime int64
		bytes int64
	}
	var files []dead
	for _, name := range names {
		sweepSocket(d, name)
		if _, _, ok := parseFileName(name); !ok || name == self {
			continue
		}
		if st, ok := deadFile(d, name); ok {
			files = append(files, dead{name, st.Mtim.Nano(), st.Blocks * 512})
		}
	}
	slices.SortFunc(files, func(a, b dead) int { return int(min(max(b.mtime-a.mtime, -1), 1)) })
	var bytes int64
	for i, f := range files {
		bytes += f.bytes
		if i < sweepKeep && bytes <= sweepKeepBytes {
			continue
		}
		_ = unlinkat(int(d.Fd()), f.name) // another start may have been faster
	}
}

// deadFile reports whether name is a flight file whose process is gone.
func deadFile(d *os.File, name string) (st syscall.Stat_t, dead bool) {
	fd, err := openat(int(d.Fd()), name, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return st, false
	}
	defer syscall.Close(fd)
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != os.Geteuid() {
		return st, false
	}
	held, known := lockHeld(fd)
	if known {
		// A process that has just made its file and not locked it yet is alive all the same.
		return st, !held && !namesLiveProcess(name)
	}
	return st, !namesLiveProcess(name)
}

// lockHeld asks whether the process that writes the file lives. It takes no lock.
func lockHeld(fd int) (held, known bool) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: 0, Start: 0, Len: 1}
	if err := syscall.FcntlFlock(uintptr(fd), ofdGetLock, &lock); err != nil {
		return false, false
	}
	return lock.Type != syscall.F_UNLCK, true
}

// namesLiveProcess reports whether the process in a file's name lives, as seen from our namespace.
func namesLiveProcess(name string) bool {
	pid, start, ok := parseFileName(name)
	if !ok {
		return false
	}
	st, err := procfs.ReadStat(pid)
	return err == nil && st.Start == start && !st.Ended()
}

// parseFileName splits PID-STARTTIME.flight or PID-STARTTIME-N.flight.
func parseFileName(name string) (pid int, start uint64, ok bool) {
	base, found := strings.CutSuffix(name, fileSuffix)
	parts := strings.Split(base, "-")
	if !found || len(parts) < 2 || len(parts) > 3 {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	start, err = strconv.ParseUint(parts[1], 10, 64)
	return pid, start, err == nil
}
