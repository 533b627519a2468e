package dump

import "testing"

// HoldAtMost makes passes of [Listing.ByScope] hold that many rows until the test ends.
func HoldAtMost(t *testing.T, rows int) {
	before := maxHeld
	maxHeld = rows
	t.Cleanup(func() { maxHeld = before })
}
