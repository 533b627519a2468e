//go:build unix

package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
)

// works is a body whose calls tell that they are made, and that their results are seen.
func works(t *testing.T, tell func(format string, args ...any)) *durable.Registry {
	r := durable.NewRegistry()
	register(t, r, "work", func(th *durable.Thread, n int) (int, error) {
		sum := 0
		for i := range n {
			v, err := durable.Do(th, fmt.Sprint("step ", i), func(c durable.Call) (int, error) { tell("did %d", i); return i, nil }, durable.AtMostOnce)
			if err != nil {
				return 0, err
			}
			tell("saw %d %d", i, v) //durable:ok it is told again
			sum += v
		}
		return sum, nil
	})
	return r
}

// DU-13: a disk that is full in the middle of a record: the thread stops there, and goes on from what lasts when there is room again. The limit is the process's, so it has one of its own.
func TestAFullDiskStopsThreadsUntilThereIsRoom(t *testing.T) {
	const steps = 400
	if dir := os.Getenv("VTSCOPE_DURABLE_FULL"); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: 20_000}); err != nil {
			t.Fatal(err)
		}
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: works(t, func(format string, args ...any) { fmt.Printf(format+"\n", args...) }), Store: s})
		if err != nil {
			t.Fatal(err)
		}
		th, err := k.Start("one", "work", steps)
		if err != nil {
			t.Fatal(err)
		}
		err = th.Join()
		fmt.Println("ended:", errors.Is(err, durable.ErrStore) && errors.Is(err, syscall.EFBIG), err)
		if _, err := k.Start("two", "work", 1); err == nil {
			fmt.Println("a full store takes a thread")
		}
		_ = k.Close()
		return
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run=^TestAFullDiskStopsThreadsUntilThereIsRoom$")
	c.Env = append(os.Environ(), "VTSCOPE_DURABLE_FULL="+dir, "VTSCOPE=off")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ended: true") || strings.Contains(string(out), "a full store") {
		t.Fatalf("%v\n%s", err, out)
	}
	did, saw := map[string]int{}, 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "did ") {
			did[lines.Text()]++
		}
		if strings.HasPrefix(lines.Text(), "saw ") {
			saw++
		}
	}
	if saw == 0 || saw == steps {
		t.Fatalf("%d of %d steps before the disk was full", saw, steps)
	}
	again := 0
	k := open(t, dir, works(t, func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); strings.HasPrefix(line, "did ") {
			if did[line]++; did[line] > 1 {
				again++
			}
		}
	}))
	got, err := durable.Result[int](k.Thread("one"))
	if want := steps * (steps - 1) / 2; err == nil && got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	// The call whose result did not fit is not made again: nobody knows how it ended.
	if err != nil && err.Error() != durable.ErrInterruptedCall.Error() {
		t.Error(err)
	}
	if again != 0 {
		t.Errorf("%d calls were made again, at most once", again)
	}
	closed(t, k)
}

// DU-13: the folder is taken away under a keeper. A file that has no name can still be written and synchronized, but nothing is said to last that is gone.
func TestARemovedFolderStopsItsThreads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "threads")
	k := open(t, dir, works(t, func(string, ...any) {}))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err := k.Start("one", "work", 10)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want one that tells of %s", err, dir)
	}
	_ = k.Close()
}
