//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestTheDemosChildEndsWithVtserve(t *testing.T) {
	t.Setenv("VTSCOPE_DIR", flighttest.Dir(t)) // not those of other tests, of which there may be something to tell
	t.Setenv(childVariable, "obey")
	s := begin(t, "--demo", "--threads", "1234", "--shop", os.Args[0])
	// The child's line and vtserve's own may come in any order.
	var pid int
	for seen := 0; seen < 2; {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("%v; standard error: %s", err, s.stderr)
		}
		if m := regexp.MustCompile(`^child (\d+) --exit-with-stdin --threads 1234$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			pid, _ = strconv.Atoi(m[1])
			seen++
		}
		if strings.Contains(line, "Ctrl-C ends vtserve and the shop") {
			seen++
		}
	}
	s.end(t)
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the child %d after vtserve's end: %v, want no such process", pid, err)
	}
	if s.stderr.String() != "" {
		t.Errorf("standard error %q, want nothing", s.stderr)
	}
}

func TestAChildThatDiesIsToldAndThePageStays(t *testing.T) {
	t.Setenv("VTSCOPE_DIR", flighttest.Dir(t)) // not those of other tests, of which there may be something to tell
	t.Setenv(childVariable, "obey")
	s := begin(t, "--demo", "--shop", os.Args[0])
	pid, err := strconv.Atoi(s.match(t, `^child (\d+) `))
	if err != nil {
		t.Fatal(err)
	}
	s.discard()
	syscall.Kill(pid, syscall.SIGKILL)
	want := fmt.Sprintf("the shop (pid %d) ended: signal: killed", pid)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.stderr.String(), want); {
		if time.Now().After(deadline) {
			t.Fatalf("standard error %q, want %q", s.stderr, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if r, err := http.Get(s.url); err != nil || r.StatusCode != 200 {
		t.Errorf("the page after that: %v, want it", err)
	} else {
		r.Body.Close()
	}
	s.end(t)
	http.DefaultClient.CloseIdleConnections()
}
