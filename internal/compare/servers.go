package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/internal/figures"
)

// A service is a work of a server: one figure for each of the kinds.
type service struct {
	name  string
	bench string // with its sub-benchmarks
	unit  string // after the kind and a hyphen
	form  form
	in    string // the folder of the benchmarks
}

// kinds are the ways in which a server serves: net/http alone, then package vhttp.
var kinds = []string{"goroutine", "adopted", "virtual"}

const (
	plainServers = "bench"
	realServers  = "fixtures/backends/servers" // a module of its own
)

// services are compared in this order. Those of one benchmark stand together.
var services = []service{
	{"CPU of a request", "Request/handler=plain", "cpu-ns", micros, plainServers},
	{"CPU of a request that sleeps 2 ms", "Request/handler=sleeps", "cpu-ns", micros, plainServers},
	{"p99 at 80 % of what net/http answers at most, one processor", "Paced/load=80", "p99-ns", inMillis, plainServers},
	{"3,000 requests in select for 5 s: until all are answered", "Crowd/requests=3000", "all-ns", inMillis, plainServers},
	{"p99 of quick requests beside them", "Crowd/requests=3000", "p99-ns", inMillis, plainServers},
	{"memory of an idle connection", "IdleHTTP/conns=5000", "B/conn", bytes, plainServers},
	{"CPU behind the router chi", "Servers/work=answers", "cpu-ns", micros, realServers},
	{"CPU of a query of SQLite", "Servers/work=sqlite", "cpu-ns", micros, realServers},
	{"CPU of a query of PostgreSQL", "Servers/work=postgres", "cpu-ns", micros, realServers},
	{"CPU of a call to another server", "Servers/work=calls", "cpu-ns", micros, realServers},
	{"CPU of a reverse proxy", "Servers/work=proxy", "cpu-ns", micros, realServers},
	{"CPU of a message of a websocket", "Servers/work=socket", "cpu-ns", micros, realServers},
	{"CPU of a call by gRPC", "Servers/work=grpc", "cpu-ns", micros, realServers},
}

func (s service) metric(kind string) figures.Metric {
	return figures.Metric{Benchmark: s.bench, Unit: kind + "-" + s.unit}
}

// pattern selects the benchmark of the service alone.
func (s service) pattern() string {
	levels := strings.Split("Benchmark"+s.bench, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	return strings.Join(levels, "/")
}

// compareServers measures the wanted services and prints their table.
func compareServers(wanted *regexp.Regexp, rounds int, out, progress io.Writer) (err error) {
	chosen := slices.DeleteFunc(slices.Clone(services), func(s service) bool { return !wanted.MatchString(s.name) })
	if len(chosen) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binaries := map[string]string{}
	for _, s := range chosen {
		if binaries[s.in] != "" {
			continue
		}
		binaries[s.in] = filepath.Join(dir, filepath.Base(s.in)+".test")
		build := exec.Command("go", "test", "-c", "-o", binaries[s.in], ".")
		build.Dir = s.in
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the benchmarks of %s: %w\n%s", s.in, err, out)
		}
	}
	all := figures.Figures{}
	for range rounds {
		for i, s := range chosen {
			if i > 0 && s.bench == chosen[i-1].bench {
				continue
			}
			if err := s.measure(binaries[s.in], all, progress); err != nil {
				return err
			}
		}
	}
	return printServers(out, chosen, all)
}

// measure adds the figures of one run of the service's benchmark, in which fresh processes serve in each way, in
// turn.
func (s service) measure(binary string, all figures.Figures, progress io.Writer) error {
	fmt.Fprintf(progress, "# %s\n", s.name)
	c := exec.Command(binary, "-test.run", "^$", "-test.bench", s.pattern(), "-test.benchtime", "2x", "-test.timeout", "10m")
	c.Dir = s.in
	c.Stderr = os.Stderr
	printed, err := c.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", s.name, err, printed)
	}
	_, err = all.Read(io.TeeReader(strings.NewReader(string(printed)), progress))
	return err
}

// printServers prints what was measured as a table of Markdown. A figure that is missing is an error.
func printServers(w io.Writer, chosen []service, all figures.Figures) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "\n| server | net/http | adopted | adopted / net/http | virtual | virtual / net/http |\n| --- |"+
		strings.Repeat(" ---: |", 5)+"\n")
	var missing error
	for _, s := range chosen {
		plain := all[s.metric(kinds[0])]
		if len(plain) == 0 {
			missing = errors.Join(missing, fmt.Errorf("%s: no figure of net/http", s.name))
			continue
		}
		fmt.Fprintf(out, "| %s | %s |", s.name, s.form(figures.Median(plain)))
		for _, kind := range kinds[1:] {
			values := all[s.metric(kind)]
			if len(values) != len(plain) {
				missing = errors.Join(missing, fmt.Errorf("%s, %s: got %d figures, want %d", s.name, kind, len(values), len(plain)))
				fmt.Fprint(out, " – | – |")
				continue
			}
			fmt.Fprintf(out, " %s | %v |", s.form(figures.Median(values)), ratioOf(values, plain))
		}
		fmt.Fprintln(out)
	}
	return errors.Join(missing, out.Flush())
}
