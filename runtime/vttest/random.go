package vttest

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// sources are the random numbers of executions, by their T.
var sources sync.Map // *testing.T → *rand.Rand

// Random returns what draws the random numbers of the execution that t belongs to: the T that [Run] gives to its function, not one of a test of its own. The same seed
// draws the same, so a test can have faults at random places that are repeated with it. It returns the same each time; one thread at a time executes, so that all of them
// can use it. It panics for another T.
func Random(t *testing.T) *rand.Rand {
	r, ok := sources.Load(t)
	if !ok {
		panic("vttest: Random: not the T of an execution")
	}
	return r.(*rand.Rand)
}

// giveRandom makes the source of an execution, and returns what takes it away.
func giveRandom(t *testing.T, s seed) (take func()) {
	sources.Store(t, rand.New(rand.NewPCG(uint64(s), 0x72616e64)))
	return func() { sources.Delete(t) }
}
