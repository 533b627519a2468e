//go:build unix

package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// A storm is a running fixtures/storm.
type storm struct {
	pid     int
	took    time.Duration // until all threads were parked
	dir     string
	command *exec.Cmd
	stdin   io.Closer // the storm ends when it is closed
	stdout  io.Reader
}

// millionThreads starts a storm at the first call. [TestMain] ends it: starting it takes longer than looking at it.
var millionThreads = sync.OnceValues(func() (*storm, error) {
	s, err := startStorm(1_000_000)
	if err == nil {
		atExit = append(atExit, s.end)
	}
	return s, err
})

// atExit is what [TestMain] does at the end.
var atExit []func() error

var parkedLine = regexp.MustCompile(`threads parked in ([0-9.]+)s; pid (\d+);`)

// startStorm returns when all threads of the storm are parked.
func startStorm(threads int) (*storm, error) {
	dir, err := os.MkdirTemp("", "storm")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "storm")
	if out, err := exec.Command("go", "build", "-o", program, "../fixtures/storm").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build storm: %w\n%s", err, out)
	}
	s := &storm{dir: dir, command: exec.Command(program,
		"-threads", strconv.Itoa(threads), "-depth", "20", "-scopes", "7", "-hold", "0", "-exit-with-stdin")}
	stdin, err := s.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.stdin, s.stdout = stdin, stdout
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		m := parkedLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		seconds, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return nil, err
		}
		s.took = time.Duration(seconds * float64(time.Second))
		s.pid, err = strconv.Atoi(m[2])
		return s, err
	}
	return nil, errors.Join(errors.New("storm ended before its threads were parked"), s.end())
}

// end lets the storm release its threads, and waits for it.
func (s *storm) end() error {
	s.stdin.Close()
	io.Copy(io.Discard, s.stdout)
	return errors.Join(s.command.Wait(), os.RemoveAll(s.dir))
}
