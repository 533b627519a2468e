//go:build unix

package goroutines_test

import (
	"os"
	"syscall"
	"testing"
)

func quit(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
}
