package agent

import (
	"cmp"
	"net/http"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// An Overview are the processes that this agent follows, side by side. Those of other agents their overviews have.
type Overview struct {
	Rows []OverviewRow `json:"rows"` // living ones first, newest first
}

// An OverviewRow is a process in the figures by which processes are compared.
type OverviewRow struct {
	ProcessRow
	Problem  string `json:"problem"`  // the last error in reading it; "" if none
	Taken    int64  `json:"taken"`    // when the snapshot was taken that the figures are of; 0: there is none yet
	Complete bool   `json:"complete"` // it is

	Counts     []int `json:"counts"` // threads by state
	Scopes     int   `json:"scopes"`
	Change     int   `json:"change"`     // of threads
	ChangeOver int64 `json:"changeOver"` // the time that Change is over; 0: too early to tell
	Oldest     int64 `json:"oldest"`     // the longest that a thread has waited
	Rates      Rates `json:"rates"`

	Errors   int    `json:"errors"` // findings by how bad they are
	Warnings int    `json:"warnings"`
	Infos    int    `json:"infos"`
	Worst    string `json:"worst"` // what the worst of them says; "": there is none
	Judged   bool   `json:"judged"`
	Dropped  uint64 `json:"dropped"` // that the recorder could not keep, since the process began
}

// overview is the process beside others.
func (v *view) overview() OverviewRow {
	row := OverviewRow{ProcessRow: v.row, Problem: v.problem, Counts: make([]int, flight.StateCount)}
	lost := v.rings.lost
	row.Dropped = lost.Events + lost.Threads + lost.Stacks + lost.Strings
	if v.row.Gone == 0 {
		r := v.rings.rates
		row.Rates = Rates{round(r.Starts), round(r.Ends), round(r.Switches), round(r.Events)}
	}
	if s := v.snapshot; s != nil {
		copy(row.Counts, s.States[:])
		row.Taken, row.Complete, row.Scopes, row.ChangeOver = s.Taken.UnixMilli(), s.Complete, s.ScopeCount, int64(s.ChangeOver)
		if len(s.Scopes) > 0 {
			row.Change = s.Scopes[0].Change
		}
		row.Oldest = int64(oldest(s))
	}
	if f := v.found; f != nil {
		row.Judged = true
		for i := range f.Findings {
			switch f.Findings[i].Severity {
			case dump.SeverityError:
				row.Errors++
			case dump.SeverityWarning:
				row.Warnings++
			default:
				row.Infos++
			}
		}
		if len(f.Findings) > 0 { // the worst comes first
			row.Worst = cmp.Or(f.Findings[0].What, f.Findings[0].Check)
		}
	}
	return row
}

// oldest is the longest wait of a thread.
func oldest(s *dump.Snapshot) (longest time.Duration) {
	for i := range s.Groups {
		if g := &s.Groups[i]; waits(g.State) {
			longest = max(longest, g.Wait.Max)
		}
	}
	return longest
}

// waits reports whether a thread in a state waits for something.
func waits(s flight.State) bool { return s != flight.StateMounted && s != flight.StateNew }

func (a *Agent) serveOverview(w http.ResponseWriter, _ *http.Request, _ *ask) error {
	out := Overview{Rows: []OverviewRow{}}
	for _, v := range a.views() {
		out.Rows = append(out.Rows, v.overview())
	}
	answer(w, http.StatusOK, out)
	return nil
}
