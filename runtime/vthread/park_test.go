package vthread_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestADumpShowsWhatAParkIsGivenToWaitFor(t *testing.T) {
	if flight.Default() == nil {
		t.Skip("the recorder is off, and there is nothing to see")
	}
	lock := flight.BlockLock(0x4711)
	eachKind(t, func(t *testing.T, b vthread.Builder) {
		for state, park := range map[flight.State]func(){
			flight.StateParked:      func() { vthread.Park(lock) },
			flight.StateTimedParked: func() { vthread.ParkUntil(time.Now().Add(time.Hour), lock) },
		} {
			th := start(b, park)
			await(t, th, state)
			if got := blockerOf(t, th); got != lock {
				t.Errorf("%s: got %q, want %q", state, got, lock)
			}
			th.Unpark()
			th.Join()
		}
	})
}

// blockerOf reads the flight file of this process.
func blockerOf(t *testing.T, th *vthread.Thread) (blocker flight.Blocker) {
	t.Helper()
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if row.ID == th.ID() {
				blocker = row.Blocker
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return blocker
}

// failing is set in the child process that TestFailNowOnAThreadFailsItsTestAndNothingHangs starts.
const failing = "VTSCOPE_TEST_FAILNOW"

func TestFailNowOnAThreadFailsItsTestAndNothingHangs(t *testing.T) {
	if os.Getenv(failing) != "" {
		vthread.Start(func() {
			defer t.Log("deferred")
			t.FailNow()
			t.Log("went on")
		}).Join()
		return
	}
	c := exec.Command(os.Args[0], "-test.run=^TestFailNowOnAThread", "-test.v", "-test.timeout=5m")
	c.Env = append(os.Environ(), failing+"=1", "VTSCOPE=private")
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the child ended with %v, want exit 1", err)
	}
	for text, want := range map[string]bool{"--- FAIL: TestFailNowOnAThread": true, "deferred": true, "went on": false, "panic:": false} {
		if bytes.Contains(out, []byte(text)) != want {
			t.Errorf("%q in its output: %v, want %v\n%s", text, !want, want, out)
		}
	}
}
