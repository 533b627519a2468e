package vttest

import (
	"testing"
	"time"
)

// SetLeakPatience changes how long [NoLeak] waits, until the test has ended.
func SetLeakPatience(t *testing.T, d time.Duration) {
	was := leakPatience
	leakPatience = d
	t.Cleanup(func() { leakPatience = was })
}

// A Result is what has come of an exploration.
type Result struct {
	Failed bool
	Tried  int
	Seed   string // of the last execution
	Script string // of it
	Report string // if it has failed, and else a summary
}

// Explore is [Options.Run] that does not fail t. Only failures that the simulation finds by itself are none of t's. Base is what the seeds are drawn from.
func Explore(t *testing.T, o Options, base uint64, f func(t *testing.T)) Result {
	t.Helper()
	p, err := o.plan(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	p.base = base
	e := p.explore(t, f)
	r := Result{Failed: e.failed != nil, Tried: e.tried, Report: e.summary()}
	x := e.last
	if r.Failed {
		x, r.Report = e.failed, e.report(t.Name())
	}
	r.Seed, r.Script = x.seed.String(), x.script().String()
	return r
}
