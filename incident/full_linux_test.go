package incident

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/internal/tmpfstest"
)

func TestAFullDiskLeavesNoHalfBundle(t *testing.T) {
	dir := tmpfstest.Mount(t, 128<<10, 0)
	large := quick
	large.Events = events(300 << 10)
	r := recorded(t)
	b := take(t, store(t, Options{Dir: dir, Take: large}), r)
	if m := b.Manifest.Missing; len(m) == 0 || m[0].Part != "events" || b.Part("waits") == nil {
		t.Errorf("got missing %v; want a bundle without events", m)
	}
	b.Close()
	if names := left(t, dir); len(names) != 1 {
		t.Errorf("got %q, want one bundle", names)
	}

	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill it: %v", err)
	}
	for _, o := range []TakeOptions{quick, large} {
		if path, err := store(t, Options{Dir: dir, Take: o}).Take(context.Background(), r, Cause{What: "asked for"}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %q, %v; want %v", path, err, syscall.ENOSPC)
		}
	}
	if names := left(t, dir); len(names) != 1 || names[0] != "full" {
		t.Errorf("got %q, want only what was there", names)
	}
}
