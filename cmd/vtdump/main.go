package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/term"
)

func main() {
	// A reader that went away, as in "vtdump 4711 | head", is an error of a write and not a signal.
	signal.Ignore(syscall.SIGPIPE)
	prepare()
	var screen func() (tcell.Screen, error)
	if term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) {
		screen = tcell.NewScreen
	}
	os.Exit(run(context.Background(), os.Args[1:], world{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		terminal: term.IsTerminal(int(os.Stdout.Fd())),
		watched:  term.IsTerminal(int(os.Stderr.Fd())),
		size:     terminalSize,
		screen:   screen,
		getenv:   os.Getenv,
		now:      time.Now,
		replace:  replace,
	}))
}

// prepare has the collector prefer time to memory, for a short life, while there is little.
func prepare() {
	debug.SetGCPercent(400)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(150 << 20)
	}
}

// terminalSize returns how many columns and rows the terminal has, 0 if it is not known.
func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
