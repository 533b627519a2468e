//go:build unix

package groundtruth

import (
	"os"
	"sync"
	"syscall"
	"testing"
)

// exhaust takes all descriptors that the process can have, until give.
func exhaust(t *testing.T) (give func()) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull) // the first that is free
	if err != nil {
		t.Fatal(err)
	}
	now := was
	now.Cur = uint64(f.Fd())
	f.Close()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
}
