package otel

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

const logsMethod = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

// The names of events that log records have.
const (
	EventFinding      = "vt.finding"       // a check has found something that it had not found before
	EventFindingEnded = "vt.finding.ended" // it does not find it any more
	EventTrigger      = "vt.trigger"       // a rule has come true
)

// A logItem is a record that waits.
type logItem struct {
	of     *resourcepb.Resource
	record *logspb.LogRecord
}

// A logQueue gathers log records. Nobody waits for it.
type logQueue struct {
	*signalCounters
	limits otlpenv.Batch
	length int
	poster *poster

	mu struct {
		sync.Mutex
		items  chan logItem
		closed bool
	}
}

func newLogQueue(c *signalCounters, limits otlpenv.Batch, length int, p *poster) *logQueue {
	q := &logQueue{signalCounters: c, limits: limits, length: length, poster: p}
	q.mu.items = make(chan logItem, limits.Queue)
	return q
}

// put adds a record, or drops it.
func (q *logQueue) put(item logItem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		q.dropped.Add(1)
		return
	}
	q.built.Add(1)
	select {
	case q.mu.items <- item:
	default:
		q.built.Add(^uint64(0))
		q.dropped.Add(1)
	}
}

func (q *logQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.mu.closed {
		q.mu.closed = true
		close(q.mu.items)
	}
}

// run sends records until the queue is closed and empty.
func (q *logQueue) run(ctx context.Context, s *sender) {
	w := &way{q.signalCounters, q.limits.Timeout, q.poster.asked}
	var items []logItem
	tick := time.NewTicker(q.limits.Delay)
	defer tick.Stop()
	for open := true; open; {
		var item logItem
		select {
		case item, open = <-q.mu.items:
			if open {
				items = append(items, item)
			}
			if open && len(items) < q.limits.Most {
				continue
			}
		case <-tick.C:
		}
		if len(items) == 0 {
			continue
		}
		request := requestOf(items)
		s.send(ctx, w, len(items), func(ctx context.Context) (int, error) {
			var answer collogspb.ExportLogsServiceResponse
			err := q.poster.post(ctx, request, &answer)
			return int(answer.GetPartialSuccess().GetRejectedLogRecords()), refusal(err, answer.GetPartialSuccess().GetErrorMessage())
		})
		clear(items)
		items = items[:0]
	}
}

// refusal is the error, or what a collector says of what it refused.
func refusal(err error, text string) error {
	if err == nil && text != "" {
		return &partialError{text}
	}
	return err
}

// A partialError tells why a part was refused.
type partialError struct{ text string }

func (e *partialError) Error() string { return "the collector: " + e.text }

func requestOf(items []logItem) *collogspb.ExportLogsServiceRequest {
	request := &collogspb.ExportLogsServiceRequest{}
	var of map[*resourcepb.Resource]*logspb.ScopeLogs
	for _, i := range items {
		to := of[i.of]
		if to == nil {
			to = &logspb.ScopeLogs{Scope: instrumentation(), SchemaUrl: schemaURL}
			request.ResourceLogs = append(request.ResourceLogs, &logspb.ResourceLogs{Resource: i.of, ScopeLogs: []*logspb.ScopeLogs{to}, SchemaUrl: schemaURL})
			if of == nil {
				of = map[*resourcepb.Resource]*logspb.ScopeLogs{}
			}
			of[i.of] = to
		}
		to.LogRecords = append(to.LogRecords, i.record)
	}
	return request
}

// A Log makes log records of what is found in a process. Its methods may be called from any goroutine, and never wait for a collector.
type Log struct {
	x        *Exporter
	resource *resourcepb.Resource
	mu       struct {
		sync.Mutex
		known map[string]dump.Finding // by key
	}
}

// maxKnown bounds the findings that are followed until they end.
const maxKnown = 1000

// Log returns what makes log records of a process. Without a logs signal it does nothing.
func (x *Exporter) Log(p flight.Process) *Log {
	l := &Log{x: x, resource: resourceOf(x.o.Env.Resource(p))}
	l.mu.known = map[string]dump.Finding{}
	return l
}

