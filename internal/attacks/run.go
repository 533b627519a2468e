package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// A result is what came of an attack.
type result struct {
	runs    int    // that passed
	tries   int    // in all runs: those that a test tells, else its cases
	failed  int    // runs
	skipped string // why; "" if it was not
}

// An event is a line of go test -json.
type event struct {
	Action, Test, Output, Key, Value string
}

// A job is tests of one package that run in one process.
type job struct {
	dir, env string
	tests    []string
}

// jobs are those of the attacks, in the order of the table.
func jobs(all []attack) (found []job) {
	for _, a := range all {
		at := slices.IndexFunc(found, func(j job) bool { return j.dir == a.dir && j.env == a.env })
		if at < 0 {
			at = len(found)
			found = append(found, job{dir: a.dir, env: a.env})
		}
		found[at].tests = append(found[at].tests, a.test)
	}
	return found
}

// run tests a job so often, and says of each of its tests what came of it. What failed is written to out.
func (j job) run(out io.Writer, count int, flags []string) (map[string]*result, error) {
	args := append([]string{"test", "-C", j.dir, "-json", "-v", "-timeout", "60m", "-count", strconv.Itoa(count), "-run", "^(" + strings.Join(j.tests, "|") + ")$"}, flags...)
	c := exec.Command("go", append(args, ".")...)
	if j.env != "" {
		c.Env = append(os.Environ(), j.env)
	}
	var lines, complaints bytes.Buffer
	c.Stdout, c.Stderr = &lines, &complaints
	failed := c.Run()
	results, err := parse(&lines, out)
	for _, name := range j.tests {
		r := results[name]
		if r == nil || r.runs+r.failed == 0 && r.skipped == "" {
			err = errors.Join(err, fmt.Errorf("%s: %s did not run", j.dir, name))
		}
	}
	if err != nil {
		err = errors.Join(err, failed, errors.New(strings.TrimSpace(complaints.String())))
	}
	return results, err
}

// parse reads what go test -json says.
func parse(from io.Reader, out io.Writer) (map[string]*result, error) {
	results := map[string]*result{}
	cases := map[string]int{}    // of a run
	attempts := map[string]int{} // of a run
	output := map[string][]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if !bytes.HasPrefix(lines.Bytes(), []byte("{")) {
			continue // of the build
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		name, sub, isSub := strings.Cut(e.Test, "/")
		if name == "" {
			continue
		}
		r := results[name]
		if r == nil {
			r = &result{}
			results[name] = r
		}
		switch e.Action {
		case "output":
			if output[name] = append(output[name], e.Output); len(output[name]) > 400 {
				output[name] = output[name][200:]
			}
		case "attr":
			if n, err := strconv.Atoi(e.Value); err == nil && e.Key == "attempts" {
				attempts[name] += n
			}
		case "pass", "fail", "skip":
			if isSub {
				if e.Action == "pass" && sub != "" {
					cases[name]++
				}
				continue
			}
			r.tries += max(attempts[name], cases[name], 1)
			switch e.Action {
			case "pass":
				r.runs++
			case "fail":
				r.failed++
				fmt.Fprint(out, strings.Join(output[name], ""))
			case "skip":
				r.tries--
				r.skipped = reason(output[name])
			}
			delete(cases, name)
			delete(attempts, name)
			delete(output, name)
		}
	}
	return results, lines.Err()
}

// reason is why a test was skipped.
func reason(output []string) string {
	for _, line := range output {
		if file, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(file, "_test.go:") {
			return why
		}
	}
	return "for no reason that it says"
}
