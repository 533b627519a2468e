package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump/jdk"
)

// brokenAfter is a file that is full after so many bytes.
type brokenAfter struct{ room int }

func (w *brokenAfter) Write(b []byte) (int, error) {
	if w.room -= len(b); w.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

// vtdump prints dumps on standard output: what a shell cannot open is the shell's error. What it writes to files by itself is written whole or not at all.
//
// TD-09
func TestADumpThatCannotBeWrittenGivesItsOwnError(t *testing.T) {
	f := recorded(t)
	r, err := f.Recorder.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, write := range map[string]func(w *brokenAfter) error{
		"JSON":  func(w *brokenAfter) error { return jdk.JSON(context.Background(), w, r, jdk.Options{}) },
		"plain": func(w *brokenAfter) error { return jdk.Text(context.Background(), w, r, jdk.Options{}) },
	} {
		if err := write(&brokenAfter{room: 100}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s, full in the middle: got %v, want no space left", name, err)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no file that is full: %v", err)
	}
	defer full.Close()
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"--format", "jdk", f.Path}, world{stdout: full, stderr: &errs, getenv: func(string) string { return "" }, now: time.Now}); code != exitFailed || !bytes.Contains(errs.Bytes(), []byte("no space left on device")) {
		t.Errorf("got exit %d and %q", code, errs.String())
	}
	fails(t, exitFailed, "no such file or directory", "record", f.Path, "-o", filepath.Join(t.TempDir(), "none", "run.vtr"))
	fails(t, exitFailed, "not a regular file", "record", f.Path, "-o", t.TempDir())
}
