package incident

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/neighbourtest"
	"github.com/vtscope/vtscope/internal/plainfile"
)

// A neighbour must not make a store remove its own bundles, by large files with names of bundles in a directory that all may write to.
func TestBundlesOfANeighbourCountForNothing(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o1777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	s := store(t, Options{Dir: dir, Budget: 16 << 20, Take: quick})
	r := recorded(t)
	own := take(t, s, r).Manifest.ID
	planted := "2036-11-20T20-15-03Z-shop-4711-a1b2c3"
	neighbourtest.Do(t, func() error {
		f, err := os.Create(filepath.Join(dir, planted+Ending))
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(15<<20+900<<10), f.Close())
	})
	next := take(t, s, r).Manifest.ID
	all, err := s.List()
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	if want := []string{own, next}; err != nil || !slices.Equal(ids, want) && !slices.Equal(ids, []string{next, own}) {
		t.Errorf("got %q, %v; want %q alone", ids, err, want)
	}
}

// A directory that a neighbour may write to can give a bundle's name to any other file.
func TestOnlyABundlesOwnFileIsRead(t *testing.T) {
	s := store(t, Options{Take: quick})
	take(t, s, recorded(t))
	all, err := s.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v; want one bundle", all, err)
	}
	path, secret := all[0].Path, filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for how, replace := range map[string]func(old, new string) error{"symbolic link": os.Symlink, "hard link": os.Link, "pipe": func(_, new string) error { return syscall.Mkfifo(new, 0o600) }} {
		if err := errors.Join(os.Remove(path), replace(secret, path)); err != nil {
			t.Fatal(err)
		}
		if f, err := s.OpenFile(all[0]); !errors.Is(err, plainfile.ErrIrregular) {
			f.Close()
			t.Errorf("a %s: got %v, want %v", how, err, plainfile.ErrIrregular)
		}
		if listed, err := s.List(); err != nil || len(listed) > 0 {
			t.Errorf("a %s: got %v, %v; want none", how, listed, err)
		}
	}
	opened := make(chan error, 1)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := Open(pipe); opened <- err }()
	select {
	case err := <-opened:
		if !errors.Is(err, ErrBundle) {
			t.Errorf("got %v, want %v", err, ErrBundle)
		}
	case <-time.After(time.Minute):
		t.Error("opening waits for a pipe")
	}
}
