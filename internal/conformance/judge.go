package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// mistakes returns a line for each disagreement of table and tests: codes that nobody knows, rows that stand twice, and
// behaviours of no meaning that have a test.
func mistakes(table []group, tests []test) (lines []string) {
	rows := map[string]behaviour{}
	for _, g := range table {
		for _, b := range g.rows {
			if _, twice := rows[b.code]; twice {
				lines = append(lines, fmt.Sprintf("%s stands twice in the table", b.code))
			}
			if !strings.HasPrefix(b.code, g.name+"-") {
				lines = append(lines, fmt.Sprintf("%s stands in group %s", b.code, g.name))
			}
			rows[b.code] = b
		}
	}
	for _, t := range tests {
		for _, code := range t.codes {
			b, ok := rows[code]
			switch {
			case !ok:
				lines = append(lines, fmt.Sprintf("%s: %s: the table has no %s", t.at, t.name, code))
			case b.kind == isNotApplicable:
				lines = append(lines, fmt.Sprintf("%s: %s: the table calls %s not applicable: %s", t.at, t.name, code, b.why))
			}
		}
	}
	return lines
}

// A ran is what happened to all tests, by their folders.
type ran map[string]outcomes

// miss says why a behaviour that should be tested does not pass; "" if it does.
func (r ran) miss(code string, tests []test) string {
	found := false
	for _, t := range tests {
		if !slices.Contains(t.codes, code) {
			continue
		}
		found = true
		o := r[t.dir][t.name]
		switch {
		case o == nil || o.ran == 0:
			return t.name + " did not run"
		case o.failed > 0:
			return t.name + " failed"
		case o.skip != "":
			return t.name + " was skipped: " + o.skip
		}
	}
	if !found {
		return "no test names it"
	}
	return ""
}

// report prints a line for each group, GROUP passing/not-applicable/missing, then what is missing and what waits, and the
// sums. It returns how many behaviours are missing.
func report(w io.Writer, table []group, tests []test, r ran) (missing int) {
	var passing, notApplicable int
	var misses []string
	waiting := map[string][]string{}
	for _, g := range table {
		var p, n, m int
		if issue := g.waitsFor(); issue != "" {
			waiting[issue] = append(waiting[issue], fmt.Sprintf("all %d of %s", len(g.rows), g.name))
			fmt.Fprintf(w, "%s 0/0/0\n", g.name)
			continue
		}
		for _, b := range g.rows {
			switch b.kind {
			case isNotApplicable:
				n++
			case isWaiting:
				waiting[b.issue] = append(waiting[b.issue], b.code)
			case isTested:
				if b.issue != "" {
					waiting[b.issue] = append(waiting[b.issue], fmt.Sprintf("%s (%s)", b.code, b.why))
				}
				why := r.miss(b.code, tests)
				if why == "" {
					p++
					continue
				}
				m++
				misses = append(misses, fmt.Sprintf("missing %s, %s: %s", b.code, b.says, why))
			}
		}
		fmt.Fprintf(w, "%s %d/%d/%d\n", g.name, p, n, m)
		passing, notApplicable, missing = passing+p, notApplicable+n, missing+m
	}
	for _, issue := range slices.SortedFunc(maps.Keys(waiting), byNumber) {
		fmt.Fprintf(w, "waiting for %s: %s\n", issue, strings.Join(waiting[issue], ", "))
	}
	for _, line := range misses {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "conformance: %d passing, %d not applicable, %d missing\n", passing, notApplicable, missing)
	return missing
}

// waitsFor returns what all of a group waits for, or "".
func (g group) waitsFor() string {
	issue := g.rows[0].issue
	if slices.ContainsFunc(g.rows, func(b behaviour) bool { return b.kind != isWaiting || b.issue != issue }) {
		return ""
	}
	return issue
}

// byNumber orders issues by the number at their end.
func byNumber(a, b string) int {
	return cmp.Compare(a[strings.IndexByte(a, '('):], b[strings.IndexByte(b, '('):])
}
