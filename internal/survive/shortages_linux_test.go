package survive

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/tmpfstest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// A shortage is something that a program does not have, or loses.
type shortage struct {
	dir    func(t *testing.T) string    // for the flight file; nil: one with room
	before func()                       // in the program, before the recorder starts
	after  func(file string)            // in the program, after that
	warns  string                       // what the program prints on standard error; "": nothing
	hidden bool                         // other processes cannot read what it records
	lost   func(l flight.Lost) []uint64 // counters that are not 0; all others are
	might  []string                     // of warnings that come or not
}

func lostNothing(flight.Lost) []uint64   { return nil }
func lostThreads(l flight.Lost) []uint64 { return []uint64{l.Threads} }

// removeDir removes the folder of a flight file, in which the recorder may be making its socket.
func removeDir(file string) {
	for {
		err := os.RemoveAll(filepath.Dir(file))
		if !errors.Is(err, syscall.ENOTEMPTY) {
			must(err)
			return
		}
	}
}

var shortages = map[string]shortage{
	"nothing":                         {lost: lostNothing},
	"tmpfs too small for a file":      {dir: tmpfsOf(1 << 20), warns: "private memory", hidden: true, lost: lostNothing},
	"tmpfs too small for all threads": {dir: tmpfsOf(4500 << 10), warns: "threads are not recorded any more", lost: lostThreads},
	"tmpfs filled up meanwhile":       {dir: tmpfsOf(64 << 20), after: fillUp, warns: "threads are not recorded any more", lost: lostThreads},
	"directory of others":             {dir: othersDir, warns: "others may write", hidden: true, lost: lostNothing},
	"read-only directory":             {dir: readOnly, warns: "read-only", hidden: true, lost: lostNothing},
	"file removed":                    {after: remove, lost: lostNothing, might: []string{"the flight file was removed"}},
	"directory removed":               {after: removeDir, lost: lostNothing, might: []string{"settings cannot be changed", "the flight file was removed"}},
	"limit of file sizes, at once":    {before: limit(syscall.RLIMIT_FSIZE, 1<<20), warns: "limit of file sizes", hidden: true, lost: lostNothing},
	"limit of file sizes, later":      {before: limit(syscall.RLIMIT_FSIZE, 4500<<10), warns: "threads are not recorded any more", lost: lostThreads},
	"limit of open files":             {before: limitFiles, warns: "too many open files", hidden: true, lost: lostNothing},
	"limit of locked memory":          {before: limit(rlimitMemlock, 0), lost: lostNothing},
	"limit of address space, at once": {before: limitSpace(60 << 20), warns: "limit of address space", hidden: true, lost: nil},
	"limit of address space, later":   {before: limitSpace(70 << 20), warns: "threads are not recorded any more", lost: lostThreads},
}

const rlimitMemlock = 8

func limit(which int, to uint64) func() {
	return func() { must(syscall.Setrlimit(which, &syscall.Rlimit{Cur: to, Max: to})) }
}

// limitSpace lets the process have some more address space than it has, after Go's own part of what the work needs: if that
// were missing, Go would end the program. The recorder leaves it 64 MiB.
func limitSpace(more uint64) func() {
	return func() {
		var ready, all sync.WaitGroup
		goOn := make(chan struct{})
		ready.Add(2 * workThreads)
		for range 2 * workThreads {
			all.Go(func() {
				deepen(8)
				ready.Done()
				<-goOn
			})
		}
		ready.Wait()
		close(goOn)
		all.Wait()
		limit(syscall.RLIMIT_AS, addressSpace()+more)()
	}
}

// deepen makes the stack larger.
//
//go:noinline
func deepen(n int) (sum byte) {
	var frame [256]byte
	if n > 0 {
		frame[n] = deepen(n - 1)
	}
	for _, b := range frame {
		sum += b
	}
	return sum
}

// limitFiles lets the process open no more files: what is open already stays.
func limitFiles() { limit(syscall.RLIMIT_NOFILE, 3)() }

func remove(file string) { must(os.Remove(file)) }

