package otlpenv

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Variable is a row of the table of those that are read.
type Variable struct {
	Name    string // with SIGNAL for one of TRACES, METRICS, LOGS and PROFILES; where that is optional, in brackets
	Default string
	About   string // one sentence, no full stop
}

// Variables are all that are read, as docs/opentelemetry.md lists them.
var Variables = []Variable{
	{"OTEL_SDK_DISABLED", "false", "send nothing"},
	{"OTEL_SERVICE_NAME", "of the process, or unknown_service:PROGRAM", "service.name of all processes"},
	{"OTEL_RESOURCE_ATTRIBUTES", "", "attributes of all resources: key=value,key=value, values percent-encoded"},
	{"OTEL_SIGNAL_EXPORTER", "otlp", "otlp or none"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_ENDPOINT", "http://localhost:4318, of grpc http://localhost:4317", "where to; with SIGNAL the whole URL, without the URL before /v1/traces and so on"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_PROTOCOL", "http/protobuf", "http/protobuf or grpc"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_INSECURE", "false", "of grpc: no TLS, if the endpoint has no scheme"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_HEADERS", "", "headers: key=value,key=value, values percent-encoded"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_TIMEOUT", "10000", "of one attempt, in milliseconds"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_COMPRESSION", "none", "gzip or none"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_CERTIFICATE", "the system's", "file with the authorities to trust"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_CLIENT_CERTIFICATE", "", "file with the own certificate"},
	{"OTEL_EXPORTER_OTLP[_SIGNAL]_CLIENT_KEY", "", "file with the key of the own certificate"},
	{"OTEL_TRACES_SAMPLER", "parentbased_always_on", "which scopes may become spans: [parentbased_]always_on, always_off or traceidratio"},
	{"OTEL_TRACES_SAMPLER_ARG", "1", "of traceidratio: the share, from 0 to 1"},
	{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "128", "most attributes of a span"},
	{"OTEL_SPAN_EVENT_COUNT_LIMIT", "128", "most events of a span"},
	{"OTEL_SPAN_LINK_COUNT_LIMIT", "128", "most links of a span"},
	{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "none", "most bytes of a text"},
	{"OTEL_BSP_SCHEDULE_DELAY", "5000", "of spans: between two exports, in milliseconds"},
	{"OTEL_BSP_EXPORT_TIMEOUT", "30000", "of spans: of one export with all its attempts, in milliseconds"},
	{"OTEL_BSP_MAX_QUEUE_SIZE", "2048", "most spans that wait"},
	{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512", "most spans in one export"},
	{"OTEL_BLRP_SCHEDULE_DELAY", "1000", "of log records: as of spans"},
	{"OTEL_BLRP_EXPORT_TIMEOUT", "30000", "of log records: as of spans"},
	{"OTEL_BLRP_MAX_QUEUE_SIZE", "2048", "of log records: as of spans"},
	{"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "512", "of log records: as of spans"},
	{"OTEL_METRIC_EXPORT_INTERVAL", "60000", "of metrics: between two exports, in milliseconds"},
	{"OTEL_METRIC_EXPORT_TIMEOUT", "30000", "of metrics: of one export with all its attempts, in milliseconds"},
	{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "cumulative", "cumulative, delta or lowmemory"},
	{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram", "or base2_exponential_bucket_histogram"},
}

// A signal is a row of the table of signals.
type signal struct {
	name string // in variables
	path string // of HTTP
	of   func(*Config) *Signal
}

var signals = []signal{
	{"TRACES", "v1/traces", func(c *Config) *Signal { return &c.Traces }},
	{"METRICS", "v1/metrics", func(c *Config) *Signal { return &c.Metrics }},
	{"LOGS", "v1/logs", func(c *Config) *Signal { return &c.Logs }},
	{"PROFILES", "v1development/profiles", func(c *Config) *Signal { return &c.Profiles }},
}

// A reader notes what is wrong, and reads on.
type reader struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (r *reader) wrong(name string, format string, a ...any) {
	err := fmt.Errorf("%s: %s", name, fmt.Sprintf(format, a...))
	for _, e := range r.errs {
		if e.Error() == err.Error() {
			return // another signal has said so
		}
	}
	r.errs = append(r.errs, err)
}

// text returns the value of the first variable that has one.
func (r *reader) text(names ...string) (name, value string) {
	for _, n := range names {
		if v, ok := r.lookup(n); ok {
			if v = strings.TrimSpace(v); v != "" {
				return n, v
			}
		}
	}
	return names[0], ""
}

// word returns a value that is one of a few.
func (r *reader) word(names []string, def string, all ...string) string {
	name, v := r.text(names...)
	if v == "" {
		return def
	}
	v = strings.ToLower(v)
	for _, w := range all {
		if v == w {
			return v
		}
	}
	r.wrong(name, "%q: want one of %s", v, strings.Join(all, ", "))
	return def
}

func (r *reader) yes(names ...string) bool { return r.word(names, "false", "true", "false") == "true" }

func (r *reader) number(def, least int, names ...string) int {
	name, v := r.text(names...)
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n < int64(least) {
		r.wrong(name, "%q: want a number from %d to %d", v, least, math.MaxInt32)
		return def
	}
	return int(n)
}

func (r *reader) millis(def time.Duration, names ...string) time.Duration {
	return time.Duration(r.number(int(def/time.Millisecond), 1, names...)) * time.Millisecond
}

func (r *reader) general(c *Config) {
	c.Disabled = r.yes("OTEL_SDK_DISABLED")
	name, list := r.text("OTEL_RESOURCE_ATTRIBUTES")
	pairs, err := Pairs(list)
	if err != nil {
		r.wrong(name, "%v", err)
	}
	for _, p := range pairs {
		if p.Key == serviceName {
			c.ServiceName = p.Value.(string)
			continue
		}
		c.Attributes = append(c.Attributes, p)
	}
	if _, v := r.text("OTEL_SERVICE_NAME"); v != "" {
		c.ServiceName = v
	}
	r.sampler(&c.Sampler)
	l := &c.SpanLimits
	l.Attributes = r.number(l.Attributes, 0, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")
	l.Events = r.number(l.Events, 0, "OTEL_SPAN_EVENT_COUNT_LIMIT")
	l.Links = r.number(l.Links, 0, "OTEL_SPAN_LINK_COUNT_LIMIT")
	l.TextLength = r.number(0, 1, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
	r.batch("OTEL_BSP_", &c.BatchSpans)
	r.batch("OTEL_BLRP_", &c.BatchLogs)
	c.Interval = r.millis(c.Interval, "OTEL_METRIC_EXPORT_INTERVAL")
	c.MaxExport = r.millis(c.MaxExport, "OTEL_METRIC_EXPORT_TIMEOUT")
	c.Temporality = Temporality(r.word([]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"}, string(Cumulative),
		string(Cumulative), string(Delta), string(LowMemory)))
	const exponential = "base2_exponential_bucket_histogram"
	c.Exponential = r.word([]string{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"}, "explicit_bucket_histogram",
		"explicit_bucket_histogram", exponential) == exponential
}

func (r *reader) batch(prefix string, b *Batch) {
	b.Delay = r.millis(b.Delay, prefix+"SCHEDULE_DELAY")
	b.Timeout = r.millis(b.Timeout, prefix+"EXPORT_TIMEOUT")
	b.Queue = r.number(b.Queue, 1, prefix+"MAX_QUEUE_SIZE")
	b.Most = r.number(min(b.Most, b.Queue), 1, prefix+"MAX_EXPORT_BATCH_SIZE")
	if b.Most > b.Queue {
		r.wrong(prefix+"MAX_EXPORT_BATCH_SIZE", "%d: more than the queue of %d", b.Most, b.Queue)
		b.Most = b.Queue
	}
}

func (r *reader) sampler(s *Sampler) {
	const all = "parentbased_always_on"
	kind := r.word([]string{"OTEL_TRACES_SAMPLER"}, all,
		"always_on", "always_off", "traceidratio", all, "parentbased_always_off", "parentbased_traceidratio")
	kind, s.Parent = strings.CutPrefix(kind, "parentbased_")
	switch kind {
	case "always_on":
		s.Ratio = 1
	case "always_off":
		s.Ratio = 0
	default:
		s.Ratio = 1
		if name, v := r.text("OTEL_TRACES_SAMPLER_ARG"); v != "" {
			ratio, err := strconv.ParseFloat(v, 64)
			if err != nil || !(ratio >= 0 && ratio <= 1) {
				r.wrong(name, "%q: want a share from 0 to 1", v)
				return
			}
			s.Ratio = ratio
		}
	}
}

func (r *reader) signal(of signal, s *Signal) {
	s.Off = r.word([]string{"OTEL_" + of.name + "_EXPORTER"}, "otlp", "otlp", "none") == "none"
	both := func(what string) []string {
		return []string{"OTEL_EXPORTER_OTLP_" + of.name + "_" + what, "OTEL_EXPORTER_OTLP_" + what}
	}
	s.Protocol = Protocol(r.word(both("PROTOCOL"), string(HTTP), string(GRPC), string(HTTP)))
	s.Timeout = r.millis(10*time.Second, both("TIMEOUT")...)
	s.Gzip = r.word(both("COMPRESSION"), "none", "gzip", "none") == "gzip"
	_, s.Certificate = r.text(both("CERTIFICATE")...)
	_, s.ClientCertificate = r.text(both("CLIENT_CERTIFICATE")...)
	_, s.ClientKey = r.text(both("CLIENT_KEY")...)
	for _, name := range slices.Backward(both("HEADERS")) { // those of the signal win
		_, list := r.text(name)
		pairs, err := Pairs(list)
		if err != nil {
			r.wrong(name, "%v", err)
		}
		for _, p := range pairs {
			if err := checkHeader(p.Key, p.Value.(string)); err != nil {
				r.wrong(name, "%v", err)
				continue
			}
			if s.Headers == nil {
				s.Headers = map[string]string{}
			}
			s.Headers[strings.ToLower(p.Key)] = p.Value.(string)
		}
	}
	r.endpoint(of, s, both("ENDPOINT"), r.yes(both("INSECURE")...))
}

func (r *reader) endpoint(of signal, s *Signal, names []string, insecure bool) {
	name, v := r.text(names...)
	whole := name == names[0] && v != ""
	if v == "" {
		v = "http://localhost:4318"
		if s.Protocol == GRPC {
			v = "http://localhost:4317"
		}
	}
	u, err := Endpoint(v, s.Protocol, insecure)
	if err != nil {
		r.wrong(name, "%v", err)
		u = &url.URL{Scheme: "http", Host: "localhost:4318"}
	}
	if s.Protocol == HTTP && !whole {
		u = u.JoinPath(of.path)
	}
	if s.Protocol == HTTP && u.Path == "" {
		u.Path = "/"
	}
	s.Endpoint = u
}

// Endpoint reads where to send. Of gRPC it may be a host and a port without a scheme; insecure says then which is meant.
func Endpoint(text string, p Protocol, insecure bool) (*url.URL, error) {
	if p == GRPC && !strings.Contains(text, "://") {
		scheme := "https://"
		if insecure {
			scheme = "http://"
		}
		text = scheme + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL") // the parser's own words may tell a password
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme %q: want http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("no host in it")
	case p == GRPC && strings.Trim(u.Path, "/") != "":
		return nil, fmt.Errorf("path %q: grpc has none", u.Path)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a query or a fragment in it")
	case u.User != nil:
		return nil, errors.New("a user in it: use a header")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > math.MaxUint16 {
			return nil, fmt.Errorf("port %q: want one from 1 to 65535", port)
		}
	} else if p == GRPC {
		u.Host = cmp.Or(u.Host, "localhost") + ":4317"
	}
	if p == GRPC {
		u.Path = ""
	}
	return u, nil
}
