package goroutines

import (
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Goroutine is one that somebody else has found.
type Goroutine struct {
	roster.Thread        // State, Reason, Flags and More are those of Why
	Why           string // its wait reason, or the state that stands in its place, as Go prints them: "chan receive", "running"
	Locked        bool   // to its OS thread
}

// A Builder adds goroutines to a roster.
type Builder struct{ r *reader }

// NewBuilder returns a builder of a roster.
func NewBuilder(out *roster.Roster) *Builder { return &Builder{newReader(out)} }

// Add adds a goroutine.
func (b *Builder) Add(g Goroutine) { b.r.add(g.Thread, g.Why, g.Locked, 1) }

// Place returns the scope that labels are.
func (b *Builder) Place(labels []Label) flight.ScopeIndex {
	at, _ := b.r.place(labels)
	return at
}
