package memory

import (
	"cmp"
	"slices"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A still is what a look has found of a goroutine that waited.
//
// Go's garbage collector stores in a goroutine that it meets in a wait when its cycle began, once in a cycle
// and only over 0, and who executes the goroutine makes it 0 again. So a goroutine that has the same moment
// there as before has not run in between. Only coroutines are executed by each other without that.
type still struct {
	at, id   uint64
	marked   int64
	reason   uint8
	stack    flight.StackID
	waitsFor uint64
	cases    []uint64
}

// keep notes what was found, for the next look. All but a few are sorted by address.
func (p *program) keep(all []goroutine) {
	if p.whole == 0 {
		p.whole = p.stacks.words
	}
	p.known, p.recalled = p.known[:0], 0
	for i := range all {
		if all[i].still {
			p.recalled++
		}
		if g := &all[i]; g.status == statusWaiting && g.marked != 0 && g.stack != 0 && p.reason(g.reason) != "coroutine" {
			p.known = append(p.known, still{g.at, g.id, g.marked, g.reason, g.stack, g.waitsFor, g.cases})
		}
	}
	slices.SortFunc(p.known, func(a, b still) int { return cmp.Compare(a.at, b.at) })
}

// recall sets what the look before found of a goroutine, if it has not run since.
func (p *program) recall(g *goroutine) bool {
	if g.status != statusWaiting || g.marked == 0 {
		return false
	}
	i, ok := slices.BinarySearchFunc(p.known, g.at, func(k still, at uint64) int { return cmp.Compare(k.at, at) })
	if !ok {
		return false
	}
	k := &p.known[i]
	if k.id != g.id || k.marked != g.marked || k.reason != g.reason {
		return false
	}
	g.still, g.stack, g.waitsFor, g.cases = true, k.stack, k.waitsFor, k.cases
	return true
}

// forget makes the next look a whole one if stacks that nobody has any more may take most of the room. It
// reports whether it did.
func (p *program) forget() bool {
	const little = 1 << 16
	if p.stacks.words <= 2*p.whole+little {
		return false
	}
	p.stacks, p.known, p.whole = newStackTable(p.module), nil, 0
	return true
}
