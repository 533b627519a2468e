package main

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// spinner is a program that keeps two processors busy for a while, and ends with code 3.
const spinner = "STALL_SPINNER"

func TestMain(m *testing.M) {
	if os.Getenv(spinner) != "" {
		end := time.Now().Add(500 * time.Millisecond)
		for range 2 {
			go func() {
				for time.Now().Before(end) {
				}
			}()
		}
		time.Sleep(time.Until(end))
		os.Stdout.WriteString("spun\n")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

func TestThreadsAreStoppedAndTheProgramEndsAsItWould(t *testing.T) {
	t.Setenv(spinner, "1")
	var out, errs bytes.Buffer
	code, err := run(options{stoppers: 2, gap: time.Millisecond, most: 20 * time.Millisecond}, []string{os.Args[0]}, &out, &errs)
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
	if stops, _ := strconv.Atoi(told[1]); stops == 0 {
		t.Error("no thread was stopped in half a second")
	}
}

func TestAProgramThatDoesNotStartIsTold(t *testing.T) {
	if code, err := run(options{}, []string{"./not-there"}, nil, nil); code != 2 || err == nil {
		t.Errorf("got exit %d, %v; want 2 and why", code, err)
	}
}
