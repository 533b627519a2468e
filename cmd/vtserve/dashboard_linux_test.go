package main

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/metrics/metricstest"
)

// A panel of docs/grafana.json, as far as it is checked.
type panel struct {
	Title   string
	Type    string
	Targets []struct{ Expr string }
}

func dashboard(t *testing.T) (panels []panel, variables []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("docs/grafana.json: %v", err)
	}
	for _, v := range all.Templating.List {
		if v.Type == "query" {
			variables = append(variables, v.Query)
		}
	}
	return all.Panels, variables
}

// namesIn returns the names of the metrics in an expression; names of labels stand in braces, or after by.
func namesIn(expr string) []string {
	bare := regexp.MustCompile(`\bby \([^)]*\)|\{[^}]*\}`).ReplaceAllString(expr, " ")
	return regexp.MustCompile(`\bvt_[a-z0-9_]+`).FindAllString(bare, -1)
}

// known are the names of the series of all instruments.
func known() map[string]bool {
	all := map[string]bool{}
	for i := range metrics.Instruments {
		in := &metrics.Instruments[i]
		if name := in.PrometheusName(); in.Kind == metrics.Spread {
			all[name+"_bucket"], all[name+"_sum"], all[name+"_count"] = true, true, true
		} else {
			all[name] = true
		}
	}
	return all
}

// labelsOf are the labels that series have.
func labelsOf() map[string]bool {
	all := map[string]bool{"program": true, "pid": true, "le": true}
	for i := range metrics.Instruments {
		for _, l := range metrics.Instruments[i].Labels {
			all[metrics.PrometheusLabel(l.Name)] = true
		}
	}
	return all
}

func TestTheDashboardUsesWhatThereIs(t *testing.T) {
	panels, variables := dashboard(t)
	series, labels, found := known(), labelsOf(), 0
	check := func(where, expr string) {
		names := namesIn(expr)
		if len(names) == 0 {
			t.Errorf("%s: no metric in %s", where, expr)
		}
		for _, n := range names {
			if found++; !series[n] {
				t.Errorf("%s: no instrument gives %s", where, n)
			}
		}
		for _, m := range regexp.MustCompile(`\bby \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
			for l := range strings.SplitSeq(m[1], ",") {
				if !labels[strings.TrimSpace(l)] {
					t.Errorf("%s: no series has the label %s", where, l)
				}
			}
		}
	}
	for _, p := range panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s: no expression", p.Title)
		}
		for _, x := range p.Targets {
			check(p.Title, x.Expr)
		}
	}
	for _, q := range variables {
		m := regexp.MustCompile(`^label_values\((vt_.*), (\w+)\)$`).FindStringSubmatch(q)
		if m == nil || !labels[m[2]] {
			t.Errorf("variable %s: not of the form label_values(metric, label)", q)
			continue
		}
		check("variable", m[1])
	}
	if found < 20 {
		t.Errorf("found %d metrics in the dashboard: it was not read", found)
	}
}

// checkDashboard asks a Prometheus each expression, as Grafana does. What there are series of must have a value.
func checkDashboard(t *testing.T, ctx context.Context, base string) {
	t.Helper()
	panels, _ := dashboard(t)
	fill := strings.NewReplacer("$program", ".+", "$pid", ".+", "$__rate_interval", "1m")
	asked, valued := 0, 0
	for _, p := range panels {
		for _, x := range p.Targets {
			asked++
			exists := true
			for _, n := range namesIn(x.Expr) {
				got, err := metricstest.Ask(ctx, base, n)
				exists = exists && err == nil && len(got) > 0
			}
			for {
				got, err := metricstest.Ask(ctx, base, fill.Replace(x.Expr))
				if err == nil && (len(got) > 0 || !exists || strings.Contains(x.Expr, "> 0")) {
					if len(got) > 0 {
						valued++
					}
					break
				}
				if ctx.Err() != nil {
					t.Fatalf("%s: %s: got %v, %v; want a value", p.Title, x.Expr, got, err)
				}
				time.Sleep(200 * time.Millisecond) // a rate needs two scrapes
			}
		}
	}
	if asked < 20 || valued < 20 {
		t.Errorf("asked %d expressions, %d have values: want 20 and more", asked, valued)
	}
	t.Logf("%d expressions of the dashboard, %d with values", asked, valued)
}
