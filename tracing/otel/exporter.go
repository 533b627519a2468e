package otel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// Options say what is exported, and where to. The zero value is not usable: Env comes from [otlpenv.Read].
type Options struct {
	Env   otlpenv.Config
	Rules []Rule // what becomes a span; the last of all is DefaultRule
	// Wait is from what duration on a park is told of a thread that has a span, and Pin a pin. Default: 20 ms, and 1 ms.
	Wait, Pin time.Duration
	// Parts makes parks and pins child spans of the thread's, not events of it.
	Parts bool
	// Findings is how often processes are looked at for findings, which are log records; less often where a look takes long. Default: 10 s; negative: never.
	Findings time.Duration
	// Profiles is how often profiles of what happened are sent, whose protocol is in development. Default: never; at least a second.
	Profiles time.Duration

	Warn func(string) // told what goes wrong, once for each thing; nil: nobody
}

// An Exporter sends what observers see of processes as OTLP. Nobody waits for it: what its queues have no room for is dropped and counted.
type Exporter struct {
	o       Options
	counted counters

	traces, logs, profiles signalCounters

	sender *sender
	spans  *queue // nil: no traces
	client otlptrace.Client
	asked  *throttle
	logged *logQueue     // nil: no logs
	shapes *profileQueue // nil: no profiles

	cancel  context.CancelFunc
	working sync.WaitGroup
	release []func() error
	once    sync.Once
	err     error
}

// New returns an exporter, which has goroutines until it is closed. A collector that cannot be reached is no error. An error is of the options, or of files that
// they name.
func New(o Options) (*Exporter, error) {
	o.Wait, o.Pin = cmp.Or(o.Wait, 20*time.Millisecond), cmp.Or(o.Pin, time.Millisecond)
	o.Findings = cmp.Or(o.Findings, 10*time.Second)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Wait < 0 || o.Pin < 0 || o.Profiles < 0 {
		return nil, errors.New("otlp: a negative duration in the options")
	}
	if o.Profiles > 0 && o.Profiles < time.Second {
		return nil, fmt.Errorf("otlp: profiles every %v: less than a second", o.Profiles)
	}
	for _, r := range o.Rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("otlp: rule %s: %w", r.Scope, err)
		}
	}
	if o.Env.Traces.Endpoint == nil || o.Env.Logs.Endpoint == nil || o.Env.Profiles.Endpoint == nil {
		return nil, errors.New("otlp: the options have no environment: see otlpenv.Read")
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &Exporter{o: o, cancel: cancel, sender: &sender{o.Warn}}
	x.traces.to, x.logs.to, x.profiles.to = "off", "off", "off"
	err := x.connect(ctx)
	if err != nil {
		cancel()
		return nil, errors.Join(err, x.disconnect())
	}
	return x, nil
}

func (x *Exporter) connect(ctx context.Context) error {
	env := &x.o.Env
	if env.Disabled {
		return nil
	}
	if !env.Traces.Off {
		client, asked, release, err := newTraceClient(ctx, &env.Traces)
		if err != nil {
			return fmt.Errorf("otlp: traces: %w", err)
		}
		x.client, x.asked, x.release = client, asked, append(x.release, release)
		x.traces.to = env.Traces.String()
		x.spans = newQueue(&x.traces, env.BatchSpans, env.SpanLimits.TextLength)
	}
	if !env.Logs.Off {
		p, err := newPoster(env.Logs, logsMethod)
		if err != nil {
			return fmt.Errorf("otlp: logs: %w", err)
		}
		x.release = append(x.release, p.close)
		x.logs.to = env.Logs.String()
		x.logged = newLogQueue(&x.logs, env.BatchLogs, env.SpanLimits.TextLength, p)
	}
	if !env.Profiles.Off && x.o.Profiles > 0 {
		p, err := newPoster(env.Profiles, profilesMethod)
		if err != nil {
			return fmt.Errorf("otlp: profiles: %w", err)
		}
		x.release = append(x.release, p.close)
		x.profiles.to = env.Profiles.String()
		x.shapes = newProfileQueue(&x.profiles, env.BatchSpans.Timeout, p)
	}
	// All that can fail is done.
	if x.spans != nil {
		x.working.Go(func() { x.spans.run(ctx, x.sender, x.asked, uploadTraces(x.client)) })
	}
	if x.logged != nil {
		x.working.Go(func() { x.logged.run(ctx, x.sender) })
	}
	if x.shapes != nil {
		x.working.Go(func() { x.shapes.run(ctx, x.sender) })
	}
	return nil
}

func (x *Exporter) disconnect() error {
	var errs []error
	for _, f := range x.release {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Observe returns what is to observe a process, for the agent's option of that name and for [recording.Observe]; nothing if no signal is wanted. What has a method
// Close, is closed when the process is not observed any more.
func (x *Exporter) Observe(p flight.Process, src recording.Source) (all []recording.Observer) {
	if x.spans != nil {
		all = append(all, newSpans(x, p, src))
	}
	if live, ok := src.(*recording.Live); ok && x.logged != nil && x.o.Findings > 0 {
		all = append(all, startWatch(x, p, live.Reader)) // it may hide what is not to be told
	}
	if x.shapes != nil {
		r, err := startProfiler(x, p, src)
		if err != nil {
			x.o.Warn(err.Error())
		} else {
			all = append(all, r)
		}
	}
	return all
}

// Close sends what is in the queues, until ctx ends: what is left then has failed. It returns when all goroutines are gone. Observers are to be closed before.
func (x *Exporter) Close(ctx context.Context) error {
	x.once.Do(func() {
		if x.spans != nil {
			x.spans.close()
		}
		if x.logged != nil {
			x.logged.close()
		}
		if x.shapes != nil {
			x.shapes.close()
		}
		stop := context.AfterFunc(ctx, x.cancel)
		x.working.Wait()
		stop()
		x.cancel()
		var err error
		if x.client != nil {
			err = x.client.Stop(context.WithoutCancel(ctx))
		}
		x.err = errors.Join(err, x.disconnect())
	})
	return x.err
}
