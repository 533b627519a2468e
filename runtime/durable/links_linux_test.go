package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A store cuts off what is no record at the end of its newest file. Where another user could prepare the folder, that file may lead to any other.
func TestAStoreCutsNoFileThatALinkLeadsTo(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"lock": journal.LockPath,
		"log":  func(dir string) string { return journal.LogPath(dir, 1) },
	} {
		dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
		if err := errors.Join(os.WriteFile(victim, []byte("short"), 0o600), os.Symlink(victim, path(dir))); err != nil {
			t.Fatal(err)
		}
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err == nil {
			err = errors.Join(s.Load(func(journal.Entry) error { return nil }), s.Close())
		}
		if err == nil {
			t.Errorf("%s: got no error, want the link refused", name)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "short" {
			t.Errorf("%s: what it led to is now %q, %v", name, text, err)
		}
	}
}

func TestAFolderWithAPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	path := journal.LogPath(dir, 1)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := journal.ReadFolder(dir); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("got no error")
		}
	case <-time.After(time.Minute):
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // lets it go
			w.Close()
		}
		t.Error("it waits for the pipe")
	}
}
