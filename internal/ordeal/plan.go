package ordeal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Args are those of a work. Works are pairs, 0 and 1, 2 and 3, and so on, that write to each other.
type Args struct {
	Number int
	Seed   uint64 // of the pair
	Rounds int    // beside those of the pair's exchange
	Pace   time.Duration
	Long   bool // it saves checkpoints
}

// Works returns n works, which must be even, of different lengths: the longest sleep for about as long as told, all in all.
func Works(seed uint64, n int, longest time.Duration) []Args {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	var all []Args
	for i := range n {
		a := Args{Number: i, Seed: random.Uint64(), Rounds: 4 + random.IntN(28), Long: random.IntN(4) == 0}
		if i%2 == 1 {
			a.Seed = all[i-1].Seed
		}
		sleeps := 1
		for _, r := range a.plan() {
			if r.move == "sleep" {
				sleeps++
			}
		}
		a.Pace = time.Duration(random.Float64() * float64(2*longest) / float64(sleeps)) // a sleep is half of it on average
		all = append(all, a)
	}
	return all
}

// ID returns the id of the work's thread.
func (a Args) ID() string { return workID(a.Number) }

func (a Args) partner() string { return workID(a.Number ^ 1) }

func workID(number int) string { return fmt.Sprintf("work-%d", number) }

// A round is what a work does next. Its name is part of the names of the round's steps.
type round struct {
	move string // of the table
	name string
	n    int
	pace time.Duration
}

// solo are the moves that a work makes by itself.
var solo = []string{"by key", "at least once", "at most once", "sleep", "sleep", "time", "random", "children", "wait in vain"}

// both are those that a pair makes.
var both = []string{"letter", "hand-over"}

// plan returns what the work does. It is the same each time.
func (a Args) plan() []round {
	pair := rand.New(rand.NewPCG(a.Seed, 0))
	exchange := make([]string, 1+pair.IntN(4))
	for i := range exchange {
		exchange[i] = both[pair.IntN(len(both))]
	}
	own := rand.New(rand.NewPCG(a.Seed, 1+uint64(a.Number)))
	var all []round
	for range a.Rounds {
		r := round{move: solo[own.IntN(len(solo))], n: 1 + own.IntN(3)}
		all = append(all, r)
	}
	places := make([]int, len(exchange))
	for i := range places {
		places[i] = own.IntN(a.Rounds + 1)
	}
	slices.Sort(places)
	for i, place := range places {
		all = slices.Insert(all, place+i, round{move: exchange[i], n: i})
	}
	all = append(all, round{move: "by key"}) // what was learned before lasts now: the body tells of it without a step when it returns
	for i := range all {
		all[i].name = fmt.Sprintf("%d %s", i, all[i].move)
		all[i].pace = time.Duration(own.Int64N(int64(a.Pace) + 1))
	}
	return all
}

// calls returns how many calls of the ledger a round makes that are recorded.
func (r round) calls() int {
	switch r.move {
	case "by key", "at least once", "at most once":
		return 1
	case "children":
		return r.n * childCalls
	}
	return 0
}
