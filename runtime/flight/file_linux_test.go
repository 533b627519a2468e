package flight

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/tmpfstest"
)

// newIn starts a recorder in dir and returns what it warned of.
func newIn(t *testing.T, dir string) (r *Recorder, warned func() string) {
	t.Helper()
	var all []string
	r, err := New(Options{Dir: dir, Warn: func(s string) { all = append(all, s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r, func() string { return strings.Join(all, "\n") }
}

func TestTmpfsTooSmallForAFileMeansPrivateMemory(t *testing.T) {
	for _, size := range []int{64 << 10, 1 << 20, 2 << 20} {
		dir := tmpfstest.Mount(t, size, 0)
		r, warned := newIn(t, dir)
		if r.Path() != "" || !strings.Contains(warned(), "private memory") {
			t.Errorf("%d bytes: got path %q, warning %q; want none, one about private memory", size, r.Path(), warned())
		}
		if names, _ := flightFiles(dir); len(names) != 0 {
			t.Errorf("%d bytes: left files %q", size, names)
		}
		recordGolden(r)
		rd, err := r.Reader()
		if err != nil {
			t.Fatal(err)
		}
		if n := countThreads(t, rd); n != goldenThreads {
			t.Errorf("%d bytes: got %d threads, want %d", size, n, goldenThreads)
		}
	}
}

func TestFullTmpfsCostsRecordsNotTheProcess(t *testing.T) {
	start := nanotime()
	r, warned := newIn(t, tmpfstest.Mount(t, 6<<20, 0))
	if r.Path() == "" {
		t.Fatalf("no file: %s", warned())
	}
	n := 0
	for i := range 200_000 {
		rec := r.GetRecord()
		rec.Init(StateNew, ThreadID(i+1), 0, 0, 0, 0, 1)
		if rec != nil {
			n++
			r.SetName(rec, "name")
		}
	}
	g := r.AcquireRing(1, 0, 1<<16)
	for range 1 << 17 {
		g.Emit(1, EventMount, 0, 0, 1, 0)
	}
	for i := range 20_000 {
		r.OpenScope(ScopeID(i+1), fmt.Sprint("scope ", i), 0, 0, 0, 1)
		r.AddStack([]Frame{{Func: fmt.Sprint("f", i)}})
	}
	rd := openFile(t, r)
	if got := countThreads(t, rd); got != n || n < threadsPerSegment {
		t.Errorf("got %d threads, want the %d that were recorded", got, n)
	}
	l := rd.Lost()
	if l.Threads != uint64(200_000-n) || l.Scopes == 0 {
		t.Errorf("got lost %+v, want %d threads and some scopes", l, 200_000-n)
	}
	for _, want := range []string{"threads are not recorded", "smaller rings", "scopes are not"} {
		if strings.Count(warned(), want) != 1 {
			t.Errorf("got warnings\n%s\nwant one about %q", warned(), want)
		}
	}
	t.Logf("%d threads, lost %+v\n%s", n, l, warned())
	r.mu.Lock()
	asked := r.mu.full.asked
	r.mu.Unlock()
	// For a smaller size at once, of which there are a few, for the same again a while later.
	if most := 10 * (1 + int((nanotime()-start)/askAgainAfter)); asked == 0 || asked > most {
		t.Errorf("it has asked %d times for room that there is not, want %d at most", asked, most)
	}
	t.Logf("asked %d times for room", asked)
}

func TestSmallTmpfsGetsASmallFile(t *testing.T) {
	r, warned := newIn(t, tmpfstest.Mount(t, 3300<<10, 0))
	if r.Path() == "" || warned() != "" {
		t.Fatalf("got no file: %s", warned())
	}
	r.Emit(1, EventMount, 0, 0, 1, 0)
}

func TestLimitOfFileSizesIsRespected(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	dir := tmpfsDir(t)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: old.Max}); err != nil {
		t.Skipf("needs to set a limit of file sizes: %v", err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	}()
	r, warned := newIn(t, dir)
	if r.Path() != "" || !strings.Contains(warned(), "limit of file sizes") {
		t.Errorf("got path %q, warning %q", r.Path(), warned())
	}
}

func TestRecorderLeavesAddressSpaceToTheProgram(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	const room = 1 << 30 // what Go's runtime takes meanwhile is a small part of it
	for size, want := range map[int]bool{room / 2: true, room + spareSpace/2: false} {
		limit := syscall.Rlimit{Cur: addressSpace(t) + spareSpace + room, Max: old.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
			t.Skipf("needs to set a limit of address space: %v", err)
		}
		err := spaceFor(size)
		if e := syscall.Setrlimit(syscall.RLIMIT_AS, &old); e != nil {
			t.Fatal(e)
		}
		if (err == nil) != want || err != nil && !noSpace(err) {
			t.Errorf("%d bytes beside %d to spare and %d more: got %v, want room: %v", size, spareSpace, room, err, want)
		}
	}
	if err := spaceFor(1 << 50); err != nil && old.Cur == math.MaxUint64 {
		t.Errorf("without a limit: got %v", err)
	}
}

// addressSpace is how many bytes of it the process has.
func addressSpace(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

func TestDirectoryThatOthersCouldUseIsRefused(t *testing.T) {
	base := tmpfsDir(t)
	real := filepath.Join(base, "real")
	link := filepath.Join(base, "link")
	open := filepath.Join(base, "open")
	file := filepath.Join(base, "file")
	dirs := map[string]string{link: "", open: "others may write", file: "", "/proc/self": "", filepath.Join(base, "a", "b"): ""}
	for _, err := range []error{os.Mkdir(real, 0o700), os.Symlink(real, link), os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		other := filepath.Join(base, "other")
		if err := errors.Join(os.Mkdir(other, 0o700), os.Chown(other, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		dirs[other] = "belongs to user 65534"
	}
	for dir, want := range dirs {
		r, warned := newIn(t, dir)
		if r.Path() != "" || !strings.Contains(warned(), want) || !strings.Contains(warned(), "private memory") {
			t.Errorf("%s: got path %q, warning %q; want private memory because %q", dir, r.Path(), warned(), want)
		}
	}
	if entries, _ := os.ReadDir(real); len(entries) != 0 {
		t.Errorf("the link was followed: %v", entries)
	}
}

func TestDiskDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || int64(fs.Type) == tmpfsMagic {
		t.Skip("the temporary directory is on a tmpfs")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, warned := newIn(t, dir)
	if r.Path() != "" || !strings.Contains(warned(), "not on a tmpfs") {
		t.Errorf("got path %q, warning %q", r.Path(), warned())
	}
}

func TestFileIsForItsUserAlone(t *testing.T) {
	dir := filepath.Join(tmpfsDir(t), "made")
	old := syscall.Umask(0)
	r, _ := newIn(t, dir)
	syscall.Umask(old)
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, r.Path(): 0o400} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: got mode %v, error %v; want %v", path, info.Mode(), err, want)
		}
	}
	want := fmt.Sprintf("%d-%d.flight", os.Getpid(), selfIdentity().startTime)
	if filepath.Base(r.Path()) != want {
		t.Errorf("got %s, want %s", r.Path(), want)
	}
	second, _ := newIn(t, dir)
	if second.Path() == r.Path() || second.Path() == "" {
		t.Errorf("second recorder: got %q beside %q", second.Path(), r.Path())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v, want the file gone", err)
	}
}

func TestCoreDumpsHoldTheFile(t *testing.T) {
	newTest(t)
	text, err := os.ReadFile("/proc/self/coredump_filter")
	if err != nil {
		t.Skipf("no core dump filter: %v", err)
	}
	filter, err := strconv.ParseUint(trimSpace(text), 16, 32)
	if err != nil || filter&8 == 0 {
		t.Errorf("got filter %s, error %v; want bit 3 set", text, err)
	}
}

func TestStartSweepsFilesOfDeadProcesses(t *testing.T) {
	dir := tmpfsDir(t)
	live := startWriter(t, "run", dir)
	const dead = 20
	start := time.Now().Add(-time.Hour)
	for i := range dead {
		path := filepath.Join(dir, fmt.Sprintf("%d-7.flight", 1<<30+i))
		if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		at := start.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"1073741824-7.flight.bak", "notes", "x-7.flight", "1073741999-7.flight"}
	for _, name := range others[:3] {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/null", filepath.Join(dir, others[3])); err != nil {
		t.Fatal(err)
	}
	r, _ := newIn(t, dir)
	if err := r.Close(); err != nil { // waits for the sweep
		t.Fatal(err)
	}
	for i := range dead {
		_, err := os.Lstat(filepath.Join(dir, fmt.Sprintf("%d-7.flight", 1<<30+i)))
		if kept := err == nil; kept != (i >= dead-sweepKeep) {
			t.Errorf("dead file %d of %d: kept %v; want the newest %d", i, dead, kept, sweepKeep)
		}
	}
	for _, path := range []string{live.Path, filepath.Join(dir, others[0]), filepath.Join(dir, others[1]), filepath.Join(dir, others[2]), filepath.Join(dir, others[3])} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("swept away what it must not touch: %v", err)
		}
	}
}

func TestSweepGoesBySizeToo(t *testing.T) {
	dir := tmpfsDir(t)
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d-7.flight", 1<<30+i)))
		if err != nil {
			t.Fatal(err)
		}
		err = syscall.Fallocate(int(f.Fd()), 0, 0, sweepKeepBytes*2/5)
		f.Close()
		if err != nil {
			t.Skipf("needs room in /dev/shm: %v", err)
		}
	}
	r, _ := newIn(t, dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if names, _ := flightFiles(dir); len(names) != 2 {
		t.Errorf("left %q, want two of three", names)
	}
}

// waitStatus waits until a reader sees a status.
func waitStatus(t *testing.T, r *Reader, want Status) Process {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p := r.Process()
		if p.Status == want {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("got status %v, want %v", p.Status, want)
		}
	}
}

