//go:build !unix

package goroutines_test

import (
	"os"
	"testing"
)

func quit(t *testing.T, _ *os.Process) { t.Fatal("no SIGQUIT here") }
