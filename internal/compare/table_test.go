package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/figures"
)

var (
	aRow  = row{"a work", "depth=1", "ns/op", nanos}
	aWork = work{java: "a", bench: "A", rows: []row{aRow}}
)

// of are figures of aRow, by way, one a round.
func of(values map[string][]float64) measured {
	all := measured{}
	for _, y := range ways {
		if v := values[y.name]; v != nil {
			all[y.name] = figures.Figures{aWork.metric(aRow, y.impl): v}
		}
	}
	return all
}

func TestARatioIsTheMedianOfTheRatiosOfTheRounds(t *testing.T) {
	l, err := judge(aWork, aRow, of(map[string][]float64{
		"ours": {200, 300, 500}, "ours, off": {1, 1, 1}, "goroutines": {400, 300, 1000}, "JDK": {100, 100, 100}, "JDK + JFR": {400, 400, 400},
	}), jdk{major: 25})
	if err != nil {
		t.Fatal(err)
	}
	if want := (ratio{0.5, 0.5, 1}); l.goroutines != want {
		t.Errorf("to goroutines: got %v, want %v", l.goroutines, want)
	}
	if want := (ratio{3, 2, 5}); l.jdk != want {
		t.Errorf("to the JDK: got %v, want %v", l.jdk, want)
	}
	if got := l.medians["ours"]; got != 300 {
		t.Errorf("ours: got %v, want 300", got)
	}
}

func TestTheVerdictNamesWhomOursIsBehind(t *testing.T) {
	r := func(v float64) ratio { return ratio{v, v, v} }
	for _, c := range []struct {
		jdk, jfr, goroutines ratio
		want                 string
	}{
		{r(0.9), r(0.5), r(0.99), "ahead"},
		{r(1), r(1), r(0.9), "behind: JDK"},
		{r(1.1), r(0.9), r(0.9), "behind: JDK (not JDK + JFR)"},
		{r(0.9), r(0.9), r(1.1), "behind: goroutines"},
		{r(2), r(1.5), r(1.1), "behind: JDK, goroutines"},
		{ratio{}, ratio{}, r(0.9), "ahead"},
		{ratio{}, ratio{}, r(1.2), "behind: goroutines"},
	} {
		if got := (line{jdk: c.jdk, jfr: c.jfr, goroutines: c.goroutines}).verdict(); got != c.want {
			t.Errorf("%v %v %v: got %q, want %q", c.jdk, c.jfr, c.goroutines, got, c.want)
		}
	}
}

func TestAFigureThatIsMissingIsAnError(t *testing.T) {
	full := map[string][]float64{"ours": {1, 2}, "ours, off": {1, 2}, "goroutines": {1, 2}, "JDK": {1, 2}, "JDK + JFR": {1, 2}}
	if _, err := judge(aWork, aRow, of(full), jdk{major: 25}); err != nil {
		t.Errorf("with all: got %v, want no error", err)
	}
	for name := range full {
		for _, values := range [][]float64{nil, {1}} {
			some := map[string][]float64{}
			for n, v := range full {
				some[n] = v
			}
			some[name] = values
			if l, err := judge(aWork, aRow, of(some), jdk{major: 25}); err == nil {
				t.Errorf("%s has %v: got %v, want an error", name, values, l)
			}
		}
	}
}

func TestTheTableIsMarkdownAndEndsWithItsCounts(t *testing.T) {
	all := of(map[string][]float64{"ours": {200, 300}, "ours, off": {100, 100}, "goroutines": {400, 400}})
	w := aWork
	w.since = 22
	var out strings.Builder
	if err := printTable(&out, "a machine", []work{w}, all, jdk{major: 21}); err != nil {
		t.Fatal(err)
	}
	want := `a machine.

| work | ours | ours, off | JDK | JDK + JFR | JDK + JFR, all | goroutines | ours / JDK | ours / JDK + JFR | ours / goroutines | ours is |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| a work | 250 ns | 100 ns | – | – | – | 400 ns | – | – | 0.62 (0.50..0.75) | ahead |

compare: 1 ahead, 0 behind
a work: not measured in Java: needs JDK 22, this is 21
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestTheLoadIsTheNewestAverage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loadavg")
	if err := os.WriteFile(file, []byte("0.07 0.16 0.55 1/150 42\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := load(file); got != ", load 0.07 before" {
		t.Errorf("got %q", got)
	}
	if got := load(file + "absent"); got != "" {
		t.Errorf("without the file: got %q, want nothing", got)
	}
}

func TestTheProcessorIsTheSystemsName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cpuinfo")
	if err := os.WriteFile(file, []byte("processor\t: 0\nmodel name\t: A Chip: the 2nd\nflags\t: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := processor(file); got != "A Chip: the 2nd" {
		t.Errorf("got %q", got)
	}
	if got := processor(file + "absent"); got != "processor" {
		t.Errorf("without the file: got %q, want the word", got)
	}
}
