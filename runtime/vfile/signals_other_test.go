//go:build !unix

package vfile_test

import (
	"os"
	"testing"
)

var testSignal = os.Interrupt

func sendSignal(t *testing.T) { t.Skip("a process cannot send itself a signal here") }
