//go:build unix

package vfile_test

import (
	"os"
	"syscall"
	"testing"
)

var testSignal os.Signal = syscall.SIGUSR2

func sendSignal(t *testing.T) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
}
