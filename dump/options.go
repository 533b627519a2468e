package dump

// Options says how [Take] folds. The zero value is usable.
type Options struct {
	// Examples is the number of example threads of each group, at most 5; 0 means 5, negative none.
	Examples int

	// MaxGroups bounds the memory that a snapshot takes: threads of further groups are only counted,
	// in [Snapshot.Rest]. 0 means 100,000.
	MaxGroups int
}
