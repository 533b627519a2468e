package leaktest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// patience is how long things may take to end after the last test, on a busy machine too.
const patience = time.Minute

// An Option changes what [Main] looks for.
type Option func(*options)

type options struct {
	allowed []string
	sources []source
}

// A source tells what is left of one sort of things; none when nothing is.
type source struct {
	what string
	left func() ([]string, error)
}

// Allow lets goroutines live in whose stack a function's full name, with its package's path, begins so.
func Allow(function string) Option {
	return func(o *options) { o.allowed = append(o.allowed, function) }
}

// Also adds something to count. The function returns a line for each thing that is left, and is called until
// it returns none, or too much time has passed.
func Also(what string, left func() []string) Option {
	return func(o *options) {
		o.sources = append(o.sources, source{what, func() ([]string, error) { return left(), nil }})
	}
}

// Main runs the tests, closes the default flight recorder, looks for leaks if all tests passed, and exits.
func Main(m *testing.M, opts ...Option) {
	code := m.Run()
	if code == 0 {
		o := options{allowed: ours}
		for _, opt := range opts {
			opt(&o)
		}
		if lines := o.find(patience); len(lines) > 0 {
			fmt.Fprintf(os.Stderr, "leaktest: left after the tests:\n%s\n", strings.Join(lines, "\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// find closes the default recorder on the way: before, it can tell of threads, and after, nothing of it may
// be left.
func (o options) find(patience time.Duration) []string {
	deadline := time.Now().Add(patience)
	lines := settle(deadline, append(o.sources, source{"thread", threads})...)
	if err := flight.Close(); err != nil {
		lines = append(lines, fmt.Sprintf("close the flight recorder: %v", err))
	}
	return append(lines, settle(deadline,
		source{"timer", timers},
		source{"goroutine", func() ([]string, error) { return goroutines(o.allowed), nil }},
		source{"file", files},
	)...)
}

// timers tells of armed timers of threads, whose number is all that there is to tell.
func timers() ([]string, error) {
	if n := sched.ArmedTimers(); n > 0 {
		return []string{fmt.Sprintf("of sleeps and timed parks: %d armed", n)}, nil
	}
	return nil, nil
}

// settle waits until no source has anything left, or returns a line for each thing.
func settle(deadline time.Time, sources ...source) (lines []string) {
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		lines = nil
		for _, s := range sources {
			left, err := s.left()
			if err != nil {
				lines = append(lines, fmt.Sprintf("%s: %v", s.what, err))
			}
			for _, line := range left {
				lines = append(lines, s.what+" "+line)
			}
		}
		if len(lines) == 0 || time.Now().After(deadline) {
			return lines
		}
		time.Sleep(wait)
	}
}
