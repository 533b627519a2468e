//go:build race

package survive

import "testing"

func skipUnderRaceDetector(t *testing.T) {
	t.Skip("needs address space that can be limited: the race detector takes all that there is")
}
