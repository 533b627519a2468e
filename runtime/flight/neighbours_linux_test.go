package flight

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/internal/neighbourtest"
	"github.com/vtscope/vtscope/internal/procfs"
)

// sleeper starts a program of this user that has no flight file.
func sleeper(t *testing.T) (pid int, startTime uint64) {
	t.Helper()
	c := exec.Command("sleep", "3600")
	if err := c.Start(); err != nil {
		t.Skipf("needs sleep: %v", err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	st, err := procfs.ReadStat(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid, st.Start
}

// Any user may make a directory among those of all users, and in it files with the names of the processes of others.
func TestANeighboursFileSpeaksForNoOthersProcess(t *testing.T) {
	pid, start := sleeper(t)
	r, err := New(Options{Dir: tmpfsDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.header.PID, r.header.StartTime = uint32(pid), start // says what its name says
	content, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(sharedMemDir, fmt.Sprintf("%s%d", filePrefix, neighbourtest.UID))
	neighbourtest.Do(t, func() error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d%s", pid, start, fileSuffix)), content, 0o644)
	})
	if r, err := OpenPID(pid); !errors.Is(err, ErrNotVtscope) {
		r.Close()
		t.Errorf("got %v, want %v: the file is the neighbour's", err, ErrNotVtscope)
	}
}

func TestAFileThatIsNamedAfterAnotherProcessIsRefused(t *testing.T) {
	dir := tmpfsDir(t)
	t.Setenv("VTSCOPE_DIR", dir)
	w := startWriter(t, "run", dir)
	pid, start := sleeper(t)
	if err := os.Link(w.Path, filepath.Join(dir, fmt.Sprintf("%d-%d%s", pid, start, fileSuffix))); err != nil {
		t.Fatal(err)
	}
	if r, err := OpenPID(pid); !errors.Is(err, ErrNotVtscope) {
		r.Close()
		t.Errorf("got %v, want %v", err, ErrNotVtscope)
	}
	if r, err := OpenPID(w.cmd.Process.Pid); err != nil {
		t.Errorf("its own name: %v", err)
	} else {
		r.Close()
	}
}

// A process may map the file of another one, and names may change between the look at what is mapped and the opening.
func TestAMappedFileIsOpenedIfItIsThatOfTheProcess(t *testing.T) {
	dir := tmpfsDir(t)
	t.Setenv("VTSCOPE_DIR", tmpfsDir(t))
	w := startWriter(t, "run", dir)
	f, err := os.Open(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	if r, err := OpenPID(os.Getpid()); err == nil && r.Header().PID != os.Getpid() {
		t.Errorf("got the file of process %d, which this one has mapped too", r.Header().PID)
		r.Close()
	} else if err == nil {
		r.Close()
	}
	found, _ := mappedFiles(w.cmd.Process.Pid)
	if len(found) == 0 {
		t.Fatal("nothing is mapped")
	}
	own, err := openMapped(found[0], w.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	copied, err := os.ReadFile(w.Path)
	if err == nil {
		err = errors.Join(os.Remove(w.Path), os.WriteFile(w.Path, copied, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := openMapped(found[0], w.cmd.Process.Pid); !errors.Is(err, ErrNotVtscope) {
		r.Close()
		t.Errorf("another file with its name: got %v, want %v", err, ErrNotVtscope)
	}
}
