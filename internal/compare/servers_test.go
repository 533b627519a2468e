package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/figures"
)

func TestServersAreComparedWithNetHTTPInEachRound(t *testing.T) {
	s := service{"a request", "A/handler=b", "cpu-ns", micros, plainServers}
	all := figures.Figures{
		s.metric("goroutine"): {10_000, 20_000, 30_000},
		s.metric("adopted"):   {11_000, 20_000, 60_000},
		s.metric("virtual"):   {20_000, 40_000, 60_000},
	}
	var b strings.Builder
	if err := printServers(&b, []service{s}, all); err != nil {
		t.Fatal(err)
	}
	if want := "| a request | 20.0 µs | 20.0 µs | 1.10 (1.00..2.00) | 40.0 µs | 2.00 |\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("got\n%s\nwant at its end\n%s", b.String(), want)
	}
	delete(all, s.metric("virtual"))
	if err := printServers(&b, []service{s}, all); err == nil || !strings.Contains(err.Error(), "a request, virtual") {
		t.Errorf("got error %v, want one of the figures that are missing", err)
	}
}

// sources are the tests of a folder.
func sources(t *testing.T, folder string) (all string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
	if err != nil || files == nil {
		t.Fatalf("%s: no tests: %v", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

func TestTheServersOfOneBenchmarkStandTogether(t *testing.T) {
	last := map[string]int{}
	for i, s := range services {
		if at, known := last[s.bench]; known && at != i-1 {
			t.Errorf("%s: measured twice", s.name)
		}
		last[s.bench] = i
		name, _, _ := strings.Cut(s.bench, "/")
		if !strings.Contains(sources(t, s.in), "func Benchmark"+name+"(") {
			t.Errorf("%s: %s has no benchmark %s", s.name, s.in, name)
		}
	}
}
