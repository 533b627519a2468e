package control_test

import (
	"bytes"
	"context"
	"encoding/binary"
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
	r := recorder(t)
	path := filepath.Join(dir, filepath.Base(r.Path()))
	for _, p := range []string{path, "recording.vtr"} {
		if _, err := control.Ask(context.Background(), p, "hello", nil); !errors.Is(err, control.ErrNone) {
			t.Errorf("%s: got %v, want %v", p, err, control.ErrNone)
		}
	}
	whole, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
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

// A neighbour may prepare a directory with names of its choice. Only the process of the flight file may answer.
func TestOnlyTheProcessOfTheFlightFileAnswers(t *testing.T) {
	r := recorder(t)
	whole, err := os.ReadFile(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(r.Path())
	socket := flight.SocketPath(r.Path())
	other := filepath.Join(dir, "other", filepath.Base(r.Path()))
	if err := os.Mkdir(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	place := func(make func(old, new string) error, file []byte) {
		t.Helper()
		for _, p := range []string{other, flight.SocketPath(other)} {
			if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		if err := make(socket, flight.SocketPath(other)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(other, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		if answer, err := control.Ask(patient(t), other, "settings", nil); !errors.Is(err, control.ErrPermission) {
			t.Errorf("%s: got %.40q, %v; want %v", what, answer, err, control.ErrPermission)
		}
	}
	place(os.Symlink, whole)
	refused("a link to the socket")
	place(os.Link, whole)
	if _, err := control.Ask(patient(t), other, "settings", nil); err != nil {
		t.Errorf("another name of both: %v", err)
	}
	// A directory that was put in the place of another one has the files of another process, each of them good.
	named := other
	other = filepath.Join(filepath.Dir(other), "1-1.flight")
	place(os.Link, whole)
	refused("the flight file of another process, by another name")
	other = named
	if os.Geteuid() == 0 {
		if err := os.Chown(other, 4711, 4711); err != nil {
			t.Fatal(err)
		}
		refused("the flight file of another user")
	}
	pid := binary.LittleEndian.AppendUint32(nil, uint32(os.Getpid()))
	at := bytes.Index(whole[:512], pid)
	if at < 0 {
		t.Fatal("the flight file does not have the pid")
	}
	binary.LittleEndian.PutUint32(whole[at:], 1)
	place(os.Link, whole)
	refused("the flight file of another process")
}

func init() {
	if err := flight.RegisterCommand(flight.Command{Name: "hostile", About: "fail with a text that is not for terminals", Do: func(*flight.Recorder, <-chan struct{}, []byte) ([]byte, error) {
		return nil, errors.New("first\nsecond\x1b]0;owned\a\u009b\u202e" + strings.Repeat("long", 1<<16))
	}}); err != nil {
		panic(err)
	}
}

func TestAReasonIsShortAndFitForATerminal(t *testing.T) {
	_, err := control.Ask(patient(t), recorder(t).Path(), "hostile", nil)
	if !errors.Is(err, control.ErrFailed) || !strings.Contains(err.Error(), "first\nsecond·]0;owned···long") {
		t.Errorf("got %.100q, want the reason without control characters", err)
	}
	if err != nil && len(err.Error()) > 8<<10 {
		t.Errorf("got %d bytes, want few", len(err.Error()))
	}
}
