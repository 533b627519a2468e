package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func TestTheOverviewHasWhatProcessesAreComparedBy(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	var o Overview
	until(t, "a judged process", func() bool {
		if err := json.Unmarshal(get(t, s.URL+"/api/v1/overview", 200), &o); err != nil {
			t.Fatal(err)
		}
		return len(o.Rows) == 1 && o.Rows[0].Judged && o.Rows[0].Taken > 0
	})
	row := o.Rows[0]
	if row.Counts[flight.StateParked] != 79 || row.Counts[flight.StateBlocked] != 20 || row.Scopes != 4 || row.Threads != 100 || !row.Complete || row.Problem != "" {
		t.Errorf("row %+v, want 79 parked and 20 blocked in 4 scopes", row)
	}
	if row.Oldest < int64(59*time.Second) || row.Oldest > int64(time.Hour) {
		t.Errorf("the longest wait is %v, want a minute", time.Duration(row.Oldest))
	}
	v := shown(t, a)
	if n := len(v.found.Findings); row.Errors+row.Warnings+row.Infos > 0 && row.Worst == "" || n > 0 && row.Worst == "" {
		t.Errorf("%d findings, and %+v", n, row)
	}
}

func TestTheOverviewCountsFindingsByTheirSeverity(t *testing.T) {
	v := shown(t, start(t, Options{Dirs: []string{flighttest.Write(t, small()).Dir}}))
	w := *v
	w.found = someFindings()
	row := w.overview()
	if row.Errors != 1 || row.Warnings != 2 || row.Infos != 1 || row.Worst != "two threads wait for each other" {
		t.Errorf("row %+v, want an error, two warnings and an info", row)
	}
}

// someFindings are an error, two warnings and an info.
func someFindings() *dump.Findings {
	return &dump.Findings{Findings: []dump.Finding{
		{Severity: dump.SeverityError, What: "two threads wait for each other"}, {Severity: dump.SeverityWarning}, {Severity: dump.SeverityWarning}, {Severity: dump.SeverityInfo},
	}}
}
