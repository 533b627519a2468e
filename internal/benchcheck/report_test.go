package main

import (
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/figures"
)

const output = `goos: linux
BenchmarkStartJoin/impl=vthread-2    	 100	 200.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=goroutine-2  	 100	 400.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=vthread-2    	 100	 500.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=goroutine-2  	 100	 500.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=vthread-2    	 100	 270.0 ns/op	 0 B/op
BenchmarkStartJoin/impl=goroutine-2  	 100	 300.0 ns/op	 0 B/op
BenchmarkSnapshot/threads=1000000-2  	   5	 61.5 ms/op	 12000 output-B
PASS
`

func measured(t *testing.T) figures.Figures {
	t.Helper()
	f := figures.Figures{}
	rest, err := f.Read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	if rest != "goos: linux\nPASS\n" {
		t.Errorf("other lines: got %q", rest)
	}
	return f
}

func TestARatioIsTheMedianOfTheRatiosOfTheRounds(t *testing.T) {
	v, err := judge(budget{"b", ns("StartJoin/impl=vthread"), ns("StartJoin/impl=goroutine"), ratio, 0.9}, measured(t))
	if err != nil {
		t.Fatal(err)
	}
	if v.figure != 0.9 || v.low != 0.5 || v.top != 1 || v.word() != "ok" {
		t.Errorf("got %v in %v..%v, %s; want 0.9 in 0.5..1, ok", v.figure, v.low, v.top, v.word())
	}
}

func TestABudgetWithoutAFigureIsAnError(t *testing.T) {
	for _, b := range []budget{
		{"b", ns("Renamed"), none, nanos, 1},
		{"b", ns("StartJoin/impl=vthread"), ns("Renamed"), ratio, 1},
	} {
		if v, err := judge(b, measured(t)); err == nil {
			t.Errorf("%v: got %v, want an error", b.of, v)
		}
	}
}

func TestTheReportEndsWithItsCounts(t *testing.T) {
	f := measured(t)
	snapshot := metric("Snapshot/threads=1000000", "ms/op")
	var verdicts []verdict
	for _, limit := range []float64{150, 61.4, unlimited} {
		v, err := judge(budget{"snapshot", snapshot, none, millis, limit}, f)
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, v)
	}
	var out strings.Builder
	if over := report(&out, verdicts); over != 1 {
		t.Errorf("got %d over, want 1", over)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if last := lines[len(lines)-1]; last != "bench-check: 1 ok, 1 over" {
		t.Errorf("last line: got %q", last)
	}
	for i, want := range []string{"61.5 ms   150.0 ms  ok", "61.5 ms    61.4 ms  over", "61.5 ms          -  -   "} {
		if !strings.Contains(lines[1+i], want) {
			t.Errorf("line %d: got %q, want %q in it", 1+i, lines[1+i], want)
		}
	}
}

func TestEveryBudgetIsMeasuredByExactlyOneRun(t *testing.T) {
	for _, b := range budgets {
		n := 0
		for _, r := range append(runs, once, pairs, servers) {
			if r.pattern([]budget{b}) != "" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: got %d runs, want 1", b.name, n)
		}
		if name, _, _ := strings.Cut(b.of.Benchmark, "/"); b.over.Benchmark != "" && !strings.HasPrefix(b.over.Benchmark, name+"/") {
			t.Errorf("%s: its peer %s is of another benchmark, so not of the same run", b.name, b.over.Benchmark)
		}
	}
}

func TestAPairedBudgetIsUndecidedWhileItsLimitIsInTheInterval(t *testing.T) {
	of, over := metric("HTTP/handler=plain", "on-cpu-ns"), metric("HTTP/handler=plain", "off-cpu-ns")
	for want, on := range map[string][]float64{
		"ok":        {100, 100.5, 99.5, 100.4, 100},
		"over":      {102, 103, 102, 103, 102},
		"undecided": {95, 108, 99, 104, 96},
	} {
		v, err := judge(budget{"b", of, over, part, 0.01}, figures.Figures{of: on, over: {100, 100, 100, 100, 100}})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.word(); got != want {
			t.Errorf("%v to 100: got %s (%v to %v), want %s", on, got, v.low, v.top, want)
		}
		var out strings.Builder
		if report(&out, []verdict{v}); !strings.Contains(out.String(), "with 95 % confidence") || !strings.Contains(out.String(), " "+want) {
			t.Errorf("got %q, want the word %s", out.String(), want)
		}
	}
}
