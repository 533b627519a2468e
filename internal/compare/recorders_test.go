package main

import (
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/figures"
)

// contestOf is a work in which recorders are compared, and what was measured of it.
func contestOf(ours, profile, trace, without, jfrDefault, jfrEvery []float64) (work, measured) {
	w := work{java: "a", bench: "A", recorder: contest{"a", "a switch", 2}, rows: []row{aRow}}
	added := func(recorder string) figures.Metric {
		return figures.Metric{Benchmark: "Cost/recorder=" + recorder + "/work=a", Unit: "added-ns"}
	}
	perEvent := func(recorder string) figures.Metric {
		return figures.Metric{Benchmark: "EventBytes/recorder=" + recorder + "/work=a", Unit: "B/event"}
	}
	all := measured{costs: figures.Figures{
		added("default"): ours, added("profile"): profile, added("gotrace"): trace,
		perEvent("default"): {2.25}, perEvent("profile"): {3}, perEvent("gotrace"): {5.5},
	}}
	for name, v := range map[string][]float64{plainJDK.name: without, jfr.name: jfrDefault, jfrEach.name: jfrEvery} {
		all[name] = figures.Figures{w.metric(aRow, "jdk"): v}
	}
	all[jfrEach.name][figures.Metric{Benchmark: "EventBytes/work=A/impl=jdk", Unit: "B/event"}] = []float64{12}
	return w, all
}

func TestTheCheapestRecorderIsNamed(t *testing.T) {
	for _, c := range []struct {
		ours, jfr []float64
		want      string
	}{
		{[]float64{30, 40, 50}, []float64{300, 302, 304}, "| added to a switch | 40 ns | 500 ns | 200 ns | 101 ns | – | 900 ns | ours |"},
		{[]float64{30, 40, 50}, []float64{150, 160, 170}, "| added to a switch | 40 ns | 500 ns | 200 ns | 30 ns | – | 900 ns | JFR |"},
	} {
		hundred := []float64{100, 100, 100}
		w, all := contestOf(c.ours, []float64{500}, []float64{200}, hundred, c.jfr, []float64{1900, 1900, 1900})
		var out strings.Builder
		if err := printRecorders(&out, []work{w, {java: "b"}}, all); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("got\n%s\nwant %s in it", out.String(), c.want)
		}
		if want := "| an event of a on disk | 2.2 B | 3.0 B | 5.5 B | – | – | 12.0 B | ours |"; !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %s in it", out.String(), want)
		}
	}
}

func TestARecorderThatLostItsBenchmarkIsAnError(t *testing.T) {
	w, all := contestOf(nil, []float64{500}, []float64{200}, nil, nil, nil)
	var out strings.Builder
	if err := printRecorders(&out, []work{w}, all); err == nil || !strings.Contains(err.Error(), "no figure of ours") {
		t.Errorf("got %v, want that ours has no figure", err)
	}
}
