package lifeline

import (
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

func wait(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the context is still alive, want it cancelled")
	}
}

func TestTheEndOfStandardInputCancels(t *testing.T) {
	r, w := io.Pipe()
	ctx, release := hold(context.Background(), true, r)
	defer release()
	if _, err := w.Write([]byte("ignored")); err != nil {
		t.Fatal(err)
	}
	if err := ctx.Err(); err != nil {
		t.Fatalf("after some input: got %v, want the context alive", err)
	}
	w.Close()
	wait(t, ctx)
}

func TestStandardInputIsLeftAloneUnlessAskedFor(t *testing.T) {
	r, w := io.Pipe()
	w.Close()
	ctx, release := hold(context.Background(), false, r)
	defer release()
	if err := ctx.Err(); err != nil {
		t.Fatalf("got %v, want the context alive", err)
	}
}

func TestASignalCancels(t *testing.T) {
	ctx, release := Hold(context.Background(), false)
	defer release()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Skipf("no signals here: %v", err)
	}
	wait(t, ctx)
}

func TestReleaseCancels(t *testing.T) {
	ctx, release := Hold(context.Background(), false)
	release()
	wait(t, ctx)
}
