package childtest

import (
	"os"
	"regexp"
	"testing"
)

func TestAChildIsSeenAndEndsWithItsStdin(t *testing.T) {
	c := Start(t, "./fixtures/storm", "-threads", "10", "-scopes", "2", "-hold", "0", "-exit-with-stdin")
	if got := c.WaitFor(regexp.MustCompile(`(\d+) threads parked`))[1]; got != "10" {
		t.Errorf("printed: got %s threads, want 10", got)
	}
	r := c.Flight()
	if got := len(Threads(t, r)); got < 10 {
		t.Errorf("flight file: got %d threads, want at least 10", got)
	}
	if got := r.Process().PID; got != c.PID() {
		t.Errorf("flight file: got pid %d, want %d", got, c.PID())
	}
	c.CloseStdin()
	c.WantExit(0)
}

func TestASignalReachesTheChild(t *testing.T) {
	c := Start(t, "./fixtures/storm", "-threads", "1", "-scopes", "1", "-hold", "0")
	c.WaitFor(regexp.MustCompile("parked"))
	c.Signal(os.Interrupt)
	c.WantExit(0)
}
