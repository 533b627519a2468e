package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

const head = `# Attacks: what was tried

` + "`make attacks`" + ` runs these tests and writes this page. As root they also play another user of the machine; otherwise those rows are skipped. A try is a case of a test, or one of
the attempts that it counts. A row that says *not run* is new, or its run was broken off: ` + "`go run ./internal/attacks -only WORD -page docs/attacks.md`" + ` runs the rows with a word, and keeps
what the page says of the others. To add a row: [internal/attacks/table.go](../internal/attacks/table.go). What vtscope defends against, and what remains, is in [security.md](security.md).

`

// write writes the page. results are by directory and test; a row without one keeps what the page before says of it.
func write(w io.Writer, table []group, results map[string]*result, before string) {
	fmt.Fprint(w, head)
	fmt.Fprintf(w, "The last run was on %s/%s, %s.\n", runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, g := range table {
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n| tried | what holds | test | tries | result |\n|---|---|---|---|---|\n", g.name, g.about)
		for _, a := range g.attacks {
			result := told(results[key(a)])
			if _, old, found := strings.Cut(before, row(a)); found && results[key(a)] == nil {
				result, _, _ = strings.Cut(old, "\n")
			}
			fmt.Fprintln(w, row(a)+result)
		}
	}
}

func key(a attack) string { return a.dir + " " + a.test }

// row is the part of a row that does not depend on a run.
func row(a attack) string {
	env := ""
	if a.env != "" {
		env = ", `" + a.env + "`"
	}
	return fmt.Sprintf("| %s | %s | `%s` `%s`%s |", a.what, a.holds, a.dir, a.test, env)
}

func told(r *result) string {
	switch {
	case r == nil:
		return "  | not run |"
	case r.failed > 0:
		return fmt.Sprintf(" %d | **failed** %d of %d times |", r.tries, r.failed, r.failed+r.runs)
	case r.skipped != "" && r.runs == 0:
		return " 0 | skipped: " + strings.ReplaceAll(r.skipped, "|", `\|`) + " |"
	case r.runs == 1:
		return fmt.Sprintf(" %d | held |", r.tries)
	}
	return fmt.Sprintf(" %d | held, %d times |", r.tries, r.runs)
}
