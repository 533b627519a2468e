package jetstream

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

// What a broken connection has swallowed of an answer is missed, wherever it was.
func TestAHoleInAnAnswerIsSeen(t *testing.T) {
	header := func(last string) nats.Header { return nats.Header{"Nats-Last-Sequence": {last}} }
	for _, c := range []struct {
		last   string
		before uint64
		hole   bool
	}{{"0", 0, false}, {"7", 7, false}, {"7", 0, true}, {"9", 7, true}, {"", 7, true}, {"0", 7, true}} {
		if err := follows(header(c.last), c.before); errors.Is(err, errHole) != c.hole {
			t.Errorf("%q after %d: got %v, want a hole: %v", c.last, c.before, err, c.hole)
		}
	}
}
