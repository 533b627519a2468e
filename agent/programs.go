package agent

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	procmem "github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A GoProgramList has the processes of Go programs on the agent's machine that it does not follow.
type GoProgramList struct {
	Rows    []GoProgramRow `json:"rows"`    // the newest first
	Missing string         `json:"missing"` // why none is told; "" if they are
}

// A GoProgramRow is one of them.
type GoProgramRow struct {
	PID        int    `json:"pid"`
	Program    string `json:"program"`
	GoVersion  string `json:"goVersion"`
	Module     string `json:"module"` // of its main package
	Started    int64  `json:"started"`
	Goroutines int    `json:"goroutines"`
	Problem    string `json:"problem"` // why they cannot be seen; "" if they can
	Try        string `json:"try"`     // what would help then
}

// whyNoPrograms says why the agent may follow no others than it does; nil: it may.
func (a *Agent) whyNoPrograms() error {
	switch {
	case a.options.self:
		return refusal{http.StatusConflict, "this agent shows the program that it is in, and no other", "vtserve on the same machine"}
	case len(a.options.PIDs) > 0:
		return refusal{http.StatusConflict, "this agent was started for certain pids alone", "vtserve without a PID"}
	case a.options.NoLocal:
		return refusal{http.StatusConflict, "this agent was started for files and other machines alone", "vtserve --local"}
	}
	return nil
}

// servePrograms looks for Go programs. That takes some milliseconds for each.
func (a *Agent) servePrograms(w http.ResponseWriter, _ *http.Request, _ *ask) error {
	list := GoProgramList{Rows: []GoProgramRow{}}
	if err := a.whyNoPrograms(); err != nil {
		list.Missing = err.Error()
		answer(w, http.StatusOK, list)
		return nil
	}
	a.searching.Lock()
	defer a.searching.Unlock()
	followed := map[int]bool{}
	for _, v := range a.views() {
		if v.row.Gone == 0 && v.from.asked == nil {
			followed[v.row.PID] = true
		}
	}
	for _, p := range procmem.GoProcesses(func(pid int) bool { return followed[pid] }) {
		row := GoProgramRow{PID: p.PID, Program: p.Program, GoVersion: p.GoVersion, Module: p.Module, Started: p.Start.UnixMilli(), Goroutines: p.Goroutines}
		if p.Err != nil {
			row.Problem = p.Err.Error()
			if denied := (*procmem.Denied)(nil); errors.As(p.Err, &denied) {
				row.Try = denied.Try
			}
		}
		list.Rows = append(list.Rows, row)
	}
	slices.SortStableFunc(list.Rows, func(a, b GoProgramRow) int { return int(b.Started - a.Started) })
	answer(w, http.StatusOK, list)
	return nil
}

// serveFollow begins to follow the goroutines of a process, until it ends or the agent does.
func (a *Agent) serveFollow(w http.ResponseWriter, r *http.Request, _ *ask) error {
	if err := a.whyNoPrograms(); err != nil {
		return err
	}
	pid, err := strconv.Atoi(r.PathValue("pid"))
	if err != nil || pid < 1 {
		return refusal{http.StatusBadRequest, fmt.Sprintf("%q is no pid", short(r.PathValue("pid"))), "GET /api/v1/programs"}
	}
	a.searching.Lock()
	defer a.searching.Unlock()
	for _, v := range a.views() {
		if v.row.PID == pid && v.row.Gone == 0 {
			answer(w, http.StatusOK, v.row)
			return nil
		}
	}
	key, ok := plainKey(pid)
	if !ok {
		return refusal{http.StatusNotFound, fmt.Sprintf("there is no process %d", pid), "GET /api/v1/programs"}
	}
	if live, _ := a.count(); live >= most {
		return refusal{http.StatusConflict, fmt.Sprintf("%d processes are followed already", most), "vtserve " + strconv.Itoa(pid)}
	}
	f, err := newPlainFollower(a, pid, key)
	if err != nil {
		try := "GET /api/v1/programs"
		if denied := (*procmem.Denied)(nil); errors.As(err, &denied) {
			try = denied.Try
		}
		status := http.StatusConflict
		if errors.Is(err, flight.ErrNoProcess) {
			status = http.StatusNotFound
		}
		return refusal{status, err.Error(), try}
	}
	if !a.start(f) {
		return errAgentClosed
	}
	answer(w, http.StatusOK, f.view().row)
	return nil
}
