package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/internal/figures"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each benchmark runs; figures are medians")
	httpPairs := flag.Int("pairs", 20, "how many pairs of runs tell what the recorder and threads cost a server, a minute each; 0: none")
	strict := flag.Bool("strict", false, "exit 1 when a budget is over")
	only := flag.String("only", "", "measure just the budgets whose name matches the `expression`")
	verbose := flag.Bool("v", false, "print what the benchmarks print")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *httpPairs < 0 || *httpPairs == 1 {
		flag.Usage()
		os.Exit(2)
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench-check: -only: %v\n", err)
		os.Exit(2)
	}
	var progress io.Writer = io.Discard
	if *verbose {
		progress = os.Stderr
	}
	over, err := check(wanted, *rounds, *httpPairs, os.Stdout, progress)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench-check: %v\n", err)
		os.Exit(1)
	}
	if *strict && over > 0 {
		os.Exit(1)
	}
}

// check measures the wanted budgets and reports them.
func check(wanted *regexp.Regexp, rounds, httpPairs int, out, progress io.Writer) (over int, err error) {
	dir, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	compile := func(folder string) (program, error) {
		p := program{folder, filepath.Join(dir, filepath.Base(folder)+".test")}
		c := exec.Command("go", "test", "-c", "-o", p.file, ".")
		c.Dir = folder // which may be another module
		if out, err := c.CombinedOutput(); err != nil {
			return p, fmt.Errorf("build the benchmarks of %s: %w\n%s", folder, err, out)
		}
		return p, nil
	}
	main, err := compile("bench")
	if err != nil {
		return 0, err
	}
	chosen := slices.DeleteFunc(slices.Clone(budgets), func(b budget) bool { return !wanted.MatchString(b.name) || b.form.paired && httpPairs == 0 })
	all := figures.Figures{}
	for round := range rounds {
		for _, r := range runs {
			if r.rounds != 0 && round >= r.rounds {
				continue
			}
			if err := r.do(main, chosen, 1, all, progress); err != nil {
				return 0, err
			}
		}
	}
	if err := once.do(main, chosen, rounds, all, progress); err != nil {
		return 0, err
	}
	if err := pairs.do(main, chosen, httpPairs, all, progress); err != nil {
		return 0, err
	}
	if servers.pattern(chosen) != "" {
		nested, err := compile(serversIn)
		if err != nil {
			return 0, err
		}
		if err := servers.do(nested, chosen, httpPairs, all, progress); err != nil {
			return 0, err
		}
	}
	var verdicts []verdict
	for _, b := range chosen {
		v, e := judge(b, all)
		err = errors.Join(err, e)
		verdicts = append(verdicts, v)
	}
	if err != nil {
		return 0, err
	}
	return report(out, verdicts), nil
}

// A program has the benchmarks of a folder, where it must run.
type program struct{ folder, file string }

// serversIn is the folder of the fixture of servers.
const serversIn = "fixtures/backends/servers"

// pattern selects the run's benchmarks that the budgets need; "" if none.
func (r run) pattern(chosen []budget) string {
	var names []string
	for _, name := range r.benchmarks {
		if slices.ContainsFunc(chosen, func(b budget) bool { return strings.HasPrefix(b.of.Benchmark+"/", name+"/") }) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "^Benchmark(" + strings.Join(names, "|") + ")$"
}

// do runs the benchmarks of a program and adds what they print.
func (r run) do(p program, chosen []budget, count int, all figures.Figures, progress io.Writer) error {
	pattern := r.pattern(chosen)
	if pattern == "" {
		return nil
	}
	c := exec.Command(p.file, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", r.benchtime,
		"-test.count", strconv.Itoa(count), "-test.timeout", "1h")
	c.Dir = p.folder
	c.Stderr = os.Stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	rest, err := all.Read(io.TeeReader(stdout, progress))
	if e := c.Wait(); e != nil {
		return fmt.Errorf("%s: %w\n%s", pattern, e, rest)
	}
	return err
}
