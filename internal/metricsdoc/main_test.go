package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/tracing/metrics"
)

func TestThePageIsOfTheTable(t *testing.T) {
	var page bytes.Buffer
	write(&page)
	written, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page.Bytes(), written) {
		t.Error("docs/metrics.md is not of the table: go generate ./internal/metricsdoc")
	}
	for i := range metrics.Instruments {
		if in := &metrics.Instruments[i]; !strings.Contains(page.String(), "| `"+in.Name+"` | `"+in.PrometheusName()+"` | "+in.About+" |") {
			t.Errorf("the page does not have %s", in.Name)
		}
	}
}
