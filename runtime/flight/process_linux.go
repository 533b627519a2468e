package flight

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/internal/procfs"
)

const (
	openNonblock = syscall.O_NONBLOCK // a fifo must not make a reader wait
	openNoFollow = syscall.O_NOFOLLOW
)

func (s fileSource) alive() (alive, known bool) { return lockHeld(int(s.file.Fd())) }

// processStatus asks the process table. pid 0 is unknown.
func processStatus(pid int, startTime uint64) Status {
	if pid <= 0 {
		return StatusUnknown
	}
	st, err := procfs.ReadStat(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH):
		return StatusGone
	case err != nil:
		return StatusUnknown
	case st.Start != startTime || st.Ended():
		return StatusGone
	case st.State == 'T' || st.State == 't':
		return StatusStopped
	}
	return StatusRunning
}

// List returns the recorded processes whose flight files lie in dirs, newest first; without dirs,
// in the process's default directory (for root: in those of all users). Files that cannot be read
// come back as errors that name them. A directory that does not exist is empty.
func List(dirs ...string) ([]Process, []error) {
	if len(dirs) == 0 {
		dirs = []string{defaultDir()}
		if os.Geteuid() == 0 && os.Getenv("VTSCOPE_DIR") == "" {
			dirs, _ = filepath.Glob(filepath.Join(sharedMemDir, filePrefix+"*")) // the pattern is good
		}
	}
	var (
		found []Process
		errs  []error
	)
	for _, dir := range dirs {
		names, err := flightFiles(dir)
		if err != nil {
			errs = append(errs, err)
		}
		for _, name := range names {
			r, err := openReader(filepath.Join(dir, name), openNoFollow)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrFormat) && isYoung(filepath.Join(dir, name)) {
				continue // it has just ended, or is about to begin
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			found = append(found, r.Process())
			r.Close()
		}
	}
	slices.SortStableFunc(found, func(a, b Process) int { return b.Start.Compare(a.Start) })
	return found, errs
}

// isYoung reports whether a file was written to within the last seconds: its process may not have written the header yet.
func isYoung(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) < 5*time.Second
}

// flightFiles returns the names of dir that look like those of flight files.
func flightFiles(dir string) ([]string, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|openNoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = ErrPermission
		}
		return nil, fmt.Errorf("flight: list %s: %w", dir, err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		err = fmt.Errorf("flight: list %s: %w", dir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, _, ok := parseFileName(name); return !ok })
	slices.Sort(names)
	return names, err
}

// OpenPID opens the flight file of a process, also of one that is gone, and of one in another mount
// namespace. Errors match [ErrNoProcess], [ErrNotVtscope], [ErrPermission] or [ErrFormat].
func OpenPID(pid int) (*Reader, error) {
	st, err := procfs.ReadStat(pid)
	live := err == nil && pid > 0
	var firstErr error
	keep := func(err error) {
		if firstErr == nil && !errors.Is(err, fs.ErrNotExist) {
			firstErr = err
		}
	}
	for _, dir := range candidateDirs() {
		r, err := openIn(dir, pid, st.Start, live)
		if err != nil {
			keep(err)
		}
		if r != nil {
			return r, nil
		}
	}
	if !live {
		if firstErr != nil {
			return nil, firstErr
		}
		return nil, fmt.Errorf("flight: open process %d: %w", pid, ErrNoProcess)
	}
	mapped, mapsErr := mappedFiles(pid)
	for _, m := range mapped {
		r, err := openMapped(m, pid)
		if err != nil {
			keep(err)
			continue
		}
		r.pid = pid
		return r, nil
	}
	if mapsErr == nil && len(mapped) == 0 && errors.Is(firstErr, ErrPermission) {
		firstErr = nil // a directory of its user's cannot be read, but it has no file there
	}
	if firstErr != nil {
		return nil, firstErr
	}
	if errors.Is(mapsErr, fs.ErrPermission) {
		return nil, fmt.Errorf("flight: open process %d: %w", pid, ErrPermission)
	}
	return nil, fmt.Errorf("flight: open process %d: %w", pid, ErrNotVtscope)
}

// candidateDirs returns the directories where flight files of processes in our namespace are.
func candidateDirs() []string {
	dirs := []string{defaultDir()}
	more, _ := filepath.Glob(filepath.Join(sharedMemDir, filePrefix+"*")) // the pattern is good
	for _, d := range more {
		// Directories of tests and of other users may lie there too; only numbers are users.
		if _, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), filePrefix)); err == nil && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// openIn opens the newest file of process pid in dir: of the live process, if it lives.
