//go:build unix

package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

// A program is a running child that ends when its standard input does.
type program struct {
	line    string // that it was waited for
	pid     int
	command *exec.Cmd
	stdin   io.Closer
	stdout  io.Reader
}

// A storm is a running fixtures/storm.
type storm struct {
	*program
	took time.Duration // until all threads were parked
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

var (
	pidInLine  = regexp.MustCompile(`pid (\d+)`)
	timeInLine = regexp.MustCompile(`parked in ([0-9.]+)s`)
)

// startStorm returns when all threads of the storm are parked.
func startStorm(threads int) (*storm, error) {
	file, err := childtest.Program(nil, "./fixtures/storm")
	if err != nil {
		return nil, err
	}
	p, err := startProgram("threads parked in", exec.Command(file,
		"-threads", strconv.Itoa(threads), "-depth", "20", "-scopes", "7", "-hold", "0", "-exit-with-stdin"))
	if err != nil {
		return nil, err
	}
	m := timeInLine.FindStringSubmatch(p.line)
	if m == nil {
		return nil, fmt.Errorf("storm: no time in %q", p.line)
	}
	seconds, err := strconv.ParseFloat(m[1], 64)
	return &storm{p, time.Duration(seconds * float64(time.Second))}, err
}

// startProgram returns when the program has printed a line with the words, and its pid.
func startProgram(words string, c *exec.Cmd) (*program, error) {
	stdin, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &program{command: c, stdin: stdin, stdout: stdout}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if p.line = lines.Text(); !strings.Contains(p.line, words) {
			continue
		}
		m := pidInLine.FindStringSubmatch(p.line)
		if m == nil {
			return nil, fmt.Errorf("no pid in %q", p.line)
		}
		p.pid, err = strconv.Atoi(m[1])
		return p, err
	}
	return nil, errors.Join(fmt.Errorf("%s ended before it printed %q", c, words), p.end())
}

// end closes the program's standard input and waits for it.
func (p *program) end() error {
	p.stdin.Close()
	io.Copy(io.Discard, p.stdout)
	return p.command.Wait()
}
