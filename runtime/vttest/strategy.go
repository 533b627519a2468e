package vttest

import (
	"math/rand/v2"
	"slices"

	"github.com/vtscope/vtscope/runtime/sched"
)

// A strategy tells how an execution chooses between threads.
//
// Most bugs need few preemptions, at the right places. So most executions let a thread go on until it waits, but for a few places that are drawn (bounded). Others
// give the threads priorities, which starves some for long, and lower that of the first a few times (ranked, as in «A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs», Burckhardt and others, 2010). Some choose blindly (uniform).
type strategy uint8

// The strategies; a seed has 4 bits for them.
const (
	bounded0 strategy = iota // no preemption; who is next is drawn
	bounded1
	bounded2
	bounded3
	bounded4
	uniform // blind
	ranked0 // strict priorities
	ranked1 // the first is lowered once
	ranked2
	ranked3
	biased // blind, but three times of four the same thread goes on
)

// mix is the order in which strategies are tried, again and again. Measured with the planted bugs, and with three philosophers, blind choices find most in
// small programs: 10 to 75 of a hundred executions. The others are for large ones, in which a blind choice of 20 in a row is rare.
var mix = [...]strategy{bounded0, bounded1, uniform, ranked1, uniform, bounded2, uniform, ranked2, uniform, bounded3, uniform, biased}

// A chooser chooses in one execution.
type chooser struct {
	seed     seed
	random   *rand.Rand
	turns    []int // ascending: at which choices the strategy intervenes
	priority map[int]int
	lowest   int
	choices  int // that had an alternative
	stayed   int // for how many of them the same thread went on
	trail    uint64
}

func newChooser(s seed) *chooser {
	c := &chooser{seed: s, random: rand.New(rand.NewPCG(uint64(s), 0x76747363)), priority: make(map[int]int)}
	n := 0
	switch s.strategy() {
	case bounded1, bounded2, bounded3, bounded4:
		n = int(s.strategy() - bounded0)
	case ranked1, ranked2, ranked3:
		n = int(s.strategy() - ranked0)
	}
	for range n {
		c.turns = append(c.turns, c.random.IntN(max(s.length(), 1)))
	}
	slices.Sort(c.turns)
	return c
}

// loop is for how many choices a thread may go on while others can: it may wait for them in a loop.
const loop = 200

// choose returns the index in a.Ready of who goes on.
func (c *chooser) choose(a sched.Choice) (i int) {
	if len(a.Ready) == 1 {
		return 0
	}
	at := c.choices
	c.choices++
	running := -1
	if a.Running != 0 {
		running = slices.Index(a.Ready, a.Running)
	}
	defer func() {
		c.trail = (c.trail ^ uint64(a.Ready[i])) * 0x100000001b3
		if i == running {
			c.stayed++
		} else {
			c.stayed = 0
		}
	}()
	turn := len(c.turns) > 0 && at >= c.turns[0]
	if a.Yields && c.seed.strategy() != bounded0 && c.stayed < loop && c.random.IntN(4) == 0 {
		return running // others are not faster, though they could go on
	}
	switch c.seed.strategy() {
	case ranked0, ranked1, ranked2, ranked3:
		if running >= 0 && (a.Yields || turn || c.stayed >= loop) {
			c.lowest--
			c.priority[a.Running] = c.lowest
		}
		if running >= 0 && turn {
			c.turns = c.turns[1:]
		}
		return c.first(a.Ready)
	case biased:
		if running >= 0 && !a.Yields && c.stayed < loop && c.random.IntN(4) != 0 {
			return running
		}
	case uniform:
		if !a.Yields && c.stayed < loop {
			return c.random.IntN(len(a.Ready))
		}
	default:
		switch {
		case running < 0, a.Yields, c.stayed >= loop:
		case turn:
			c.turns = c.turns[1:]
		default:
			return running
		}
	}
	return c.other(len(a.Ready), running)
}

// other draws an index below n, but not the one not.
func (c *chooser) other(n, not int) int {
	if not < 0 {
		return c.random.IntN(n)
	}
	i := c.random.IntN(n - 1)
	if i >= not {
		i++
	}
	return i
}

// first is the index of the thread with the highest priority.
func (c *chooser) first(ready []int) (i int) {
	for j, n := range ready {
		if _, known := c.priority[n]; !known {
			c.priority[n] = 1 + c.random.IntN(1<<30)
		}
		if c.priority[n] > c.priority[ready[i]] {
			i = j
		}
	}
	return i
}
