package dumptest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Limits are what must hold at the end of a test. The zero value has none.
type Limits struct {
	MaxThreads *int     // there are at most so many threads
	MaxGrowth  *int     // there are at most so many more than when Check was called
	MaxPercent *float64 // the same in percent of those that there were then
	NoPins     bool     // no thread blocked and held its carrier since Check was called
	NoDeadlock bool     // no threads wait for each other in a circle; where waits cannot be judged, the test's log says so
	// NoLeaks are paths of scopes, such as "requests" or "shop/GET*", in which no thread is left, nor any such scope without its owner; "root" is all threads.
	NoLeaks []string

	Filter string        // the threads that the limits are about, as of vtdump --filter; "": all
	Within time.Duration // how long what ends may take to end; 0 means 5s
}

// usualPatience is how long threads may take to end after a test.
const usualPatience = 5 * time.Second

// Check fails t if the limits do not hold when t ends, and what it cleans up has ended; it tells of threads and places what vtdump check tells. It is called
// first in a test.
//
// Where there is no flight file, because the recorder is off or keeps its memory private, nothing is checked, and the test's log says so.
func Check(t testing.TB, l Limits) {
	t.Helper()
	f, err := filter.Parse(l.Filter)
	if err != nil {
		t.Errorf("dumptest: filter %q: %v", l.Filter, err)
		return
	}
	if l.Within == 0 {
		l.Within = usualPatience
	}
	r, err := open()
	if err != nil {
		t.Errorf("dumptest: %v", err)
		return
	}
	if r == nil {
		t.Log("dumptest: nothing is checked: there is no flight file")
		return
	}
	o := dump.Options{Filter: f}
	from, err := dump.TakeBaseline(context.Background(), r, o) // the test's context ends before its clean-up
	if err != nil {
		t.Errorf("dumptest: %v", errors.Join(err, r.Close()))
		return
	}
	t.Cleanup(func() {
		v, err := await(r, l, from, o)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Errorf("dumptest: %v", err)
			return
		}
		if v.Failed() > 0 {
			t.Errorf("dumptest: %s", text(v))
		} else if v.Unknown() > 0 {
			t.Logf("dumptest: %s", text(v))
		}
	})
}

// open returns the flight file of this process, nil if there is none.
func open() (*flight.Reader, error) {
	recorder := flight.Default()
	if recorder == nil || recorder.Path() == "" {
		return nil, nil
	}
	return flight.Open(recorder.Path())
}

// await judges until the limits hold, or the time is over.
func await(r *flight.Reader, l Limits, from *dump.Baseline, o dump.Options) (*dump.Verdict, error) {
	limits := dump.Limits{MaxThreads: l.MaxThreads, MaxGrowth: l.MaxGrowth, MaxPercent: l.MaxPercent, NoPins: l.NoPins, NoDeadlock: l.NoDeadlock, NoLeaks: l.NoLeaks}
	deadline := time.Now().Add(l.Within)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		late := time.Now().After(deadline)
		v, err := dump.Judge(context.Background(), r, limits, from, o)
		if err != nil || v.Failed() == 0 || late || !mayEnd(v) {
			return v, err
		}
		time.Sleep(wait)
	}
}

// mayEnd reports whether all that fails is threads, which may end: pins do not become fewer.
func mayEnd(v *dump.Verdict) bool {
	for i := range v.Limits {
		if x := &v.Limits[i]; !x.Kept && !x.Unknown && x.Limit == "no-pins" {
			return false
		}
	}
	return true
}

func text(v *dump.Verdict) string {
	var b bytes.Buffer
	_ = dump.VerdictText(&b, v, strconv.Itoa(os.Getpid()), dump.TextOptions{Width: 120}) // of a Buffer
	return b.String()
}