func openIn(dir string, pid int, startTime uint64, live bool) (*Reader, error) {
	names, err := flightFiles(dir)
	if errors.Is(err, ErrPermission) && !ownedBy(dir, pid) {
		return nil, nil // somebody else's
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(names) // of recorders of one process, the last; of dead processes, the newest
	for _, name := range names {
		p, start, _ := parseFileName(name)
		if p != pid || live && start != startTime {
			continue
		}
		r, err := openReader(filepath.Join(dir, name), openNoFollow)
		if err != nil {
			return nil, err
		}
		if err := r.isOf(dir, p, start, live); err != nil {
			r.Close()
			return nil, err
		}
		r.mu.Lock()
		foreign := live && r.mu.header.PIDSpace != 0 && r.mu.header.PIDSpace != pidSpace(strconv.Itoa(pid)) && pidSpace(strconv.Itoa(pid)) != 0
		r.mu.Unlock()
		if foreign {
			r.Close()
			continue
		}
		return r, nil
	}
	return nil, nil
}

// isOf returns an error unless the file in a directory is that of the process that its name says. Any user may make a directory where the files of users are, and
// files in it with the names of processes of others: what counts is who owns the file.
func (r *Reader) isOf(dir string, pid int, startTime uint64, live bool) error {
	h := r.Header()
	if h.PID != pid || h.StartTime != startTime {
		return fmt.Errorf("flight: open %s: it is of process %d: %w", r.path, h.PID, ErrNotVtscope)
	}
	var file, of syscall.Stat_t
	if err := syscall.Fstat(int(r.src.(fileSource).file.Fd()), &file); err != nil {
		return fmt.Errorf("flight: open %s: %w", r.path, err)
	}
	if err := syscall.Lstat(dir, &of); err != nil || of.Uid != file.Uid {
		return fmt.Errorf("flight: open %s: it belongs to user %d, and its directory to user %d: %w", r.path, file.Uid, of.Uid, ErrNotVtscope)
	}
	if !live || file.Uid == 0 {
		return nil
	}
	// One that had more rights when it began may have fewer now.
	if uids, err := procfs.UIDs(pid); err == nil && !slices.Contains(uids, int(file.Uid)) {
		return fmt.Errorf("flight: open %s: it belongs to user %d, and process %d to user %d: %w", r.path, file.Uid, pid, uids[0], ErrNotVtscope)
	}
	return nil
}

// openMapped opens a file that a process has mapped. Its path leads through the process's root, where links may lead out of that and names may have changed since: what
// was opened must be what is mapped, and say that it is of that process.
func openMapped(m mappedFile, pid int) (*Reader, error) {
	r, err := openReader(m.path, m.flags)
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	err = syscall.Fstat(int(r.src.(fileSource).file.Fd()), &st)
	if err == nil && m.inode != 0 && (st.Ino != m.inode || st.Dev != m.device) {
		err = fmt.Errorf("another file has this name: %w", ErrNotVtscope)
	}
	if err == nil {
		err = r.isOfProcess(pid)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("flight: open %s: %w", m.path, err)
	}
	return r, nil
}

// isOfProcess returns an error unless the file says that it is of the process, by the pid in that one's own pid namespace, and by its start.
func (r *Reader) isOfProcess(pid int) error {
	own, err := procfs.OwnPID(pid)
	if err != nil {
		return err
	}
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return err
	}
	if h := r.Header(); h.PID != own || h.StartTime != st.Start {
		return fmt.Errorf("it is of process %d: %w", h.PID, ErrNotVtscope)
	}
	return nil
}

// ownedBy reports whether the directory belongs to the user that process pid runs as.
func ownedBy(dir string, pid int) bool {
	var d, p syscall.Stat_t
	return syscall.Lstat(dir, &d) == nil && syscall.Stat("/proc/"+strconv.Itoa(pid), &p) == nil && d.Uid == p.Uid
}

// A mappedFile is a way to a flight file that a process has mapped.
type mappedFile struct {
	path   string
	flags  int // to open it with
	device uint64
	inode  uint64 // 0: the kernel does not say
}

// mappedFiles returns the flight files that process pid has mapped, as paths through its root, so
// that they are found in other directories and mount namespaces; those that were removed through its open files. The error
// says why there may be more.
func mappedFiles(pid int) (found []mappedFile, err error) {
	const removed = " (deleted)" // as the kernel says
	proc := "/proc/" + strconv.Itoa(pid)
	f, err := os.Open(proc + "/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		_, path, ok := strings.Cut(lines.Text(), "/")
		path = "/" + path
		name, gone := strings.CutSuffix(filepath.Base(path), removed)
		if _, _, named := parseFileName(name); !ok || !named {
			continue
		}
		m := mappedFile{path: proc + "/root" + path, flags: openNoFollow}
		if gone {
			m.path, m.flags = openFileOf(proc, path), 0 // the kernel's own link
			if m.path == "" {
				_, err = os.ReadDir(proc + "/fd") // it may be the rights of that
			}
		}
		m.device, m.inode = mappedInode(lines.Text())
		if m.path != "" && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	return found, err
}

// mappedInode returns the device and inode in a line of maps, 0 if there is none: "FROM-TO rw-s OFFSET MAJOR:MINOR INODE PATH".
func mappedInode(line string) (device, inode uint64) {
	words := strings.Fields(line)
	if len(words) < 5 {
		return 0, 0
	}
	major, minor, _ := strings.Cut(words[3], ":")
	a, err1 := strconv.ParseUint(major, 16, 32)
	b, err2 := strconv.ParseUint(minor, 16, 32)
	inode, err3 := strconv.ParseUint(words[4], 10, 64)
	if errors.Join(err1, err2, err3) != nil {
		return 0, 0
	}
	return a&0xfff<<8 | a&^0xfff<<32 | b&0xff | b&^0xff<<12, inode // as stat has it
}

// openFileOf returns the link to a process's open file that is shown with the target, "" if there is none that we may see.
func openFileOf(proc, target string) string {
	files, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return ""
	}
	for _, f := range files {
		link := proc + "/fd/" + f.Name()
		if to, err := os.Readlink(link); err == nil && to == target {
			return link
		}
	}
	return ""
}
