package lifeline

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Hold returns a context that is cancelled by the first SIGINT or SIGTERM, and, if withStdin is set, when
// standard input ends. The second signal then ends the process in the system's way. Call release when
// done: it stops watching for signals.
func Hold(parent context.Context, withStdin bool) (ctx context.Context, release func()) {
	return hold(parent, withStdin, os.Stdin)
}

func hold(parent context.Context, withStdin bool, stdin io.Reader) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal is not caught any more
	if !withStdin {
		return ctx, stop
	}
	ctx, cut := context.WithCancel(ctx)
	go func() {
		// Whatever ends the reading, an error too, means that nobody holds the other end.
		_, _ = io.Copy(io.Discard, stdin)
		cut()
	}()
	return ctx, func() { cut(); stop() }
}
