package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// spinner is a program that keeps two processors busy until there is a file of that name, and ends with code 3.
const spinner = "STALL_SPINNER"

func TestMain(m *testing.M) {
	if name := os.Getenv(spinner); name != "" {
		var done atomic.Bool
		for range 2 {
			go func() {
				for !done.Load() {
				}
			}()
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(name); err == nil {
				break
			}
		}
		done.Store(true)
		os.Stdout.WriteString("spun\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestThreadsAreStoppedAndTheProgramEndsAsItWould(t *testing.T) {
	name := filepath.Join(t.TempDir(), "enough")
	t.Setenv(spinner, name)
	var stops atomic.Int32
	o := options{stoppers: 2, gap: time.Millisecond, most: 20 * time.Millisecond, stopped: func() {
		if stops.Add(1) == 10 {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}}
	var out, errs bytes.Buffer
	code, err := run(o, []string{os.Args[0]}, &out, &errs)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("threads may not be stopped here: %v", err)
	}
	if err != nil || code != 3 || out.String() != "spun\n" {
		t.Errorf("got exit %d, %v and %q, want 3 and what it printed", code, err, out.String())
	}
	told := regexp.MustCompile(`^stall: ([0-9]+) stops of ([0-9]+) threads\n$`).FindStringSubmatch(errs.String())
	if told == nil {
		t.Fatalf("got %q, want how often which many threads were stopped", errs.String())
	}
	if n, _ := strconv.Atoi(told[1]); n < 10 || n != int(stops.Load()) {
		t.Errorf("it says that there were %d stops, want the %d that there were, 10 at least", n, stops.Load())
	}
}

func TestAProgramThatDoesNotStartIsTold(t *testing.T) {
	if code, err := run(options{}, []string{"./not-there"}, nil, nil); code != 2 || err == nil {
		t.Errorf("got exit %d, %v; want 2 and why", code, err)
	}
}
