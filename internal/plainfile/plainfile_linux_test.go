package plainfile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/internal/neighbourtest"
	"github.com/vtscope/vtscope/internal/plainfile"
)

// prepared returns names in a directory, each of another kind, that are not files of their own, and the file that two of them lead to.
func prepared(t *testing.T) (names map[string]string, victim string) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	victim = at("victim")
	for _, err := range []error{
		os.WriteFile(victim, []byte("whole"), 0o600), os.Symlink(victim, at("link")), os.Link(victim, at("second")), syscall.Mkfifo(at("pipe"), 0o600), os.Mkdir(at("directory"), 0o700),
		os.Symlink(at("nothing"), at("dangling")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"link": at("link"), "second": at("second"), "pipe": at("pipe"), "directory": at("directory"), "dangling": at("dangling"), "device": "/dev/zero"}, victim
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	names, victim := prepared(t)
	for _, name := range []string{"pipe", "directory", "device"} {
		if _, err := plainfile.Open(names[name]); !errors.Is(err, plainfile.ErrIrregular) {
			t.Errorf("%s: got %v, want %v", name, err, plainfile.ErrIrregular)
		}
		if _, err := plainfile.Read(names[name], 10); !errors.Is(err, plainfile.ErrIrregular) {
			t.Errorf("read %s: got %v, want %v", name, err, plainfile.ErrIrregular)
		}
	}
	if text, err := plainfile.Read(names["link"], 5); err != nil || string(text) != "whole" {
		t.Errorf("a link: got %q, %v; want the file", text, err)
	}
	if _, err := plainfile.Read(victim, 4); err == nil {
		t.Error("a file that is too large was read")
	}
	for _, name := range []string{"link", "second", "pipe", "directory"} {
		if _, err := plainfile.OpenOwn(names[name]); !errors.Is(err, plainfile.ErrIrregular) {
			t.Errorf("as its own, %s: got %v, want %v", name, err, plainfile.ErrIrregular)
		}
	}
	if err := os.Remove(names["second"]); err != nil {
		t.Fatal(err)
	}
	f, err := plainfile.OpenOwn(victim)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestWhatIsMadeIsAFileOfItsOwn(t *testing.T) {
	fill := func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }
	for how, make := range map[string]func(path string) error{
		"create": func(path string) error {
			f, err := plainfile.Create(path)
			if err != nil {
				return err
			}
			return errors.Join(fill(f), f.Close())
		},
		"replace": func(path string) error { return plainfile.Replace(path, 0o600, fill) },
	} {
		names, victim := prepared(t)
		for _, name := range []string{"link", "second", "pipe", "dangling", "new"} {
			path := filepath.Join(filepath.Dir(victim), name)
			if err := make(path); err != nil {
				t.Errorf("%s %s: %v", how, name, err)
				continue
			}
			info, err := os.Lstat(path)
			if err != nil || info.Mode() != 0o600 || info.Size() != 3 {
				t.Errorf("%s %s: got %v, %v; want a file of 3 bytes and mode 0600", how, name, info, err)
			}
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "whole" {
			t.Errorf("%s: what the names led to is %q, %v", how, text, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(victim), "nothing")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was made where a dangling link led to: %v", how, err)
		}
		if err := make(names["directory"]); err == nil {
			t.Errorf("%s: a directory was replaced", how)
		}
		if _, err := os.Stat(names["directory"]); err != nil {
			t.Error(err)
		}
	}
}

func TestAFailedReplacementLeavesWhatWasThere(t *testing.T) {
	_, victim := prepared(t)
	failed := errors.New("failed")
	if err := plainfile.Replace(victim, 0o600, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "whole" {
		t.Errorf("got %q, %v; want what was there", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(victim), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The neighbour's rights are what the other tests rely on.
func TestTheNeighbourMayNotDoWhatRootMay(t *testing.T) {
	dir := t.TempDir()
	neighbourtest.Do(t, func() error {
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v, want %v", err, fs.ErrPermission)
		}
		return nil
	})
}
