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

	"github.com/vtscope/vtscope/internal/figures"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each work is measured; figures are medians")
	only := flag.String("only", "", "compare just the works whose word or row matches the `expression`")
	verbose := flag.Bool("v", false, "print what the benchmarks print")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(os.Stderr, "compare: -only: %v\n", err)
		os.Exit(2)
	}
	var progress io.Writer = io.Discard
	if *verbose {
		progress = os.Stderr
	}
	err = compare(wanted, *rounds, os.Stdout, progress)
	if reportNoJDK(os.Stdout, err) {
		err = nil
	}
	if err = errors.Join(err, compareServers(wanted, *rounds, os.Stdout, progress)); err != nil {
		fmt.Fprintf(os.Stderr, "compare: %v\n", err)
		os.Exit(1)
	}
}

// compare measures the wanted works and prints the table.
func compare(wanted *regexp.Regexp, rounds int, out, progress io.Writer) (err error) {
	chosen := slices.DeleteFunc(slices.Clone(works), func(w work) bool { return !w.matches(wanted) })
	if len(chosen) == 0 {
		return nil
	}
	j, err := findJDK(os.Getenv, jvmFolders)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := bench{jdk: j, classes: filepath.Join(dir, "classes"), binary: filepath.Join(dir, "bench.test"), progress: progress}
	if err := j.compile("fixtures/compare", b.classes); err != nil {
		return err
	}
	if out, err := exec.Command("go", "test", "-c", "-o", b.binary, "./bench").CombinedOutput(); err != nil {
		return fmt.Errorf("build the benchmarks: %w\n%s", err, out)
	}
	system := machine(j, rounds)
	all := measured{}
	for range rounds {
		for _, w := range chosen {
			if err := b.round(w, all); err != nil {
				return err
			}
		}
	}
	return errors.Join(printTable(out, system, chosen, all, j), printRecorders(out, chosen, all))
}

func (w work) matches(wanted *regexp.Regexp) bool {
	return wanted.MatchString(w.java) || slices.ContainsFunc(w.rows, func(r row) bool { return wanted.MatchString(r.name) })
}

// A bench runs works in processes.
type bench struct {
	jdk      jdk
	classes  string
	binary   string
	progress io.Writer
}

// round measures one work in all ways.
func (b bench) round(w work, all measured) error {
	for _, y := range ways {
		if !y.does(w, b.jdk) {
			continue
		}
		if err := b.run(y.command(b, w), w, y.name, all); err != nil {
			return err
		}
	}
	if w.asksForAll() {
		return b.run(b.recorders(w), w, costs, all)
	}
	return nil
}

// run adds what a command prints under a name.
func (b bench) run(c *exec.Cmd, w work, name string, all measured) error {
	fmt.Fprintf(b.progress, "# %s\n", name)
	c.Stderr = os.Stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	if all[name] == nil {
		all[name] = figures.Figures{}
	}
	rest, err := all[name].Read(io.TeeReader(stdout, b.progress))
	if e := c.Wait(); e != nil {
		return fmt.Errorf("%s, %s: %w\n%s", w.java, name, e, rest)
	}
	return err
}

// ours runs the work's benchmark.
func (b bench) ours(w work, impl string, env ...string) *exec.Cmd {
	time := "500ms"
	if w.once {
		time = "1x"
	}
	c := exec.Command(b.binary, "-test.run", "^$", "-test.bench", w.pattern(impl), "-test.benchtime", time, "-test.timeout", "10m")
	c.Dir = "bench"
	c.Env = append(os.Environ(), env...)
	return c
}
