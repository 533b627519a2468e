package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

func main() {
	page := flag.String("page", "", "write the table to a `file` of Markdown, after each package; rows that do not run keep what it says of them")
	only := flag.String("only", "", "run the attacks whose row has a `word`")
	count := flag.Int("count", 1, "run every test so often")
	race := flag.Bool("race", false, "run under the race detector")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	var flags []string
	if *race {
		flags = append(flags, "-race")
	}
	if err := attackAll(os.Stdout, chosen(groups, *only), *count, flags, *page); err != nil {
		fmt.Fprintf(os.Stderr, "attacks: %v\n", err)
		os.Exit(1)
	}
}

// chosen returns the attacks whose row has a word.
func chosen(table []group, word string) (found []group) {
	for _, g := range table {
		some := g
		some.attacks = nil
		for _, a := range g.attacks {
			if strings.Contains(g.name+" "+row(a), word) {
				some.attacks = append(some.attacks, a)
			}
		}
		if len(some.attacks) > 0 {
			found = append(found, some)
		}
	}
	return found
}

// attackAll runs what is in the table and writes the page. The error says that an attack succeeded, or did not run.
func attackAll(out io.Writer, table []group, count int, flags []string, page string) error {
	var all []attack
	for _, g := range table {
		all = append(all, g.attacks...)
	}
	if len(all) == 0 {
		return fmt.Errorf("no attack has this word")
	}
	before, err := os.ReadFile(page)
	if page != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	results := map[string]*result{}
	for _, j := range jobs(all) {
		fmt.Fprintf(out, "%s: %d tests\n", j.dir, len(j.tests))
		found, err := j.run(out, count, flags)
		if err != nil {
			return err
		}
		for _, name := range j.tests {
			results[j.dir+" "+name] = found[name]
		}
		if page == "" {
			continue
		}
		var text bytes.Buffer
		write(&text, groups, results, string(before))
		if err := os.WriteFile(page, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if page == "" {
		write(out, table, results, "")
	}
	failed, skipped := 0, 0
	for _, r := range results {
		if r.failed > 0 {
			failed++
		} else if r.runs == 0 {
			skipped++
		}
	}
	fmt.Fprintf(out, "%d attacks: %d held, %d failed, %d skipped\n", len(all), len(all)-failed-skipped, failed, skipped)
	if failed > 0 {
		return fmt.Errorf("%d succeeded, or their tests failed", failed)
	}
	return nil
}
