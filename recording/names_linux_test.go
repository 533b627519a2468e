package recording_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
)

// Another user may have prepared names in the directory: what they lead to is not touched.
func TestWhatPreparedNamesLeadToIsNotTouched(t *testing.T) {
	for _, name := range []string{"run.vtr", "run.1.vtr", "run.vtr.new"} {
		for how, link := range map[string]func(old, new string) error{"symbolic": os.Symlink, "hard": os.Link, "dangling": os.Symlink} {
			dir := t.TempDir()
			path, victim := filepath.Join(dir, "run.vtr"), filepath.Join(dir, "victim")
			if how != "dangling" {
				if err := os.WriteFile(victim, nil, 0o600); err != nil { // an empty file may be replaced
					t.Fatal(err)
				}
			}
			if err := link(victim, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			st, err := recording.Create(path, recording.Limits{MaxSize: 2 << 20})
			if err != nil {
				t.Errorf("%s link %s: %v", how, name, err)
				continue
			}
			w := recording.NewStoreWriter(st, 100_000)
			for chunk := 0; w.Written() < 4<<20; chunk++ { // two parts, which are joined
				if err := w.WriteChunk(chunk); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), st.Close()); err != nil {
				t.Errorf("%s link %s: %v", how, name, err)
			}
			info, err := os.Lstat(victim)
			if how == "dangling" && !errors.Is(err, fs.ErrNotExist) || how != "dangling" && (err != nil || info.Size() != 0) {
				t.Errorf("%s link %s: what it led to is touched: %v, %v", how, name, info, err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 || info.Size() == 0 {
				t.Errorf("%s link %s: got %v, %v; want a file of mode 0600", how, name, info, err)
			}
		}
	}
}

func TestAPipeInThePlaceOfARecordingIsRefused(t *testing.T) {
	dir := t.TempDir()
	path, previous := filepath.Join(dir, "run.vtr"), filepath.Join(dir, "run.1.vtr")
	for _, name := range []string{path, previous} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, f := range map[string]func() error{
		"open":   func() error { _, err := recording.Open(path); return err },
		"create": func() error { _, err := recording.Create(path, recording.Limits{}); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- f() }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s: got no error", what)
			}
		case <-time.After(time.Minute):
			if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // lets it go
				w.Close()
			}
			t.Errorf("%s waits for the pipe", what)
		}
	}
}

func TestTheOlderPartOfARecordingMayBeAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.vtr")
	st, err := recording.Create(path, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewStoreWriter(st, 1000)
	if err := errors.Join(w.WriteChunk(0), w.Close(), st.Close(), syscall.Mkfifo(recording.Previous(path), 0o600)); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		f, err := recording.Open(path)
		if err == nil {
			err = f.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Errorf("got %v, want the recording beside it", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the pipe")
	}
}
