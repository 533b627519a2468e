package control_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	_ "github.com/vtscope/vtscope/runtime/flight/profiling"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// recorder starts one in a directory whose path is longer than an address of a socket may be.
func recorder(t *testing.T) *flight.Recorder {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "control-"+strings.Repeat("long", 30))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r, err := flight.New(flight.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	for ctx := patient(t); ; time.Sleep(time.Millisecond) {
		_, err := control.Ask(ctx, r.Path(), "hello", nil)
		if err == nil {
			return r
		}
		if !errors.Is(err, control.ErrNone) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// patient bounds questions: without a bound of their own they wait for less, which a busy machine may take.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAProcessIsAsked(t *testing.T) {
	r := recorder(t)
	ctx := patient(t)
	hello, err := control.Ask(ctx, r.Path(), "hello", nil)
	if err != nil || !strings.Contains(string(hello), "command profile: take a profile: heap, ") {
		t.Errorf("hello: got %q, %v", hello, err)
	}
	for _, name := range []string{"heap", "goroutine", "mutex", "block", "cpu 10ms"} {
		p, err := control.Ask(ctx, r.Path(), "profile", []byte(name))
		if err != nil || !strings.HasPrefix(string(p), "\x1f\x8b") {
			t.Errorf("profile %s: got %.10q, %v; want a compressed profile", name, p, err)
		}
	}
	for _, name := range []string{"", "nothing", "heap 1s", "cpu", "cpu 1h", "cpu -1s", "cpu x"} {
		if p, err := control.Ask(ctx, r.Path(), "profile", []byte(name)); !errors.Is(err, control.ErrFailed) || !strings.Contains(err.Error(), "want ") {
			t.Errorf("profile %q: got %.10q, %v; want to be told what is wanted", name, p, err)
		}
	}
	if _, err := control.Ask(ctx, r.Path(), "nothing", nil); !errors.Is(err, control.ErrUnknown) {
		t.Errorf("got %v, want %v", err, control.ErrUnknown)
	}
	if _, err := control.Ask(ctx, r.Path(), "hello", make([]byte, flight.MaxControlBody+1)); err == nil {
		t.Error("a question that is too long was asked")
	}
}

func TestWhoDoesNotAnswerIsSaid(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "control-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "1-1.flight")
	for _, p := range []string{path, "recording.vtr"} {
		if _, err := control.Ask(context.Background(), p, "hello", nil); !errors.Is(err, control.ErrNone) {
			t.Errorf("%s: got %v, want %v", p, err, control.ErrNone)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: flight.SocketPath(path)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := control.Ask(ctx, path, "hello", nil); !errors.Is(err, control.ErrSilent) {
		t.Errorf("nobody accepts: got %v, want %v", err, control.ErrSilent)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := control.Ask(context.Background(), path, "hello", nil); !errors.Is(err, control.ErrNone) {
		t.Errorf("left by a dead process: got %v, want %v", err, control.ErrNone)
	}
}