func TestStoppedAndKilledProcessesCanBeRead(t *testing.T) {
	dir := tmpfsDir(t)
	t.Setenv("VTSCOPE_DIR", dir)
	began := time.Now()
	w := startWriter(t, "run", dir)
	pid := w.cmd.Process.Pid
	r, err := OpenPID(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := waitStatus(t, r, StatusRunning)
	if p.PID != pid || p.Path != w.Path || p.UID != os.Getuid() {
		t.Errorf("got %+v, want pid %d, path %s", p, pid, w.Path)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until the stack has names
		if s, err := r.Stack(w.Stack); err != nil || s.Unsymbolised == 0 || time.Now().After(deadline) {
			break
		}
	}
	if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStatus(t, r, StatusStopped)
	if _, err := r.Threads(t.Context(), func([]ThreadRow) {}); err != nil { // its one thread may be half written
		t.Errorf("stopped: %v", err)
	}
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait() // it was killed
	p = waitStatus(t, r, StatusGone)
	if now := time.Now(); p.LastSeen.Before(began) || p.LastSeen.After(now) {
		t.Errorf("last seen at %v, want it between its start, %v, and now, %v", p.LastSeen, began, now)
	}
	if d := r.Between(r.Now(), r.Now()); d != 0 {
		t.Errorf("time goes on in a dead process: %v", d)
	}
	// A second look, from the name alone.
	dead, err := OpenPID(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	s, err := dead.Stack(w.Stack)
	if err != nil || s.Unsymbolised != 0 || !strings.HasSuffix(s.Frames[0].Func, "writeUntilKilled.func1") {
		t.Errorf("got stack %+v, error %v", s, err)
	}
	list, errs := List()
	if len(list) != 1 || list[0].PID != pid || list[0].Status != StatusGone || len(errs) != 0 {
		t.Errorf("got list %+v, errors %v", list, errs)
	}
}

// Neither a return from main nor a signal leaves anything in the file; the kernel knows.
func TestAProcessThatDidNotCloseIsGoneWithTheEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		mode string
		kill bool
		want Ending
		said string
	}{
		"returned":  {"leave", false, Ending{Known: true}, "exit status 0"},
		"exit 3":    {"fail", false, Ending{Known: true, Code: 3}, "exit status 3"},
		"signalled": {"run", true, Ending{Known: true, Signal: syscall.SIGKILL}, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWriter(t, c.mode, tmpfsDir(t))
			r, err := Open(w.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			waitStatus(t, r, StatusRunning)
			if c.kill {
				err = w.cmd.Process.Kill()
			} else {
				_, err = w.in.Write([]byte("x"))
			}
			if err != nil {
				t.Fatal(err)
			}
			p := waitStatus(t, r, StatusGone)
			for deadline := time.Now().Add(time.Minute); !p.Ending.Known && time.Now().Before(deadline); p = r.Process() {
				time.Sleep(time.Millisecond) // who is about to end is gone before the kernel knows how
			}
			if p.Ending != c.want || p.Ending.String() != c.said {
				t.Errorf("before its parent waits: got %+v, %q, want %+v, %q", p.Ending, p.Ending, c.want, c.said)
			}
			if got := c.want.Died(); got != (name != "returned") {
				t.Errorf("died: %v", got)
			}
			late, err := Open(w.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close()
			_ = w.cmd.Wait()
			if p := r.Process(); p.Ending != c.want {
				t.Errorf("after that: got %+v, want what was known before, %+v", p.Ending, c.want)
			}
			if p := late.Process(); p.Status != StatusGone || p.Ending != (Ending{}) || p.Ending.Died() || p.Ending.String() != "" {
				t.Errorf("to a reader that comes then: got %v, %+v, want gone, and nothing known", p.Status, p.Ending)
			}
		})
	}
}

// A reader that was there before learns it also after the parent has waited, where the kernel can tell (Linux 6.15).
func TestAFollowerLearnsTheExitStatusOfAProcessThatWasWaitedFor(t *testing.T) {
	w := startWriter(t, "fail", tmpfsDir(t))
	r, err := Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	waitStatus(t, r, StatusRunning)
	if _, err := w.in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait()
	if p := waitStatus(t, r, StatusGone); p.Ending == (Ending{}) {
		t.Skip("this kernel keeps no exit status for those that hold a pidfd")
	} else if p.Ending != (Ending{Known: true, Code: 3}) {
		t.Errorf("got %+v, want status 3", p.Ending)
	}
}

func TestEndedProcessIsCalledEnded(t *testing.T) {
	w := startWriter(t, "close", tmpfsDir(t))
	r, err := Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	waitStatus(t, r, StatusRunning)
	if _, err := w.in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	waitStatus(t, r, StatusEnded)
	if _, err := Open(w.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want the file gone", err)
	}
}

func TestProcessInAnUnknownDirectoryIsFound(t *testing.T) {
	t.Setenv("VTSCOPE_DIR", tmpfsDir(t))
	w := startWriter(t, "run", tmpfsDir(t))
	r, err := OpenPID(w.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p := r.Process(); p.PID != w.cmd.Process.Pid || p.Status != StatusRunning {
		t.Errorf("got %+v", p)
	}
}

func TestFileOfALiveProcessIsFoundAfterItWasRemoved(t *testing.T) {
	dir := tmpfsDir(t)
	t.Setenv("VTSCOPE_DIR", dir)
	w := startWriter(t, "run", dir)
	if err := os.Remove(w.Path); err != nil {
		t.Fatal(err)
	}
	r, err := OpenPID(w.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p := r.Process(); p.PID != w.cmd.Process.Pid || p.Status != StatusRunning {
		t.Errorf("got %+v", p)
	}
	if _, err := r.Threads(t.Context(), func([]ThreadRow) {}); err != nil {
		t.Error(err)
	}
}

func TestOpenTellsWhatIsWrong(t *testing.T) {
	dir := tmpfsDir(t)
	t.Setenv("VTSCOPE_DIR", dir)
	empty, garbage, fifo := filepath.Join(dir, "1-1.flight"), filepath.Join(dir, "2-2.flight"), filepath.Join(dir, "3-3.flight")
	for _, err := range []error{os.WriteFile(empty, nil, 0o600), os.WriteFile(garbage, make([]byte, headerSize), 0o600), syscall.Mkfifo(fifo, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	aged := func(age time.Duration) {
		for _, path := range []string{empty, garbage, fifo} {
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, want := range map[string]error{empty: ErrFormat, garbage: ErrFormat, fifo: ErrFormat, dir: ErrFormat, filepath.Join(dir, "no"): os.ErrNotExist} {
		if _, err := Open(path); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("open %s: got %v, want %v with the path", path, err, want)
		}
	}
	aged(-time.Hour) // they stay young, however long the list takes
	if list, errs := List(); len(list)+len(errs) != 0 {
		t.Errorf("got %+v, errors %v, of files that may be about to begin", list, errs)
	}
	aged(time.Minute)
	list, errs := List()
	if len(list) != 0 || len(errs) != 3 {
		t.Errorf("got %+v, errors %v; want one for each of 3 files", list, errs)
	}
	if list, errs := List(filepath.Join(dir, "missing")); len(list)+len(errs) != 0 {
		t.Errorf("missing directory: got %v, %v; want nothing", list, errs)
	}
	for pid, want := range map[int]error{1 << 30: ErrNoProcess, -5: ErrNoProcess, os.Getpid(): ErrNotVtscope} {
		// Our own process has files of other tests' recorders mapped: look for those first.
		if mapped, _ := mappedFiles(pid); pid == os.Getpid() && len(mapped) > 0 {
			continue
		}
		if _, err := OpenPID(pid); !errors.Is(err, want) {
			t.Errorf("pid %d: got %v, want %v", pid, err, want)
		}
	}
}

func TestAnotherUsersFileIsRefusedAsSuch(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir := filepath.Join(tmpfsDir(t), "root's")
	w := startWriter(t, "run", dir)
	t.Setenv("VTSCOPE_DIR", dir)
	type result struct{ open, openPID, list error }
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine and its rights
		const nobody, same = 65534, ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, nobody, same); errno != 0 {
			close(done)
			return
		}
		var res result
		_, res.open = Open(w.Path)
		_, res.openPID = OpenPID(w.cmd.Process.Pid)
		_, errs := List(dir)
		res.list = errors.Join(errs...)
		done <- res
	}()
	res, ok := <-done
	if !ok {
		t.Skip("needs the right to become another user")
	}
	for what, err := range map[string]error{"Open": res.open, "OpenPID": res.openPID, "List": res.list} {
		if !errors.Is(err, ErrPermission) {
			t.Errorf("%s: got %v, want ErrPermission", what, err)
		}
	}
}
