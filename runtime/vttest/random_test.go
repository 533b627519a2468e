package vttest_test

import (
	"slices"
	"testing"

	"github.com/vtscope/vtscope/runtime/vttest"
)

func TestRandomNumbersAreThoseOfTheSeed(t *testing.T) {
	var drawn [][3]uint64
	run := func(o vttest.Options) {
		o.Run(t, func(t *testing.T) {
			r := vttest.Random(t)
			if r != vttest.Random(t) {
				t.Error("another source the second time")
			}
			drawn = append(drawn, [3]uint64{r.Uint64(), r.Uint64(), r.Uint64()})
		})
	}
	run(vttest.Options{Seed: "1234500050"})
	run(vttest.Options{Seed: "1234500050"})
	run(vttest.Options{Seed: "9234500050"})
	if drawn[0] != drawn[1] || slices.Contains(drawn[:2], drawn[2]) {
		t.Errorf("got %x", drawn)
	}
	defer func() {
		if recover() == nil {
			t.Error("numbers for a test that is no execution")
		}
	}()
	vttest.Random(t)
}
