package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// errNoName is what errors match of a target that nothing has the name of.
var errNoName = errors.New("no vtscope process and no file of this name")

// open finds what target names: a process by pid, a flight file by path, a process by program name, or
// else a flight file in the working directory.
// call is how vtdump was called, as "vtdump" or "vtdump scheduler": the next steps of errors begin with it.
func open(call, target string, now time.Time) (*flight.Reader, error) {
	if pid, err := strconv.Atoi(target); err == nil {
		return openPID(call, pid, target)
	}
	if strings.ContainsRune(target, filepath.Separator) || strings.ContainsRune(target, '/') {
		return openFile(call, target)
	}
	if target == "" {
		return nil, usageError{"the target is empty", "vtdump alone, for a list"}
	}
	processes, errs := flight.List()
	var live, gone []flight.Process
	for _, p := range processes {
		if p.Program != target {
			continue
		}
		if p.Status.Live() {
			live = append(live, p)
		} else {
			gone = append(gone, p)
		}
	}
	switch {
	case len(live) == 1:
		return openFile(call, live[0].Path)
	case len(live) > 1:
		return nil, ambiguous(call, target, live, now)
	case len(gone) == 1:
		return openFile(call, gone[0].Path)
	case len(gone) > 1:
		return nil, ambiguous(call, target, gone, now)
	}
	if _, err := os.Lstat(target); err == nil {
		return openFile(call, target)
	}
	names := make([]string, len(processes))
	for i, p := range processes {
		names[i] = p.Program
	}
	try := "vtdump, for a list"
	if process, at := splitMoment(target); at != "" && process != "" {
		try = "vtdump " + process + ", which shows it as it is now; a moment is of a recording: vtdump record " + process + ", then vtdump FILE.vtr@" + at
	}
	if near := nearest(target, names); near != "" {
		try = call + " " + near
	} else if near := nearest(target, commandWords()); near != "" && call == "vtdump" {
		try = "vtdump " + near + " TARGET; or " + try
	}
	return nil, hint{errors.Join(append([]error{fmt.Errorf("%s: %w", target, errNoName)}, errs...)...), try}
}

func ambiguous(call, target string, processes []flight.Process, now time.Time) error {
	const shown = 5
	var tries []string
	for _, p := range processes[:min(len(processes), shown)] {
		tries = append(tries, fmt.Sprintf("%s %d   (%s, started %s ago, %s)",
			call, p.PID, dump.Count(p.Threads, "thread"), dump.Span(now.Sub(p.Start)), p.Status))
	}
	if n := len(processes) - shown; n > 0 {
		tries = append(tries, fmt.Sprintf("vtdump   (lists all, %d more)", n))
	}
	return hint{fmt.Errorf("%s: %d processes have this name", target, len(processes)), strings.Join(tries, "\n     ")}
}

func openPID(call string, pid int, target string) (*flight.Reader, error) {
	if pid <= 0 {
		return nil, usageError{fmt.Sprintf("%s is no pid", target), "vtdump, for a list"}
	}
	r, err := flight.OpenPID(pid)
	if err == nil {
		r.NamesFrom(memory.Executable)
		return r, nil
	}
	if _, statErr := os.Lstat(target); statErr == nil && errors.Is(err, flight.ErrNoProcess) {
		return nil, hint{named(target, err), call + " ./" + target + ", for the file of this name"}
	}
	return nil, explain(call, target, err)
}

// openFile opens a flight file, and nothing whose opening or reading could wait.
func openFile(call, path string) (*flight.Reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, explain(call, path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, hint{fmt.Errorf("%s: %s, not a flight file", path, fileKind(info.Mode())), "vtdump, for a list"}
	}
	r, err := flight.Open(path)
	if err != nil {
		return nil, explain(call, path, err)
	}
	r.NamesFrom(memory.Executable)
	return r, nil
}

func fileKind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// explain adds the next step to an error of opening target.
func explain(call, target string, err error) error {
	try := ""
	switch {
	case errors.Is(err, flight.ErrNoProcess), errors.Is(err, fs.ErrNotExist):
		try = "vtdump, for a list"
	case errors.Is(err, flight.ErrPermission), errors.Is(err, fs.ErrPermission):
		try = "sudo " + call + " " + target + ", or as " + ownerOf(target)
	case errors.Is(err, flight.ErrNotVtscope):
		try = "vtdump, for a list; a program that imports the runtime is on it from 0.1 s after its start on, unless it runs with\n" +
			"     VTSCOPE=off or private, or with a VTSCOPE_DIR that is not set here. Of any other Go program there\n" +
			"     are the goroutines: vtdump PID; also waits, findings, top, check, and diff PID --every 5s"
	case errors.Is(err, flight.ErrFormat):
		try = "vtdump, for a list; a flight file is called PID-STARTTIME.flight"
	}
	return hint{named(target, err), try}
}

// named puts what an error is about before it, unless the error says it.
func named(target string, err error) error {
	if strings.Contains(err.Error(), target) {
		return err
	}
	return fmt.Errorf("%s: %w", target, err)
}
