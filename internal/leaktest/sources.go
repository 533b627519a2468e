package leaktest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vtscope/vtscope/internal/procfs"
	"github.com/vtscope/vtscope/runtime/flight"
)

// shown is how many of one sort are printed.
const shown = 10

// threads returns those that the default recorder knows. It returns none with the recorder off, and with one that
// keeps to private memory.
func threads() (left []string, err error) {
	path := flight.Default().Path()
	if path == "" {
		return nil, nil
	}
	reader, err := flight.Open(path)
	if errors.Is(err, fs.ErrNotExist) { // closed by a test
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	_, err = reader.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			if len(left) < shown {
				left = append(left, fmt.Sprintf("#%d %q %v %v", row.ID, reader.ThreadName(row), row.State, row.Reason))
			}
		}
	})
	return left, err
}

// ours are the goroutines that live as long as the process: the testing package's, those of the default scheduler,
// and the one by which the flight recorder starts others outside of any synctest bubble.
var ours = []string{
	"testing.(*M).Run", "testing.RunTests", "testing.(*T).Run", "testing.runFuzzing", "testing.runFuzzTests",
	"os/signal.loop", "os/signal.signal_recv", "runtime.ensureSigM",
	"github.com/vtscope/vtscope/runtime/sched.init.",
	"github.com/vtscope/vtscope/runtime/sched.(*ForkJoin).",
	"github.com/vtscope/vtscope/runtime/sched.(*worker).wait",
	"github.com/vtscope/vtscope/runtime/sched.(*timerHeap).serve",
	"github.com/vtscope/vtscope/runtime/internal/coro.(*Routine).Idle",
	"github.com/vtscope/vtscope/runtime/flight.offer",
	"github.com/vtscope/vtscope/runtime/internal/poll.init.",
	"github.com/vtscope/vtscope/runtime/internal/poll.(*poller).run",
	"github.com/vtscope/vtscope/runtime/vfile.(*ring).serve",
	"github.com/vtscope/vtscope/runtime/vfile.(*ring).submitter",
	"github.com/vtscope/vtscope/runtime/vfile.(*helpers).serve",
}

// goroutines returns the stacks of all but the calling goroutine and those with an allowed function.
func goroutines(allowed []string) (left []string) {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		header, rest, _ := strings.Cut(stack, "\n")
		if strings.Contains(header, "[running]") || has(rest, allowed) {
			continue
		}
		if len(left) < shown {
			left = append(left, stack)
		}
	}
	return left
}

func has(stack string, functions []string) bool {
	for line := range strings.Lines(stack) {
		for _, f := range functions {
			if strings.HasPrefix(line, f) {
				return true
			}
		}
	}
	return false
}

func stacks() string {
	for buf := make([]byte, 1<<16); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return strings.TrimSpace(string(buf[:n]))
		}
	}
}

// files returns the flight files of this process that are open, mapped, or still have a name beside those of
// other processes. Systems without a /proc have none to look at.
func files() (left []string, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, nil
	}
	for line := range strings.Lines(string(maps)) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".flight") {
			left = append(left, "mapped: "+line[strings.IndexByte(line, '/'):])
		}
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return left, err
	}
	for _, fd := range descriptors {
		// A descriptor may be closed meanwhile, like the one of the reading of this folder.
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.Contains(target, ".flight") {
			left = append(left, "open: "+target)
		}
	}
	self, err := procfs.SelfStat()
	if err != nil {
		return left, err
	}
	// Not by the process id alone: a process that had it before, and was killed, has left its own.
	own, err := filepath.Glob(fmt.Sprintf("/dev/shm/vtscope-%d/%d-%d[^0-9]*", os.Getuid(), os.Getpid(), self.Start))
	for _, name := range own {
		left = append(left, "not removed: "+name)
	}
	return left, err
}
