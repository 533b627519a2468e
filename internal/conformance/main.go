package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

//go:generate go run . -page ../../docs/conformance.md

func main() {
	page := flag.String("page", "", "write the table to a `file` of Markdown, and run nothing")
	root := flag.String("in", ".", "look for tests below this `folder`")
	race := flag.Bool("race", false, "run under the race detector")
	count := flag.Int("count", 1, "run every test so often")
	timeout := flag.Duration("timeout", 0, "the longest time for a package; 0 is that of go test")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *page != "" {
		var text bytes.Buffer
		write(&text, groups)
		if err := os.WriteFile(*page, text.Bytes(), 0o644); err != nil {
			fail(err)
		}
		return
	}
	var flags []string
	if *race {
		flags = append(flags, "-race")
	}
	if *timeout > 0 {
		flags = append(flags, "-timeout", timeout.String())
	}
	if err := check(os.Stdout, groups, *root, *count, flags); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
	os.Exit(1)
}

var errMissing = errors.New("behaviours are missing")

// check runs the tests below a folder that name behaviours, and reports what the table says of them. It returns an error if
// anything is missing, wrong or failed.
func check(w io.Writer, table []group, root string, count int, flags []string) error {
	tests, wrong, err := find(root)
	if err != nil {
		return err
	}
	var all error
	for _, line := range append(wrong, mistakes(table, tests)...) {
		all = errors.Join(all, errors.New(line))
	}
	names := map[string][]string{} // by folder
	for _, t := range tests {
		names[t.dir] = append(names[t.dir], t.name)
	}
	r := ran{}
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		o, err := run(dir, names[dir], count, flags)
		all = errors.Join(all, err)
		r[dir] = o
		for _, name := range names[dir] {
			if o[name] != nil && o[name].failed > 0 {
				fmt.Fprintf(w, "%s failed:\n%s", name, o[name].output)
				all = errors.Join(all, fmt.Errorf("%s: %s failed %d of %d times", filepath.ToSlash(dir), name, o[name].failed, o[name].ran))
			}
		}
	}
	if missing := report(w, table, tests, r); missing > 0 {
		all = errors.Join(all, fmt.Errorf("%w: %d", errMissing, missing))
	}
	return all
}
