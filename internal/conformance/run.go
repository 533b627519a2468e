package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An outcome is what go test said of one test.
type outcome struct {
	ran    int    // how often it ended
	failed int    // of these
	skip   string // the reason of the last skip of it or of a part of it; "" if nothing was skipped
	output string // of a failed one
}

// outcomes are those of a package's tests, by name.
type outcomes map[string]*outcome

// of returns the outcome of the test that a subtest belongs to.
func (o outcomes) of(name string) *outcome {
	name, _, _ = strings.Cut(name, "/")
	if o[name] == nil {
		o[name] = new(outcome)
	}
	return o[name]
}

// kept is how much of a package's output is kept.
const kept = 1 << 20

var errNotRun = errors.New("some tests were not run, or not as often as asked")

// perProcess is how often a process runs its tests. The race detector keeps some kilobytes for ever of each coroutine that has
// ended (iter.Pull, Go 1.26), so a process that ran them a hundred times would take 30 GB.
const perProcess = 5

// run runs some tests of the package in a folder, so often. The error is that the package did not build, or failed beside its
// tests, or ended before they did; it has the text of a crash.
func run(dir string, names []string, count int, flags []string) (outcomes, error) {
	all := outcomes{}
	for ; count > 0; count -= perProcess {
		some, err := process(dir, names, min(count, perProcess), flags)
		all.merge(some)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (o outcomes) merge(more outcomes) {
	for name, m := range more {
		sum := o.of(name)
		sum.ran += m.ran
		sum.failed += m.failed
		sum.skip = cmp.Or(m.skip, sum.skip)
		sum.output += m.output
	}
}

// process is a part of run, in one process.
func process(dir string, names []string, count int, flags []string) (outcomes, error) {
	arguments := slices.Concat([]string{
		"test", "-json", "-vet=off", "-count", strconv.Itoa(count), "-run", "^(" + strings.Join(names, "|") + ")$",
	}, flags, []string{"."})
	command := exec.Command("go", arguments...)
	command.Dir = dir
	var complaint strings.Builder
	command.Stderr = &complaint
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	all, rest, err := read(stdout)
	err = errors.Join(err, command.Wait())
	failed, ran := false, true
	for _, name := range names {
		o := all.of(name)
		failed = failed || o.failed > 0
		ran = ran && o.ran == count
	}
	if err != nil && !failed || !ran {
		return all, fmt.Errorf("%s: %w\n%s%s", filepath.ToSlash(dir), cmp.Or(err, errNotRun), complaint.String(), rest)
	}
	return all, nil
}

// event is a line of go test -json.
type event struct {
	Action string
	Test   string
	Output string
}

// read takes the outcomes from what go test -json prints, and returns the output that belongs to no test that ended.
func read(r io.Reader) (all outcomes, rest string, err error) {
	all = outcomes{}
	said := map[string]string{} // what each test and subtest has printed that began and did not end
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, strings.Join(slices.Collect(maps.Values(said)), ""), err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			said[""] += string(line)
			continue
		}
		switch e.Action {
		case "run":
			said[e.Test] = ""
		case "output", "build-output":
			if len(said[e.Test]) < kept {
				said[e.Test] += e.Output
			}
		case "pass", "skip", "fail":
			if e.Test != "" {
				all.of(e.Test).add(e, said[e.Test])
				delete(said, e.Test)
			}
		}
	}
}

// add takes the end of a test, or of a part of it.
func (o *outcome) add(e event, said string) {
	part := strings.Contains(e.Test, "/")
	switch {
	case e.Action == "skip":
		o.skip = reason(said)
	case e.Action == "fail":
		o.output += said
		if !part {
			o.failed++
		}
	}
	if !part {
		o.ran++
	}
}

// reason is what a skipped test has printed, without go test's own lines.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			said = append(said, line)
		}
	}
	if said == nil {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
