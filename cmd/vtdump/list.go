package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// listFormat names the JSON document of a list.
const listFormat = "vtscope/processes/v1"

// A processesDoc is the list.
type processesDoc struct {
	Format    string   `json:"format"` // always [listFormat]
	Processes []listed `json:"processes"`
	Go        []goRow  `json:"go"` // other Go programs that run, whose goroutines can be looked at
}

// A goRow is a process of a Go program without vtscope.
type goRow struct {
	PID        int       `json:"pid"`
	UID        int       `json:"uid"`
	Program    string    `json:"program"`
	Exe        string    `json:"exe"`
	Module     string    `json:"module,omitempty"`
	GoVersion  string    `json:"go_version"`
	Started    time.Time `json:"started"`
	Goroutines int       `json:"goroutines"`
	Unread     string    `json:"unread,omitempty"` // why its goroutines cannot be looked at
}

// A listed process is a row of the list.
type listed struct {
	PID      int         `json:"pid"`
	UID      int         `json:"uid"`
	Program  string      `json:"program"`
	Exe      string      `json:"exe,omitempty"`
	Started  time.Time   `json:"started"`
	Status   dump.Status `json:"status"`
	LastSeen time.Time   `json:"last_seen"`
	Threads  int         `json:"threads"`
	File     string      `json:"file"`
}

// list prints the processes that have a flight file, and those of other Go programs.
func list(w world, s *settings) error {
	processes, errs := flight.List()
	slices.SortStableFunc(processes, func(a, b flight.Process) int {
		if x, y := a.Status.Live(), b.Status.Live(); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(b.Start.Compare(a.Start), cmp.Compare(a.PID, b.PID))
	})
	for _, err := range errs {
		report(w.stderr, err)
	}
	recorded := map[int]bool{}
	for _, p := range processes {
		recorded[p.PID] = recorded[p.PID] || p.Status.Live()
	}
	others := goRows(memory.GoProcesses(func(pid int) bool { return recorded[pid] }))
	var b bytes.Buffer
	if s.format == "json" {
		rows := make([]listed, len(processes))
		for i, p := range processes {
			rows[i] = listed{p.PID, p.UID, p.Program, p.Exe, p.Start, dump.Status(p.Status.String()), p.LastSeen, p.Threads, p.Path}
		}
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(processesDoc{listFormat, rows, others}); err != nil {
			return err
		}
	} else {
		if len(processes) > 0 {
			b.WriteString(table(processes, w.now(), s))
		}
		if len(others) > 0 {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(goTable(others, w.now(), s))
		}
	}
	if err := written(w.stdout.Write(b.Bytes())); err != nil {
		return err
	}
	switch {
	case len(processes) > 0, len(others) > 0:
	case len(errs) > 0:
		return hint{errors.New("no flight file could be read"), "vtdump as the user who runs the program"}
	case s.format != "json":
		fmt.Fprint(w.stderr, "no vtscope process found, and no other Go program\n"+
			"    try: start one; sudo vtdump for those of other users; or set VTSCOPE_DIR as the program has it\n")
	}
	return nil
}

func goRows(all []memory.GoProcess) []goRow {
	rows := make([]goRow, len(all))
	for i, p := range all {
		rows[i] = goRow{p.PID, p.UID, p.Program, p.Exe, p.Module, p.GoVersion, p.Start, p.Goroutines, ""}
		switch {
		case errors.Is(p.Err, flight.ErrPermission):
			rows[i].Unread = "its memory may not be read"
		case p.Err != nil:
			rows[i].Unread = p.Err.Error()
		}
	}
	slices.SortStableFunc(rows, func(a, b goRow) int { return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.PID, b.PID)) })
	return rows
}

// goTable aligns other Go programs in columns.
func goTable(all []goRow, now time.Time, s *settings) string {
	rows := [][]string{{"PID", "GO PROGRAM", "AGE", "GOROUTINES", "BUILT BY"}}
	for _, p := range all {
		n, by := dump.Thousands(p.Goroutines), p.GoVersion
		if p.Unread != "" {
			n, by = "?", by+"; "+p.Unread
		}
		rows = append(rows, []string{fmt.Sprint(p.PID), dump.Cut(dump.Printable(p.Program), 40), dump.Span(now.Sub(p.Started)), n, dump.Cut(dump.Printable(by), 60)})
	}
	return columns(rows, s)
}

// table aligns the processes in columns.
func table(processes []flight.Process, now time.Time, s *settings) string {
	rows := [][]string{{"PID", "PROGRAM", "AGE", "THREADS", "STATUS"}}
	for _, p := range processes {
		status := p.Status.String()
		end := now
		if !p.Status.Live() {
			end = p.LastSeen
			status += ", last seen " + dump.Span(now.Sub(end)) + " ago"
		}
		rows = append(rows, []string{
			fmt.Sprint(p.PID), dump.Cut(dump.Printable(p.Program), 40), dump.Span(end.Sub(p.Start)), dump.Thousands(p.Threads), status,
		})
	}
	return columns(rows, s)
}

// columns aligns rows of five columns, of which the first is the head.
func columns(rows [][]string, s *settings) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			if s.ascii {
				cell = dump.ASCII(cell)
				row[i] = cell
			}
			widths[i] = max(widths[i], dump.Columns(cell))
		}
	}
	right := []bool{true, false, true, true, false}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			space := strings.Repeat(" ", widths[i]-dump.Columns(cell))
			switch {
			case right[i]:
				b.WriteString(space + cell)
			case i == len(row)-1:
				b.WriteString(cell)
			default:
				b.WriteString(cell + space)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
