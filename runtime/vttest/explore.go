package vttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
)

// An exploration is what has come of a plan.
type exploration struct {
	plan     plan
	tried    int
	distinct map[uint64]struct{}
	longest  int // choices
	differs  string
	last     *execution
	failed   *execution // nil: none
	skipped  bool
}

// explore executes f until it has failed, or often enough.
func (p plan) explore(t *testing.T, f func(t *testing.T)) *exploration {
	e := &exploration{plan: p, distinct: make(map[uint64]struct{})}
	random := rand.New(rand.NewPCG(p.base, 1))
	for e.tried < p.schedules {
		s := p.replay
		if s == 0 {
			s = e.seed(random)
		}
		x := p.execute(t, f, s)
		e.tried++
		e.distinct[x.trail] = struct{}{}
		e.longest = max(e.longest, x.choices)
		if e.tried == 2 {
			e.differs = difference(e.last, x)
		}
		e.last = x
		switch {
		case x.skipped:
			e.skipped = true
			return e
		case x.failed():
			e.failed = x
			return e
		case e.tried == 2 && e.longest == 0 && e.differs == "":
			return e // there are no others
		}
	}
	return e
}

// seed is that of the next execution. The first is executed twice.
func (e *exploration) seed(random *rand.Rand) seed {
	if e.tried == 1 {
		return e.last.seed
	}
	return makeSeed(random.Uint64()|1, e.longest, mix[e.tried%len(mix)])
}

// summary tells of an exploration that has found nothing.
func (e *exploration) summary() string {
	s := fmt.Sprintf("vttest: %d schedules passed, %d of them different, with at most %d choices", e.tried, len(e.distinct), e.longest)
	if e.plan.replay != 0 {
		s = fmt.Sprintf("vttest: the schedule with seed %v passed\n%v", e.last.seed, e.last.script())
	}
	return s + e.warning()
}

// warning tells of executions that cannot be repeated.
func (e *exploration) warning() string {
	if e.differs == "" {
		return ""
	}
	return "\nvttest: two executions with the same seed were different: something beside the scheduler decides (real time, a random number, the order of a map, a race between plain goroutines, a cache). The first difference:\n" + e.differs
}

// runs counts the calls of Run by test.
var runs struct {
	sync.Mutex
	of map[string]int
}

// baseOf is what the seeds of a test's next Run are drawn from.
func baseOf(test string) uint64 {
	runs.Lock()
	defer runs.Unlock()
	if runs.of == nil {
		runs.of = make(map[string]int)
	}
	runs.of[test]++
	h := fnv.New64a()
	h.Write([]byte(test + "#" + strconv.Itoa(runs.of[test])))
	return h.Sum64()
}
