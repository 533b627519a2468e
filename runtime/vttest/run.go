package vttest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Options change what [Options.Run] does. A zero field means its default.
type Options struct {
	// Schedules is how many executions are tried. The environment variable VTSCOPE_SCHEDULES and the flag -vt.schedules replace it. Default: 200.
	Schedules int

	// Seed, if it is not empty, is that of the only execution. VTSCOPE_SEED and the flag -vt.seed replace it.
	Seed string

	// Choices is how many choices between threads an execution may have: one with more does not end. Default: 100,000.
	Choices int

	// Carriers is how many threads there can be at most that execute, or wait while they are pinned and so keep their carriers. If all do, others that could go
	// on wait, as they do with a [sched.ForkJoin] that may add no carrier. Default: any number.
	Carriers int

	// Patience is how long, in real time, a thread may block in a way that the simulation does not see; it may compute ten times as long. Default: 3 s.
	Patience time.Duration
}

var flags struct {
	schedules int
	seed      string
}

func init() {
	flag.IntVar(&flags.schedules, "vt.schedules", 0, "how many schedules vttest.Run tries; default 200, or $VTSCOPE_SCHEDULES")
	flag.StringVar(&flags.seed, "vt.seed", "", "the one schedule that vttest.Run executes, by its seed; default $VTSCOPE_SEED")
}

// Run is [Options.Run] with the default options.
func Run(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	Options{}.Run(t, f)
}

// Run calls f on a thread of its own, named "test", once for each schedule that it tries, and waits until all threads have ended that it has started. It stops at
// the first schedule in which f has failed, a panic was not handled, or threads are left that cannot go on: then it fails t, and prints the seed and the
// steps of the threads. Which schedules are tried depends on the test's name, and on how often it has called Run: so they are the same ones each time,
// and -count=10 tries ten times as many.
//
// f has a T of its own, with the restrictions that synctest.Test documents. Its log is that of all schedules. f that skips skips t.
//
// Run must not be called on a thread or within a synctest bubble.
func (o Options) Run(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	p, err := o.plan(t.Name())
	if err != nil {
		t.Fatalf("vttest: %v", err)
	}
	e := p.explore(t, f)
	switch {
	case e.failed != nil:
		t.Fatal(e.report(t.Name()))
	case e.skipped:
		t.SkipNow()
	default:
		t.Log(e.summary())
	}
}

// A plan is what options, environment and flags come to.
type plan struct {
	schedules int
	base      uint64 // of the seeds
	replay    seed   // 0: none
	choices   int
	carriers  int
	patience  time.Duration
}

func (o Options) plan(test string) (p plan, err error) {
	p = plan{schedules: 200, choices: 100_000, patience: 3 * time.Second, base: baseOf(test)}
	for _, from := range []struct {
		what      string
		schedules string
		seed      string
	}{
		{"options", number(o.Schedules), o.Seed},
		{"environment", os.Getenv("VTSCOPE_SCHEDULES"), os.Getenv("VTSCOPE_SEED")},
		{"flags", number(flags.schedules), flags.seed},
	} {
		if from.schedules != "" {
			if p.schedules, err = strconv.Atoi(from.schedules); err == nil && p.schedules < 1 {
				err = errors.New("must be positive")
			}
			if err != nil {
				return p, fmt.Errorf("%s: schedules %s: %w", from.what, from.schedules, err)
			}
		}
		if from.seed != "" {
			if p.replay, err = parseSeed(from.seed); err != nil {
				return p, fmt.Errorf("%s: seed %q: %w", from.what, from.seed, err)
			}
		}
	}
	if p.replay != 0 {
		p.schedules = 1
	}
	if o.Choices < 0 || o.Carriers < 0 || o.Patience < 0 {
		return p, fmt.Errorf("options: choices %d, carriers %d, patience %v: must not be negative", o.Choices, o.Carriers, o.Patience)
	}
	p.carriers = o.Carriers
	if o.Choices > 0 {
		p.choices = o.Choices
	}
	if o.Patience > 0 {
		p.patience = o.Patience
	}
	return p, nil
}

// number is n as a setting: empty for none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// A seed determines an execution: 44 random bits, then 16 for about how many choices there are, then 4 for the strategy.
type seed uint64

const (
	strategyBits = 4
	lengthBits   = 16
)

func makeSeed(random uint64, length int, s strategy) seed {
	length = min(length, 1<<lengthBits-1)
	return seed(random<<(lengthBits+strategyBits) | uint64(length)<<strategyBits | uint64(s))
}

func (s seed) strategy() strategy { return strategy(s & (1<<strategyBits - 1)) }
func (s seed) length() int        { return int(s >> strategyBits & (1<<lengthBits - 1)) }
func (s seed) String() string     { return fmt.Sprintf("%016x", uint64(s)) }

func parseSeed(text string) (seed, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err == nil && v == 0 {
		err = errors.New("must not be 0")
	}
	return seed(v), err
}