// Findings takes what the checks find now: what they had not found the time before is a record, and so is what they do not find any more. A check that was not made
// this time ends nothing.
func (l *Log) Findings(f *dump.Findings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := map[string]bool{}
	for i := range f.Findings {
		x := &f.Findings[i]
		now[x.Key] = true
		if _, ok := l.mu.known[x.Key]; ok || len(l.mu.known) >= maxKnown {
			continue
		}
		l.mu.known[x.Key] = *x
		l.finding(EventFinding, x, f.AsOf, severityOf(x.Severity), x.What)
	}
	unsure := map[string]bool{}
	for _, u := range f.Unjudged {
		if !u.Partly {
			unsure[u.Check] = true
		}
	}
	for _, m := range f.More {
		unsure[m.Check] = true // it may be among those that are not told
	}
	for _, key := range slices.Sorted(maps.Keys(l.mu.known)) {
		if x := l.mu.known[key]; !now[key] && !unsure[x.Check] {
			delete(l.mu.known, key)
			l.finding(EventFindingEnded, &x, f.AsOf, logspb.SeverityNumber_SEVERITY_NUMBER_INFO, "no more: "+x.What)
		}
	}
}

// severityOf maps severities to those of the data model.
func severityOf(s dump.Severity) logspb.SeverityNumber {
	switch s {
	case dump.SeverityError:
		return logspb.SeverityNumber_SEVERITY_NUMBER_ERROR
	case dump.SeverityWarning:
		return logspb.SeverityNumber_SEVERITY_NUMBER_WARN
	}
	return logspb.SeverityNumber_SEVERITY_NUMBER_INFO
}

func (l *Log) finding(event string, x *dump.Finding, at time.Time, s logspb.SeverityNumber, body string) {
	r := l.record(event, at, s, body)
	r.text(attrFindingCheck, x.Check)
	r.text(attrFindingKey, x.Key)
	r.int(attrFindingCount, int64(x.Count))
	r.int(attrFindingValue, x.Value)
	r.int(attrFindingThreshold, x.Threshold)
	r.text(attrFindingUnit, string(x.Unit))
	r.text(attrFindingPage, x.Page)
	r.text(attrScopeName, strings.Join(x.Scope, "/"))
	if x.Place != nil {
		r.text(attrFunction, x.Place.Func)
		r.text(attrFile, x.Place.File)
		if x.Place.Line > 0 {
			r.int(attrLine, int64(x.Place.Line))
		}
	}
	r.text(attrEvidence, strings.Join(x.Evidence, "\n"))
	r.send()
}

// Fired takes rules that have come true, and the path of the bundle that was taken, or "".
func (l *Log) Fired(fired []trigger.Firing, bundle string) {
	for _, f := range fired {
		r := l.record(EventTrigger, f.At, logspb.SeverityNumber_SEVERITY_NUMBER_WARN, f.What)
		r.text(attrTriggerRule, f.Rule.String())
		r.text(attrTriggerBundle, bundle)
		r.text(attrEvidence, strings.Join(f.Evidence, "\n"))
		r.send()
	}
}

// A logRecord is one that is being made.
type logRecord struct {
	*logspb.LogRecord
	of *Log
}

func (l *Log) record(event string, at time.Time, s logspb.SeverityNumber, body string) *logRecord {
	return &logRecord{&logspb.LogRecord{
		TimeUnixNano: uint64(at.UnixNano()), ObservedTimeUnixNano: uint64(time.Now().UnixNano()), SeverityNumber: s,
		SeverityText: strings.TrimPrefix(s.String(), "SEVERITY_NUMBER_"), EventName: event,
		Body: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: cut(body, l.x.o.Env.SpanLimits.TextLength)}},
	}, l}
}

func (r *logRecord) put(a attribute, v *commonpb.AnyValue) {
	r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: Attributes[a].Key, Value: v})
}

func (r *logRecord) text(a attribute, text string) {
	if text != "" {
		r.put(a, &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: cut(text, r.of.x.o.Env.SpanLimits.TextLength)}})
	}
}

func (r *logRecord) int(a attribute, n int64) {
	r.put(a, &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}})
}

func (r *logRecord) send() {
	if r.of.x.logged != nil {
		r.of.x.logged.put(logItem{r.of.resource, r.LogRecord})
	}
}