// fillUp leaves no room beside the flight file.
func fillUp(file string) {
	f, err := os.Create(filepath.Join(filepath.Dir(file), "rest"))
	must(err)
	for size := int64(1 << 20); size >= 4096; {
		info, err := f.Stat()
		must(err)
		if syscall.Fallocate(int(f.Fd()), 0, info.Size(), size) != nil {
			size /= 2
		}
	}
}

// tmpfsOf mounts a tmpfs of that size.
func tmpfsOf(bytes int) func(*testing.T) string {
	return func(t *testing.T) string { return filepath.Join(tmpfstest.Mount(t, bytes, 0), "flight") }
}

func readOnly(t *testing.T) string { return tmpfstest.Mount(t, 64<<20, syscall.MS_RDONLY) }

func othersDir(t *testing.T) string {
	dir := flighttest.Dir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAProgramThatRunsShortGivesTheSameResults(t *testing.T) {
	want := work(t, order{Shortage: "nothing"}, "VTSCOPE=off", "VTSCOPE_DIR="+flighttest.Dir(t))
	if want.Off != true || want.Threads != workThreads {
		t.Fatalf("without a recorder: got %+v, want %d threads", want, workThreads)
	}
	cases, skipped := 0, 0
	for name, s := range shortages {
		t.Run(strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "-"), func(t *testing.T) {
			skipped++
			if strings.Contains(name, "address space") {
				skipUnderRaceDetector(t)
			}
			if s.dir == nil {
				s.dir = func(t *testing.T) string { return flighttest.Dir(t) }
			}
			dir := s.dir(t)
			skipped--
			got := work(t, order{Shortage: name}, "VTSCOPE=", "VTSCOPE_DIR="+dir)
			if got.Sum != want.Sum || got.Threads != want.Threads {
				t.Errorf("got sum %d of %d threads, want %d of %d", got.Sum, got.Threads, want.Sum, want.Threads)
			}
			got.check(t, s)
			cases++
		})
	}
	t.Logf("%d shortages, %d skipped", cases, skipped)
	if cases+skipped != len(shortages) {
		t.Errorf("%d shortages were checked and %d skipped, want %d in sum", cases, skipped, len(shortages))
	}
}

// check compares what the recorder said with what it had to do without.
func (d done) check(t *testing.T, s shortage) {
	t.Helper()
	stderr := ""
	for line := range strings.Lines(d.stderr) {
		if !slices.ContainsFunc(s.might, func(might string) bool { return strings.Contains(line, might) }) {
			stderr += line
		}
	}
	d.stderr = stderr
	if s.warns == "" && d.stderr != "" || !strings.Contains(d.stderr, s.warns) {
		t.Errorf("it printed %q, want %q", d.stderr, s.warns)
	}
	told := map[string]bool{}
	for line := range strings.Lines(d.stderr) {
		subject, _, _ := strings.Cut(strings.TrimPrefix(line, "flight: "), ":")
		if told[subject] {
			t.Errorf("it printed more than once %q:\n%s", subject, d.stderr)
		}
		told[subject] = true
	}
	if d.Off != (s.lost == nil) {
		t.Errorf("got recorder off %v, want %v", d.Off, s.lost == nil)
	}
	if s.lost == nil {
		return
	}
	if hidden := d.File == ""; hidden != s.hidden {
		t.Errorf("got file %q, want one: %v", d.File, !s.hidden)
	}
	wanted := s.lost(d.Lost)
	for _, n := range wanted {
		if n == 0 {
			t.Errorf("got lost %+v, want what ran short in it", d.Lost)
		}
	}
	if wanted == nil && d.Lost.Any() {
		t.Errorf("got lost %+v, want nothing", d.Lost)
	}
	if want := workThreads; d.Recorded+int(d.Lost.Threads) != want {
		t.Errorf("got %d threads recorded and %d lost, want %d in sum", d.Recorded, d.Lost.Threads, want)
	}
}

// work runs a worker to its end.
func work(t *testing.T, o order, env ...string) (d done) {
	t.Helper()
	c := childOf(t, o, env...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { c.Process.Kill() })
	err := c.Wait()
	late.Stop()
	if err != nil {
		t.Fatalf("%v, it printed:\n%s", err, head(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		t.Fatalf("%q: %v", stdout.String(), err)
	}
	d.stderr = stderr.String()
	return d
}
