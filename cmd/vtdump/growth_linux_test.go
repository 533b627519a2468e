package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// peakTarget makes the test binary vtdump, which tells on its standard error how much memory it had at most.
const peakTarget = "vtdump"

func peak() {
	prepare()
	code := run(context.Background(), os.Args[1:], world{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now})
	status, _ := os.ReadFile("/proc/self/status")
	fmt.Fprintf(os.Stderr, "peak %s\n", regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1])
	os.Exit(code)
}

// peakOf runs vtdump with the arguments and returns the most memory that it had, in bytes. It collects garbage as soon as there is some: how much there is otherwise
// depends on how late the collector is.
func peakOf(t *testing.T, stdin io.Reader, stdout io.Writer, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asTarget+"="+peakTarget, "GOMEMLIMIT=20MiB")
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &errs
	err := cmd.Run()
	m := regexp.MustCompile(`peak (\d+)\n`).FindStringSubmatch(errs.String())
	if err != nil || m == nil {
		t.Errorf("vtdump %q: %v: %s", args, err, errs.String())
		return 0
	}
	kB, err := strconv.Atoi(m[1])
	if err != nil {
		t.Error(err)
	}
	return kB << 10
}

// manyThreads is how many threads the test of memory has, for which all ways out may take 200 MB at 4,000,000: VTSCOPE_THREADS in the environment, or this.
const manyThreads = 300_000

// mostMemory is how much vtdump may have for n threads: little when it prints groups, whatever their number; when it prints every thread by itself, in the order of
// scopes, up to half a million rows.
func mostMemory(n int, each bool) int {
	if !each {
		return 40 << 20
	}
	return 90<<20 + 27*n
}

func TestMemoryDoesNotGrowWithTheThreads(t *testing.T) {
	n := manyThreads
	if s := os.Getenv("VTSCOPE_THREADS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	spec := flighttest.Spec{Threads: n, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{
			Scope: 1 + i%40, Stack: 1 + i%60, State: flight.StateParked, Reason: flight.ReasonPark, Age: time.Minute + time.Duration(i)*7919,
			Creator: flight.ThreadID(1 + i/1000), Name: "GET /cart/" + strconv.Itoa(i),
		}
	}}
	for i := range 40 {
		spec.Scopes = append(spec.Scopes, flighttest.Scope{Name: "batch-" + strconv.Itoa(i)})
	}
	for i := range 60 {
		var s flighttest.Stack
		for d := range 10 {
			s = append(s, flight.Frame{Func: fmt.Sprintf("shop.query%d", i+d), File: "/src/shop/store.go", Line: i*100 + d})
		}
		spec.Stacks = append(spec.Stacks, s)
	}
	file := flighttest.Write(t, spec).Path
	check := func(what string, each bool, got int) {
		t.Helper()
		if most := mostMemory(n, each); got > most {
			t.Errorf("%s: got %d MB for %d threads, want at most %d MB", what, got>>20, n, most>>20)
		}
		t.Logf("%-10s %4d MB", what, got>>20)
	}
	looked := 0
	for _, format := range formOf(commandThreads).formats {
		looked++
		if strings.HasPrefix(format, "jdk") {
			continue
		}
		check(format, false, peakOf(t, nil, io.Discard, "--format", format, file))
	}
	check("by name", true, peakOf(t, nil, io.Discard, "--by", "name,creator", file))
	// What the JDK's forms write is read back as it comes.
	for _, format := range []string{"jdk", "jdk1"} {
		read, write := io.Pipe()
		wrote := make(chan int, 1)
		go func() {
			wrote <- peakOf(t, nil, write, "--format", format, "--yes", file)
			write.Close()
		}()
		var page bytes.Buffer
		check("from "+format, true, peakOf(t, read, &page, "-"))
		check(format, true, <-wrote)
		for _, want := range []string{dump.Thousands(n) + " threads in 41 scopes", "complete", "batch-39", "shop.query"} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%s: want %q in\n%s", format, want, page.String())
			}
		}
	}
	check("jdk-text", true, peakOf(t, nil, io.Discard, "--format", "jdk-text", "--yes", file))
	if looked < 9 {
		t.Errorf("got %d formats, want all", looked)
	}
}
