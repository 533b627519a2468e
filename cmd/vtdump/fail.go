package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1 // or found what the command looks for
	exitUsage   = 2
	exitUnknown = 3 // a limit of check cannot be judged
)

// A usageError is a call that vtdump does not understand.
type usageError struct{ what, try string }

func (e usageError) Error() string { return e.what }

// A hint is an error with a next step.
type hint struct {
	err error
	try string
}

func (e hint) Error() string { return e.err.Error() }
func (e hint) Unwrap() error { return e.err }

// errFound is what a command returns that has found what it looks for and has printed that.
var errFound = errors.New("found")

// errUnknown is what check returns that has found nothing, has printed that, and cannot judge all.
var errUnknown = errors.New("unknown")

// longestError is how many bytes of an error are printed: it may quote what a process or a file
// says.
const longestError = 8 << 10

// report prints an error with its next step, and returns the exit code it means.
func report(stderr io.Writer, err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return exitFailed // who read our output has seen enough
	}
	if err == errFound {
		return exitFailed
	}
	if err == errUnknown {
		return exitUnknown
	}
	try := ""
	code := exitFailed
	var u usageError
	var h hint
	var wrong *filter.Error
	point := ""
	switch {
	case errors.As(err, &wrong):
		try, code, point = wrong.Try, exitUsage, wrong.Point()
	case errors.As(err, &u):
		try, code = u.try, exitUsage
	case errors.As(err, &h):
		try = h.try
	}
	what := strings.TrimPrefix(err.Error(), "flight: ")
	if len(what) > longestError {
		what = what[:longestError] + "…"
	}
	fmt.Fprintf(stderr, "vtdump: %s\n", printable(what))
	if point != "" {
		text, below, _ := strings.Cut(point, "\n")
		fmt.Fprintf(stderr, "    %s\n    %s\n", printable(text), below)
	}
	if errors.Is(err, dump.ErrUnjudged) {
		code = exitUnknown
	}
	if try != "" {
		fmt.Fprintf(stderr, "    try: %s\n", printable(try))
	}
	return code
}

// printable keeps names of files and processes from changing the terminal.
func printable(s string) string {
	parts := strings.Split(s, "\n")
	for i := range parts {
		parts[i] = dump.Printable(parts[i])
	}
	return strings.Join(parts, "\n    ")
}
