package vfile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vfile"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func pipe(t testing.TB) (r, w *vfile.File) {
	t.Helper()
	r, w, err := vfile.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestAPipeCarriesBytesBetweenThreads(t *testing.T) {
	want := pattern(8 << 20)
	for _, blocks := range []bool{false, true} {
		r, w := pipe(t)
		if blocks {
			r.Fd()
			w.Fd()
		}
		writer := vthread.Start(func() {
			if n, err := w.Write(want); n != len(want) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		onThread(func() {
			if got, err := io.ReadAll(r); !bytes.Equal(got, want) || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
		if err := writer.Join(); err != nil {
			t.Error(err)
		}
	}
}

func TestThreadsAndGoroutinesShareAPipe(t *testing.T) {
	r, w := pipe(t)
	done := vsync.NewLatch(1)
	vthread.Start(func() {
		defer done.Done()
		if got, err := io.ReadAll(r); string(got) != "goroutine" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	if _, err := w.Write([]byte("goroutine")); err != nil {
		t.Error(err)
	}
	w.Close()
	done.Wait()
}

func TestManyPipesWaitWithoutCarriers(t *testing.T) {
	const pipes = 200
	done := vsync.NewLatch(pipes)
	var writers []*vfile.File
	for range pipes {
		r, w := pipe(t)
		writers = append(writers, w)
		awaitParked(t, vthread.Start(func() {
			defer done.Done()
			b := make([]byte, 1)
			if n, err := r.Read(b); n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		}))
	}
	for _, w := range writers {
		if _, err := w.Write([]byte{1}); err != nil {
			t.Error(err)
		}
	}
	done.Wait()
}

func TestWhatEndsAWaitForAPipe(t *testing.T) {
	for name, c := range map[string]struct {
		write bool
		end   func(r, w *vfile.File, th *vthread.Thread) error
		want  []error
	}{
		"close":           {false, func(r, _ *vfile.File, _ *vthread.Thread) error { return r.Close() }, []error{os.ErrClosed}},
		"close-write":     {true, func(_, w *vfile.File, _ *vthread.Thread) error { return w.Close() }, []error{os.ErrClosed}},
		"end":             {false, func(_, w *vfile.File, _ *vthread.Thread) error { return w.Close() }, []error{io.EOF}},
		"interrupt":       {false, func(_, _ *vfile.File, th *vthread.Thread) error { return th.Interrupt() }, []error{os.ErrClosed, sched.ErrInterrupted}},
		"interrupt-write": {true, func(_, _ *vfile.File, th *vthread.Thread) error { return th.Interrupt() }, []error{os.ErrClosed, sched.ErrInterrupted}},
		"deadline":        {false, func(r, _ *vfile.File, _ *vthread.Thread) error { return r.SetReadDeadline(time.Now()) }, []error{os.ErrDeadlineExceeded}},
		"deadline-write":  {true, func(_, w *vfile.File, _ *vthread.Thread) error { return w.SetDeadline(time.Now()) }, []error{os.ErrDeadlineExceeded}},
		"deadline-to-come": {false, func(r, _ *vfile.File, _ *vthread.Thread) error {
			return r.SetDeadline(time.Now().Add(time.Millisecond))
		}, []error{os.ErrDeadlineExceeded}},
		"closed-by-the-peer": {true, func(r, _ *vfile.File, _ *vthread.Thread) error { return r.Close() }, []error{errPeer}},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := pipe(t)
			var err error
			th := vthread.Start(func() {
				if c.write {
					_, err = w.Write(make([]byte, 10<<20))
				} else {
					_, err = r.Read(make([]byte, 1))
				}
				if vthread.Interrupted() != strings.HasPrefix(name, "interrupt") {
					t.Error("the interrupt status is not what it should be")
				}
			})
			awaitParked(t, th)
			if err := c.end(r, w, th); err != nil {
				t.Fatal(err)
			}
			if err := th.Join(); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if want == errPeer && err != nil && strings.Contains(err.Error(), "pipe") {
					continue
				}
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
		})
	}
}

var errPeer = errors.New("broken pipe")

func TestInterruptsAndClosesAtAnyMomentLoseNothing(t *testing.T) {
	for round := range 200 {
		r, w := pipe(t)
		th := vthread.Start(func() {
			for b := make([]byte, 1); ; {
				if _, err := r.Read(b); err != nil {
					return
				}
			}
		})
		for range round % 7 {
			if _, err := w.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if round%2 == 0 {
			err = th.Interrupt()
		} else {
			err = r.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Join(); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
}

// TestHelperProcess is what the tests execute as a child.
func TestHelperProcess(t *testing.T) {
	switch os.Getenv("VFILE_CHILD") {
	case "": // it is for other tests
	case "cat":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			os.Exit(3)
		}
		os.Stderr.WriteString("diagnosis")
		os.Exit(0)
	case "fail":
		os.Stderr.WriteString("no")
		os.Exit(7)
	case "console":
		var n int
		var err error
		var b [100]byte
		if err := vthread.Start(func() {
			n, err = vfile.Stdin.Read(b[:])
			if err == nil {
				_, err = vfile.Stdout.Write(bytes.ToUpper(b[:n]))
			}
		}).Join(); err != nil {
			os.Exit(4)
		}
		if err != nil {
			os.Exit(3)
		}
		os.Exit(0)
	case "ways":
		w, _ := vfile.In()
		os.Stdout.WriteString(w.String())
		os.Exit(0)
	}
}

// child prepares a child that does what. It records nothing: its flight file would outlive it when it is killed.
func child(ctx context.Context, what string) *vfile.Cmd {
	c := vfile.CommandContext(ctx, os.Args[0], "-test.run=^TestHelperProcess$")
	c.Env = append(os.Environ(), "VFILE_CHILD="+what, "VTSCOPE=off")
	return c
}

func TestChildrenByPipes(t *testing.T) {
	both := func(t *testing.T, f func(t *testing.T)) {
		t.Run("thread", func(t *testing.T) { onThread(func() { f(t) }) })
		t.Run("goroutine", f)
	}
	both(t, func(t *testing.T) {
		c := child(t.Context(), "cat")
		in, err1 := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		diagnosis, err3 := c.StderrPipe()
		if err := errors.Join(err1, err2, err3, c.Start()); err != nil {
			t.Error(err)
			return
		}
		want := pattern(1 << 20)
		vthread.Start(func() {
			if n, err := in.Write(want); n != len(want) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			in.Close()
		})
		if got, err := io.ReadAll(out); !bytes.Equal(got, want) || err != nil {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		if got, err := io.ReadAll(diagnosis); string(got) != "diagnosis" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if err := c.Wait(); err != nil || !c.ProcessState.Success() {
			t.Errorf("got %v, %v", err, c.ProcessState)
		}
		if err := c.Wait(); err == nil {
			t.Error("a second Wait: got no error")
		}
		if _, err := out.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Wait: got %v, want %v", err, os.ErrClosed)
		}
	})
}

func TestRunOutputAndErrors(t *testing.T) {
	onThread(func() {
		c := child(t.Context(), "cat")
		c.Stdin = strings.NewReader("x")
		if out, err := c.Output(); string(out) != "x" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
		c = child(t.Context(), "cat")
		c.Stdin = strings.NewReader("x")
		if out, err := c.CombinedOutput(); string(out) != "xdiagnosis" || err != nil {
			t.Errorf("got %q, %v", out, err)
		}
		_, err := child(t.Context(), "fail").Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 7 || string(exit.Stderr) != "no" {
			t.Errorf("got %v", err)
		}
		if err := vfile.Command("/none/such").Run(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, want %v", err, os.ErrNotExist)
		}
		if err := vfile.Command("x").Wait(); err == nil {
			t.Error("Wait without Start: got no error")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c = child(ctx, "cat")
		in, err := c.StdinPipe()
		if err != nil {
			t.Error(err)
		}
		defer in.Close()
		if err := c.Start(); err != nil {
			t.Error(err)
			return
		}
		cancel()
		if err := c.Wait(); err == nil {
			t.Error("of a process whose context has ended: got no error")
		}
	})
}

func TestAnInterruptedWaitCanBeRepeatedAndAnInterruptedRunKills(t *testing.T) {
	c := child(t.Context(), "cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var waited error
	th := vthread.Start(func() { waited = c.Wait() })
	awaitParked(t, th)
	if err := th.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := th.Join(); err != nil || waited != sched.ErrInterrupted {
		t.Fatalf("got %v, %v, want %v", waited, err, sched.ErrInterrupted)
	}
	in.Close()
	onThread(func() {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})

	r, w := pipe(t) // it keeps the child waiting
	c = child(t.Context(), "cat")
	c.Stdin = r
	th = vthread.Start(func() { waited = c.Run() })
	awaitParked(t, th)
	if err := th.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := th.Join(); err != nil || !errors.Is(waited, sched.ErrInterrupted) {
		t.Fatalf("got %v, %v, want %v", waited, err, sched.ErrInterrupted)
	}
	if c.ProcessState == nil {
		t.Error("the child was not waited for")
	}
	w.Close()
}

func TestTheConsoleParks(t *testing.T) {
	c := child(t.Context(), "console")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("typed")); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil || out.String() != "TYPED" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestTheEnvironmentChoosesTheWay(t *testing.T) {
	auto := "helpers"
	for _, c := range []struct{ value, want, warns string }{{"helpers", "helpers", ""}, {"", "", ""}, {"nonsense", "", "VTSCOPE_FILES"}} {
		cmd := child(t.Context(), "ways")
		cmd.Env = append(cmd.Env, "VTSCOPE_FILES="+c.value)
		var diagnosis bytes.Buffer
		cmd.Stderr = &diagnosis
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			c.want = auto
			if w, _ := inAuto(t); w == vfile.Ring {
				c.want = "ring"
			}
		}
		if string(out) != c.want || !strings.Contains(diagnosis.String(), c.warns) {
			t.Errorf("VTSCOPE_FILES=%s: got %s, %s, want %s", c.value, out, diagnosis.String(), c.want)
		}
	}
}

func inAuto(t *testing.T) (vfile.Way, error) {
	vfile.Use(t, vfile.Options{})
	return vfile.In()
}

func TestSignalsAreWaitedForInACall(t *testing.T) {
	s := vfile.Notify(testSignal)
	defer s.Close()
	var got atomic.Pointer[os.Signal]
	th := vthread.Start(func() {
		for range 2 {
			sig, err := s.Wait()
			if err != nil {
				t.Error(err)
				return
			}
			got.Store(&sig)
		}
		if _, err := s.Wait(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("after Close: got %v, want %v", err, os.ErrClosed)
		}
	})
	for range 2 {
		awaitWaiting(t, th)
		sendSignal(t)
		for deadline := time.Now().Add(time.Minute); got.Swap(nil) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no signal")
			}
		}
	}
	s.Close()
	if err := th.Join(); err != nil {
		t.Error(err)
	}
	th = vthread.Start(func() {
		if _, err := vfile.WaitSignal(testSignal); err != vthread.ErrInterrupted {
			t.Errorf("got %v, want %v", err, vthread.ErrInterrupted)
		}
	})
	awaitWaiting(t, th)
	if err := th.Interrupt(); err != nil {
		t.Error(err)
	}
	if err := th.Join(); err != nil {
		t.Error(err)
	}
}

// awaitWaiting waits until a thread waits in any way.
func awaitWaiting(t testing.TB, th *vthread.Thread) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); th.State() == flight.StateMounted || th.State() == flight.StateRunnable || th.State() == flight.StateNew; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the thread is %v", th.State())
		}
	}
}
