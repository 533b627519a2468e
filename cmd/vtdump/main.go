package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	// A reader that went away, as in "vtdump 4711 | head", is an error of a write and not a signal.
	signal.Ignore(syscall.SIGPIPE)
	debug.SetGCPercent(400) // a short life: rather memory than time
	os.Exit(run(context.Background(), os.Args[1:], world{
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		terminal: isTerminal(os.Stdout),
		getenv:   os.Getenv,
		now:      time.Now,
	}))
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
