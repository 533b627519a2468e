package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/vtscope/vtscope/tracing/metrics"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: metricsdoc FILE")
		os.Exit(2)
	}
	var page bytes.Buffer
	write(&page)
	if err := os.WriteFile(os.Args[1], page.Bytes(), 0o644); err != nil {
		fmt.Fprintf(os.Stderr, "metricsdoc: %v\n", err)
		os.Exit(1)
	}
}

func write(w io.Writer) {
	fmt.Fprint(w, `<!-- Written by go generate ./internal/metricsdoc from the table of tracing/metrics. -->

# Metrics

What vtserve tells Prometheus at `+"`/metrics`"+`, and a collector by OTLP: [fleet.md](fleet.md) has configurations. An agent inside a program does so where the program mounts package
`+"`tracing/metrics/prom`"+`; `+"`agent/auto`"+` alone has no metrics. All of it is read from flight files, so threads pay nothing, and totals are exact also where events were overwritten.

Each series is of one process: Prometheus has the labels `+"`pid` and `program`"+`, OpenTelemetry a resource. Metrics of the agent itself, `+"`vt.agent.*` and `vt.export.*`"+`, are of its own process.

Of a Go program without a recorder, whose goroutines vtserve reads in its memory, there are the metrics
marked *anywhere*, and what they call threads are goroutines.

## Of processes

`)
	table(w, false)
	fmt.Fprint(w, "\n## Of the agent\n\n")
	table(w, true)
	fmt.Fprint(w, `
## Labels

In Prometheus the dots are underscores.

| label | means |
| --- | --- |
`)
	seen := map[string]bool{}
	for i := range metrics.Instruments {
		for _, l := range metrics.Instruments[i].Labels {
			if !seen[l.Name] {
				fmt.Fprintf(w, "| `%s` | %s |\n", l.Name, l.About)
			}
			seen[l.Name] = true
		}
	}
	fmt.Fprint(w, `
## What the JVM calls them

Where a metric means the same as one of the JVM it has its name: `+"`vt.thread.x` is `jvm.thread.virtual.x`"+` of OpenTelemetry. Those of `+"`jvm.threads.virtual`"+` are Micrometer's.

| here | there | differs |
| --- | --- | --- |
`)
	for i := range metrics.Instruments {
		if in := &metrics.Instruments[i]; in.Same != "" {
			fmt.Fprintf(w, "| `%s` | `%s` | %s |\n", in.Name, in.Same, in.Differs)
		}
	}
	var ends []string
	for _, b := range metrics.Bounds {
		ends = append(ends, time.Duration(b*1e9+.5).String())
	}
	fmt.Fprintf(w, `
## Histograms

Their buckets end at %s. The flight file has finer ones, two for each doubling, of which these are put together: none is divided, so counts are exact.

Delays and slices are a sample: of those below 100 µs one in seventeen is counted, for seventeen. The flight file has no sum of them, so theirs is taken from its buckets, as if each
duration were in the middle of its bucket: within a fifth of the truth for each duration between 128 ns and 275 s. Pins are all counted, with their sum. The setting of OpenTelemetry for exponential histograms changes nothing.

Exemplars are the newest outlier of each bucket for which there is an event: pins, and what took longer than the thresholds of the kinds `+"`queued` and `slice`"+` ([settings.md](settings.md)). They
name the thread, and the trace and the span of its scope where [traces](opentelemetry.md) are sent. OpenMetrics and OTLP carry them.

## Limits

Names of scopes are told as templates, at most 100 of them for each process, and at most 16 schedulers; the rest is summed in one series that has `+"`otel.metric.overflow`"+`. A name that has a series
keeps it as long as there is a scope of it.

A process that has ended keeps its totals for five minutes, and loses what it was doing at once. Of it and of events that were overwritten nothing is estimated.

## Deltas

With `+"`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta`"+` a message has what came since the collector last took one: what it did not take is in the next. If only its answer was lost, it is
told twice. Of a process that began before vtserve the first delta begins where vtserve met it; `+"`lowmemory`"+` does so for histograms alone.
`, strings.Join(ends, ", "))
}

func table(w io.Writer, agent bool) {
	fmt.Fprint(w, "| metric | in Prometheus | means | kind | unit | labels | exemplars |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range metrics.Instruments {
		in := &metrics.Instruments[i]
		if in.OfAgent() != agent {
			continue
		}
		var labels []string
		for _, l := range in.Labels {
			labels = append(labels, "`"+l.Name+"`")
		}
		kind := in.Kind.String()
		if in.Sampled {
			kind += ", sampled"
		}
		if in.Anywhere {
			kind += ", anywhere"
		}
		outliers := ""
		if in.Outliers != 0 {
			outliers = "of `" + in.Outliers.String() + "`"
		}
		fmt.Fprintf(w, "| `%s` | `%s` | %s | %s | %s | %s | %s |\n", in.Name, in.PrometheusName(), in.About, kind, in.Unit, strings.Join(labels, ", "), outliers)
	}
}
