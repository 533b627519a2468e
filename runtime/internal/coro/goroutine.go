package coro

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/petermattis/goid"
)

// Goroutine returns the number of the calling goroutine, as in Go's tracebacks. The number is never 0 and
// is never reused, unlike the address of a runtime.g. The call costs a few nanoseconds.
func Goroutine() uintptr {
	if !readsNumber {
		return printedNumber()
	}
	return uintptr(goid.Get())
}

// readsNumber reports whether package goid, which assumes a layout of runtime.g, reads the right number.
// It is false on a Go release that moves the field, and then Goroutine costs a microsecond.
// TestGoroutineIsTheNumberThatGoPrints fails on such a release. A newer package goid restores the speed.
var readsNumber = uintptr(goid.Get()) == printedNumber()

// printedNumber is Goroutine read from the first line of the goroutine's traceback:
// "goroutine 12 [running]:".
func printedNumber() uintptr {
	var buf [64]byte
	line := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(line, []byte(" "))
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("coro: a goroutine's trace begins with " + strconv.Quote(string(line)))
	}
	return uintptr(n)
}
