package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/metrics"
	"github.com/vtscope/vtscope/tracing/metrics/otlp"
	"github.com/vtscope/vtscope/tracing/metrics/prom"
	"github.com/vtscope/vtscope/tracing/otel"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// lastWords is how long what was not sent yet may take when vtserve ends.
const lastWords = 2 * time.Second

// scraped is how long after a scrape of /metrics another one is expected.
const scraped = 5 * time.Minute

// A telemetry connects the agent with those who keep what it knows: it serves /metrics, and sends by OTLP as the standard environment variables say.
type telemetry struct {
	config   otlpenv.Config
	metrics  *metrics.Collector
	sent     *otlp.Exporter // nil: metrics are not sent
	spans    *otel.Exporter // nil: neither traces nor logs nor profiles are sent
	rules    []otel.Rule
	profiles time.Duration // 0: not sent
	lookup   func(string) (string, bool)

	agent atomic.Pointer[agent.Agent] // nil: it has not begun

	logs struct {
		sync.Mutex
		of map[string]*otel.Log // by path of the flight file: each knows what was found before
	}
}

func newTelemetry(s *settings) (*telemetry, error) {
	t := &telemetry{rules: s.sampling, profiles: s.profiles, lookup: os.LookupEnv}
	t.logs.of = map[string]*otel.Log{}
	if s.otlp != "" {
		t.lookup = func(name string) (string, bool) {
			if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
				return s.otlp, true
			}
			return os.LookupEnv(name)
		}
	}
	var err error
	if t.config, err = otlpenv.Read(t.lookup); err != nil {
		return nil, hint{err, "docs/opentelemetry.md, which lists the variables"}
	}
	t.metrics, err = metrics.New(metrics.Options{Traced: t.asked("TRACES", &t.config.Traces)})
	return t, err
}

// asked reports whether a signal is to be sent: without a variable that says so vtserve sends nothing, though OpenTelemetry has a default for where.
func (t *telemetry) asked(signal string, s *otlpenv.Signal) bool {
	for _, name := range []string{"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"} {
		if v, _ := t.lookup(name); strings.TrimSpace(v) != "" {
			return !t.config.Disabled && !s.Off
		}
	}
	return false
}

// attach makes an agent with these options observe for whoever wants to know.
func (t *telemetry) attach(o *agent.Options) error {
	o.Observe = t.metrics.Observe
	config := t.config
	config.Traces.Off, config.Logs.Off = !t.asked("TRACES", &config.Traces), !t.asked("LOGS", &config.Logs)
	config.Profiles.Off = t.profiles == 0 || !t.asked("PROFILES", &config.Profiles)
	if !config.Traces.Off || !config.Logs.Off || !config.Profiles.Off {
		var err error
		if t.spans, err = otel.New(otel.Options{Env: config, Rules: t.rules, Profiles: t.profiles, Warn: o.Warn}); err != nil {
			return hint{err, "docs/opentelemetry.md"}
		}
		o.Observe = func(p flight.Process, src recording.Source) []recording.Observer {
			return append(t.metrics.Observe(p, src), t.spans.Observe(p, src)...)
		}
		for signal, of := range map[string]func(otel.Stats) otel.SignalStats{
			"traces":   func(s otel.Stats) otel.SignalStats { return s.Traces },
			"logs":     func(s otel.Stats) otel.SignalStats { return s.Logs },
			"profiles": func(s otel.Stats) otel.SignalStats { return s.Profiles },
		} {
			t.metrics.Exported(signal, func() metrics.Export {
				s := of(t.spans.Stats())
				return metrics.Export{Sent: s.Sent, Failed: s.Failed + s.Refused, Dropped: s.Dropped}
			})
		}
		o.Found = t.found
		o.Fired = func(p flight.Process, fired []trigger.Firing, bundle string) { t.spans.Log(p).Fired(fired, bundle) }
	}
	if o.Mount == nil {
		o.Mount = map[string]http.Handler{}
	}
	if t.spans == nil && !t.asked("METRICS", &t.config.Metrics) {
		o.ObserveFor = scraped // events are for the exemplars of /metrics alone
	}
	page := prom.Handler(t.metrics)
	o.Mount["/metrics"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := t.agent.Load(); a != nil {
			a.Want()
		}
		page.ServeHTTP(w, r)
	})
	if t.spans != nil {
		o.Mount["/otlp"] = t.spans
	}
	return nil
}

// found makes log records of what the checks find in a process.
func (t *telemetry) found(p flight.Process, f *dump.Findings) {
	t.logs.Lock()
	l := t.logs.of[p.Path]
	if l == nil {
		l = t.spans.Log(p)
		t.logs.of[p.Path] = l
	}
	if f.Process.Status.Gone() { // nothing is found any more
		delete(t.logs.of, p.Path)
	}
	t.logs.Unlock()
	l.Findings(f)
}

// start begins to send what the agent knows.
func (t *telemetry) start(ctx context.Context, a *agent.Agent, warn func(string)) (err error) {
	t.agent.Store(a)
	t.metrics.From(a.Figures)
	if t.asked("METRICS", &t.config.Metrics) {
		if t.sent, err = otlp.Start(context.WithoutCancel(ctx), t.metrics, otlp.Options{Config: t.config, Warn: warn}); err != nil {
			return hint{err, "docs/opentelemetry.md"}
		}
	}
	return nil
}

// stop sends what there is yet, if it can be done at once.
func (t *telemetry) stop(warn func(string)) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if t.spans != nil {
		if err := t.spans.Close(ctx); err != nil {
			warn(fmt.Sprintf("otlp: %v", err))
		}
		if s := t.spans.Stats(); s.Traces.Failed+s.Logs.Failed > 0 {
			warn(fmt.Sprintf("otlp: %d spans and %d log records could not be sent", s.Traces.Failed, s.Logs.Failed))
		}
	}
	if t.sent == nil {
		return
	}
	if err := t.sent.Shutdown(ctx); err != nil {
		warn(fmt.Sprintf("the last metrics were not sent: %v", err))
	}
}
