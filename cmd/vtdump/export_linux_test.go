package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/tracing/jfr/jfrtest"
)

// hundredTarget is a program that does the same whenever a line comes in: see hundred.
const hundredTarget = "hundred"

// hundred starts a hundred threads when its standard input says so, and ends when that does. Each marks an event and a span of the program's own, and waits deep
// in calls until all of them wait.
func hundred() {
	items := flight.IntField("items")
	checkout := flight.Register("cart.Checkout", items)
	vthread.Main(func() {
		fmt.Println("ready")
		line := make([]byte, 1)
		if _, err := os.Stdin.Read(line); err == nil {
			all := vsync.NewLatch(1)
			var lock vsync.Mutex
			threads := make([]*vthread.Thread, 100)
			b := vthread.Builder{Name: "worker-", Count: vthread.CountFrom(0)}
			for i := range threads {
				threads[i] = b.Start(func() {
					span := checkout.Begin(items.Is(int64(i)))
					lock.Lock()
					checkout.Mark(items.Is(-1))
					lock.Unlock()
					down(100, all.Wait)
					span.End(items.Is(int64(i)))
				})
			}
			for _, th := range threads {
				for th.State() != flight.StateWaiting {
					vthread.Sleep(time.Millisecond)
				}
			}
			all.Done()
			for _, th := range threads {
				th.Join()
			}
			fmt.Println("done")
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	})
	_ = flight.Close()
	os.Exit(0)
}

// down calls f from n calls down.
//
//go:noinline
func down(n int, f func()) {
	if n > 0 {
		down(n-1, f)
	} else {
		f()
	}
	fmt.Fprint(io.Discard, n) // so that no call is the last thing that is done
}

// JF-01, JF-06, JF-07: what a process did stands in the JFR file as often as it did it; deep stacks are marked as cut; nothing was pinned because of the recording.
func TestARealProcessIsExportedAsOftenAsThingsHappened(t *testing.T) {
	child, in := startAs(t, hundredTarget)
	dir := t.TempDir()
	vtr, jfr := filepath.Join(dir, "run.vtr"), filepath.Join(dir, "run.jfr")
	r, err := flight.OpenPID(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	file, err := os.Create(vtr)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type recorded struct {
		recording.Report
		err error
	}
	done := make(chan recorded, 1)
	go func() {
		report, err := recording.Record(context.Background(), r, file, recording.Options{Held: true})
		done <- recorded{report, err}
	}()
	if _, err := in.(io.Writer).Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	in.Close() // when it has done all, it ends, and with it the recording
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	report := <-done
	if report.err != nil || report.Lost != 0 || !report.Ended {
		t.Fatalf("record: got %+v, %v; want all until the end", report.Report, report.err)
	}
	got := vtdump(t, "export", vtr, "-o", jfr)
	if got.code != exitDone || got.out != "" || !strings.HasPrefix(got.errors, "wrote "+jfr+": ") {
		t.Fatalf("got exit %d, %q, %q", got.code, got.out, got.errors)
	}
	f, err := jfrtest.Read(read(t, jfr))
	if err != nil {
		t.Fatal(err)
	}
	counts, cut := map[string]int{}, 0
	for e := range f.Events("") {
		if name, _ := e.Get("eventThread.javaName").(string); strings.HasPrefix(name, "worker-") {
			counts[e.Class.Name]++
			if e.Class.Name == "vt.Park" && e.Get("stackTrace.truncated") == true {
				cut++
				if n := len(e.Stack()); n < 60 {
					t.Errorf("a stack that was cut has %d frames, want 60 at least", n)
				}
			}
		}
	}
	for name, want := range map[string]int{"jdk.VirtualThreadStart": 100, "jdk.VirtualThreadEnd": 100, "vt.ThreadName": 100, "cart.Checkout": 200, "vt.SpanBegin": 100} {
		if counts[name] != want {
			t.Errorf("%s: got %d events, want %d", name, counts[name], want)
		}
	}
	if counts["vt.Mount"] != counts["vt.Unmount"] || counts["vt.Mount"] < 100 {
		t.Errorf("got %d mounts and %d unmounts, want as many, 100 at least", counts["vt.Mount"], counts["vt.Unmount"])
	}
	if counts["vt.Park"] != counts["vt.Unpark"] || cut != 100 {
		t.Errorf("got %d parks, of which %d stacks were cut, and %d unparks; want as many, and 100 cut", counts["vt.Park"], cut, counts["vt.Unpark"])
	}
	if n := counts["jdk.VirtualThreadPinned"]; n != 0 { // the main thread is pinned while it waits for the line
		t.Errorf("got %d pinned waits of workers, want none", n)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("got files %v, %v; want the recording and the export", entries, err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAnExportThatFailsLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "run.jfr")
	if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := writeWhole(out, 0o600, func(w io.Writer) error {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		return io.ErrUnexpectedEOF
	})
	if err == nil || string(read(t, out)) != "before" {
		t.Errorf("got %v and %.20q, want an error and what was there", err, read(t, out))
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got files %v, %v; want no other", entries, err)
	}
	if err := writeWhole(out, 0o600, func(w io.Writer) error { _, err := w.Write([]byte("after")); return err }); err != nil || string(read(t, out)) != "after" {
		t.Errorf("got %v and %.20q, want the new content", err, read(t, out))
	}
}

func TestExportsThatAreNotUnderstood(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.vtr")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitUsage, "export needs a recording", "export")
	fails(t, exitUsage, "says no format: run.txt", "export", junk, "-o", "run.txt")
	fails(t, exitUsage, "says no format: there is none", "export", junk)
	fails(t, exitUsage, "--format text means nothing to export", "export", junk, "--format", "text")
	fails(t, exitUsage, "--output means nothing to waits", "waits", "4711", "-o", "x")
	fails(t, exitFailed, junk, "export", junk, "-o", filepath.Join(dir, "run.jfr"))
	fails(t, exitFailed, "no such file", "export", filepath.Join(dir, "none.vtr"), "-o", filepath.Join(dir, "run.jfr"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got files %v, %v; want no other", entries, err)
	}
}
