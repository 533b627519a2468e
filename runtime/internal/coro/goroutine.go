package coro

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/petermattis/goid"
)

// Goroutine returns the number of the calling goroutine, as Go's own dumps show it. It is not 0, and no other goroutine ever has it, unlike the
// address of a runtime.g, which the next goroutine gets when one has ended. It costs a few nanoseconds.
func Goroutine() uintptr {
	if !readsNumber {
		return printedNumber()
	}
	return uintptr(goid.Get())
}

// readsNumber reports whether package goid finds the number in runtime.g, whose layout it assumes. A Go release that moves the field makes it
// false: then Goroutine costs a microsecond. TestGoroutineIsTheNumberThatGoPrints fails on such a release; a newer package goid mends it.
var readsNumber = uintptr(goid.Get()) == printedNumber()

// printedNumber is Goroutine, read from the first line of the goroutine's own trace: "goroutine 12 [running]:".
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
