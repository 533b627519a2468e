package tmpfstest

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// Mount returns a folder on a tmpfs of that size, which goes with the test. Flags are those of mount(2). Who may not mount skips the test.
func Mount(t testing.TB, bytes int, flags uintptr) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a tmpfs")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("needs the right to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}
