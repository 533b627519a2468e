package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/internal/neighbourtest"
)

// shared returns a directory that all users may write to, as /tmp is without the sticky bit: the neighbour may rename and remove what is in it.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnOutputThatANeighbourPreparedIsNotWrittenTo(t *testing.T) {
	dir := shared(t)
	recording := recordingFile(t)
	link, pipe, own := filepath.Join(dir, "link.jfr"), filepath.Join(dir, "pipe.jfr"), filepath.Join(dir, "own.jfr")
	neighbourtest.Do(t, func() error {
		return errors.Join(os.Symlink("/dev/null", link), syscall.Mkfifo(pipe, 0o666))
	})
	for _, name := range []string{link, pipe} {
		fails(t, exitFailed, "that user "+strconv.Itoa(neighbourtest.UID)+" made", "export", recording, "-o", name)
	}
	if err := os.Symlink("/dev/null", own); err != nil {
		t.Fatal(err)
	}
	if r := vtdump(t, "export", recording, "-o", own); r.code != exitDone {
		t.Errorf("a link of this user to a device: got exit %d, %s", r.code, r.errors)
	}
}

// A file of holes takes no room on a disk, and all memory of its reader.
func TestAHugeFileOfHolesIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dump.json")
	if err := errors.Join(os.WriteFile(path, []byte("{"), 0o600), os.Truncate(path, 8<<40)); err != nil {
		t.Skipf("this disk has no such files: %v", err)
	}
	fails(t, exitFailed, "more than ", path)
	fails(t, exitFailed, "more than ", path, "--marks", path)
}

// The permissions that a marks file keeps are those of the new file, and of no other that has its name by then.
func TestMarksChangeTheModeOfNoOtherFile(t *testing.T) {
	dir := shared(t)
	path := recorded(t).Path
	victim, file, aside := filepath.Join(t.TempDir(), "victim"), filepath.Join(dir, "vtdump.marks"), filepath.Join(dir, "aside")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	prepare := func() error { // fails where the link is there already
		_ = errors.Join(os.WriteFile(file, nil, 0o666), os.Chmod(file, 0o666))
		return nil
	}
	neighbourtest.Do(t, func() error { return nil }) // root runs it, or there is nothing to see
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // puts a link in the place of each new file
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			info, err := os.Lstat(file)
			if err != nil || info.Size() == 0 {
				continue
			}
			neighbourtest.Do(t, func() error {
				_ = os.Rename(file, aside)
				_ = os.Symlink(victim, file)
				return nil
			})
		}
	}()
	t.Attr("attempts", "100")
	for range 100 {
		_ = os.Remove(file)
		neighbourtest.Do(t, prepare)
		vtdump(t, "mark", path, "1", "good", "--marks", file)
		if info, err := os.Stat(victim); err != nil || info.Mode() != 0o600 {
			t.Errorf("got %v, %v; want mode 0600 as before", info.Mode(), err)
			break
		}
	}
	close(stop)
	<-done
}
