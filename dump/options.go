package dump

import (
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options says how [Take] folds. The zero value is usable.
type Options struct {
	// Filter leaves out the threads that it does not match, and the scopes that have none then. nil matches all.
	Filter *filter.Filter

	// Similar tells when two stacks count as one, and stand in one group: shown is the one that was met first.
	Similar Similarity

	// Templates folds sibling scopes whose names differ in numbers and ids only: see [Template]. Without it that is done where there are more than 500 lines of scopes.
	Templates bool

	// Examples is the number of example threads of each group, at most 5; 0 means 5, negative none.
	Examples int

	// MaxGroups bounds the memory that a snapshot takes: threads of further groups are only counted,
	// in [Snapshot.Rest]. 0 means 100,000.
	MaxGroups int

	since flight.ThreadID // count the threads of each group that have this id, or a lower one; 0: nobody asks
}
