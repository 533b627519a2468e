package neighbourtest

import (
	"runtime"
	"testing"
)

// UID is the user. No process runs as it.
const UID = 4711

// Do calls f on an OS thread whose files and sockets are those of the user UID, without root's rights to files. It skips the test unless root runs it.
func Do(t testing.TB, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and it ends with the goroutine
		err := become(UID)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	switch err := <-done; err {
	case nil:
	case errNotRoot:
		t.Skip("only root can play another user")
	default:
		t.Fatal(err)
	}
}
