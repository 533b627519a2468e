package journal

import "iter"

// WholesForTest is [Trees.Wholes] with pieces of another size.
func WholesForTest(t *Trees, size int) iter.Seq[[]Entry] { return t.wholes(size) }
