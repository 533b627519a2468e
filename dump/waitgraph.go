package dump

import (
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// byCarriers is the kind of the blocker that stands for the carriers of a scheduler. No record has it.
const byCarriers flight.BlockerKind = 0x7f

func carriersOf(id flight.SchedulerID) flight.Blocker {
	return flight.MakeBlocker(byCarriers, uint64(id))
}

// A waitNode is something that is waited for without a time limit.
//
//	G1  A node is stuck if nothing that is known can end the wait for it. At first all nodes count as stuck; free takes those away that
//	    are not, until no more are. What is left are circles, and what waits for them.
//	G2  An "all" node, such as a mutex or the threads of a scope, is stuck while one of its links leads to a stuck node.
//	G3  An "any" node, such as a semaphore or the carriers of a scheduler, is stuck while all of its links do, and no holder is unknown.
//	G4  Whatever is not known (a condition, an unknown holder, a goroutine that does not wait) counts as able to go on: so nothing is called a
//	    deadlock that might be none, except that somebody who is not known to hold a lock may still unlock it.
type waitNode struct {
	blocker flight.Blocker
	links   []waitLink // what keeps it
	back    []int32    // nodes that have a link to it
	any     bool
	open    bool // somebody who can go on, or is not known, can end the wait
	stuck   bool
	support int   // links to stuck nodes
	lock    int32 // 1 + the deadlock it is part of or waits for
}

// A waitLink leads from a node to what one of those waits for who keep it.
type waitLink struct {
	to   int32
	by   waiter
	pair int32        // in waitPairs.all: others that wait as it does; -1: it is one
	held flight.Ticks // since when it keeps the node; 0: not known
	role string
}

type waitGraph struct {
	nodes []waitNode
	at    map[flight.Blocker]int32
}

func (g *waitGraph) node(b flight.Blocker) int32 {
	i, ok := g.at[b]
	if !ok {
		i = int32(len(g.nodes))
		g.nodes = append(g.nodes, waitNode{blocker: b, stuck: true})
		g.at[b] = i
	}
	return i
}

// link notes that whoever by is keeps node i, and waits itself for what the other node is.
func (g *waitGraph) link(i int32, l waitLink) {
	g.nodes[i].links = append(g.nodes[i].links, l)
	g.nodes[l.to].back = append(g.nodes[l.to].back, i)
}

// free finds out which nodes are stuck (G1).
func (g *waitGraph) free() {
	var todo []int32
	release := func(i int32) {
		if n := &g.nodes[i]; n.stuck {
			n.stuck = false
			todo = append(todo, i)
		}
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		n.support = len(n.links)
		if n.support == 0 || n.open {
			release(int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, b := range g.nodes[i].back {
			n := &g.nodes[b]
			if n.support--; n.any || n.support == 0 {
				release(b)
			}
		}
	}
}

// circles returns the sets of stuck nodes that can all be reached from each other: the strongly connected ones (Tarjan), without recursion
// since a chain may have a million nodes.
func (g *waitGraph) circles() [][]int32 {
	const unseen = 0
	var (
		found   [][]int32
		order   = make([]int32, len(g.nodes)) // 1 + when it was met
		low     = make([]int32, len(g.nodes))
		on      = make([]bool, len(g.nodes))
		path    []int32
		count   int32
		calls   []int32 // nodes being looked at
		nextOut = make([]int32, len(g.nodes))
	)
	enter := func(i int32) {
		count++
		order[i], low[i] = count, count
		on[i] = true
		path = append(path, i)
		calls = append(calls, i)
	}
	for start := range g.nodes {
		if !g.nodes[start].stuck || order[start] != unseen {
			continue
		}
		enter(int32(start))
		for len(calls) > 0 {
			i := calls[len(calls)-1]
			n := &g.nodes[i]
			if int(nextOut[i]) < len(n.links) {
				to := n.links[nextOut[i]].to
				nextOut[i]++
				switch {
				case !g.nodes[to].stuck:
				case order[to] == unseen:
					enter(to)
				case on[to]:
					low[i] = min(low[i], order[to])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1]
				low[up] = min(low[up], low[i])
			}
			if low[i] != order[i] {
				continue
			}
			at := slices.Index(path, i)
			set := slices.Clone(path[at:])
			path = path[:at]
			for _, m := range set {
				on[m] = false
			}
			if len(set) > 1 || slices.ContainsFunc(n.links, func(l waitLink) bool { return l.to == i }) {
				found = append(found, set)
			}
		}
	}
	return found
}

// circle returns the links of a shortest way from a node of a set back to it, within the set.
func (g *waitGraph) circle(set []int32) []waitLink {
	in := map[int32]bool{}
	for _, i := range set {
		in[i] = true
	}
	start := slices.Min(set)
	type step struct {
		from int32
		link int
	}
	came := map[int32]step{}
	todo := []int32{start}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		for at, l := range g.nodes[i].links {
			if !in[l.to] {
				continue
			}
			if _, ok := came[l.to]; !ok {
				came[l.to] = step{i, at}
				todo = append(todo, l.to)
			}
			if l.to != start {
				continue
			}
			var links []waitLink
			for back := start; len(links) == 0 || back != start; {
				s := came[back]
				links = append(links, g.nodes[s.from].links[s.link])
				back = s.from
			}
			slices.Reverse(links)
			return links
		}
	}
	return nil
}

// mark gives the stuck nodes that are of a set or lead to it a deadlock.
func (g *waitGraph) mark(set []int32, deadlock int) {
	todo := slices.Clone(set)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n := &g.nodes[i]; n.stuck && n.lock == 0 {
			n.lock = int32(deadlock)
			todo = append(todo, n.back...)
		}
	}
}
