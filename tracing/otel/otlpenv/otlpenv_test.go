package otlpenv

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

func from(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func read(t *testing.T, m map[string]string) Config {
	t.Helper()
	c, err := Read(from(m))
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	return c
}

func TestWithoutVariablesAllIsAsTheSpecificationSays(t *testing.T) {
	c := read(t, nil)
	for path, s := range map[string]*Signal{
		"v1/traces": &c.Traces, "v1/metrics": &c.Metrics, "v1/logs": &c.Logs, "v1development/profiles": &c.Profiles,
	} {
		if got := s.Endpoint.String(); got != "http://localhost:4318/"+path || s.Protocol != HTTP || s.Timeout != 10*time.Second || !s.Insecure() || s.Gzip || s.Off {
			t.Errorf("%s: got %s, %+v", path, got, s)
		}
		if tls, err := s.TLS(); tls != nil || err != nil {
			t.Errorf("%s: got TLS %v, error %v, want none", path, tls, err)
		}
	}
	if c.Sampler != (Sampler{true, 1}) || c.BatchSpans != (Batch{5 * time.Second, 30 * time.Second, 2048, 512}) || c.Interval != time.Minute || c.Temporality != Cumulative {
		t.Errorf("got %+v", c)
	}
	empty := map[string]string{}
	for _, v := range allNames() {
		empty[v] = " "
	}
	if e := read(t, empty); !reflect.DeepEqual(e, c) {
		t.Errorf("empty values: got %+v, want them as none: %+v", e, c)
	}
}

func TestEndpointsAreThoseOfTheProtocolAndTheSignal(t *testing.T) {
	const all, own, proto, insecure = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_INSECURE"
	for _, c := range []struct {
		env           map[string]string
		traces, logs  string
		tracesTLS     bool
		tracesByProto Protocol
	}{
		{map[string]string{all: "http://h:1"}, "http://h:1/v1/traces", "http://h:1/v1/logs", false, HTTP},
		{map[string]string{all: "https://h:1/x/"}, "https://h:1/x/v1/traces", "https://h:1/x/v1/logs", true, HTTP},
		{map[string]string{all: "http://h:1", own: "https://k:2/y"}, "https://k:2/y", "http://h:1/v1/logs", true, HTTP},
		{map[string]string{own: "http://k:2"}, "http://k:2/", "http://localhost:4318/v1/logs", false, HTTP},
		{map[string]string{proto: "grpc"}, "http://localhost:4317", "http://localhost:4317", false, GRPC},
		{map[string]string{proto: "grpc", all: "h:1"}, "https://h:1", "https://h:1", true, GRPC},
		{map[string]string{proto: "GRPC", all: "h:1", insecure: "true"}, "http://h:1", "http://h:1", false, GRPC},
		{map[string]string{proto: "grpc", all: "https://h:1", insecure: "true"}, "https://h:1", "https://h:1", true, GRPC},
		{map[string]string{proto: "grpc", all: "http://h/"}, "http://h:4317", "http://h:4317", false, GRPC},
		{map[string]string{proto: "grpc", all: "http://[::1]:9"}, "http://[::1]:9", "http://[::1]:9", false, GRPC},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", all: "http://h:1"}, "http://h:1", "http://h:1/v1/logs", false, GRPC},
	} {
		got := read(t, c.env)
		if s := got.Traces.Endpoint.String(); s != c.traces || got.Traces.Insecure() == c.tracesTLS || got.Traces.Protocol != c.tracesByProto {
			t.Errorf("%v: traces: got %s", c.env, &got.Traces)
		}
		if s := got.Logs.Endpoint.String(); s != c.logs {
			t.Errorf("%v: logs: got %s", c.env, &got.Logs)
		}
	}
}

func TestASignalsOwnValueWins(t *testing.T) {
	c := read(t, map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20x, a=1", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "a=2",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "1000", "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT": "2000",
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION": "none",
		"OTEL_METRICS_EXPORTER": "none",
	})
	if got := c.Traces.Headers; !maps.Equal(got, map[string]string{"authorization": "Bearer x", "a": "1"}) {
		t.Errorf("traces: got headers %v", got)
	}
	if got := c.Logs.Headers; !maps.Equal(got, map[string]string{"authorization": "Bearer x", "a": "2"}) {
		t.Errorf("logs: got headers %v", got)
	}
	if c.Traces.Timeout != time.Second || c.Logs.Timeout != 2*time.Second || !c.Traces.Gzip || c.Logs.Gzip || !c.Metrics.Off || c.Logs.Off {
		t.Errorf("got %+v", c)
	}
}

func TestWhatIsWrongIsAnErrorThatNamesItsVariable(t *testing.T) {
	for name, values := range map[string][]string{
		"OTEL_SDK_DISABLED":                                        {"yes"},
		"OTEL_EXPORTER_OTLP_ENDPOINT":                              {"localhost:4318", "ftp://h", "http://", "http://u:secret@h", "http://h?q=secret", "http://h:99999", "http://h:secret", "://"},
		"OTEL_EXPORTER_OTLP_PROTOCOL":                              {"http/json", "udp"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":                               {"10s", "-1", "0", "99999999999"},
		"OTEL_EXPORTER_OTLP_COMPRESSION":                           {"zstd"},
		"OTEL_EXPORTER_OTLP_HEADERS":                               {"secret", "=secret", "a=%zz", "a b=secret", "a=%0d%0asecret", "grpc-timeout=secret"},
		"OTEL_EXPORTER_OTLP_INSECURE":                              {"1"},
		"OTEL_RESOURCE_ATTRIBUTES":                                 {"x", "=x", "a=%"},
		"OTEL_TRACES_EXPORTER":                                     {"zipkin"},
		"OTEL_TRACES_SAMPLER":                                      {"jaeger_remote"},
		"OTEL_SPAN_EVENT_COUNT_LIMIT":                              {"-1", "many"},
		"OTEL_BSP_MAX_QUEUE_SIZE":                                  {"0"},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE":                           {"4096"},
		"OTEL_METRIC_EXPORT_INTERVAL":                              {"1m"},
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":        {"both"},
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": {"linear"},
	} {
		for _, v := range values {
			_, err := Read(from(map[string]string{name: v}))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: got error %v, want one that names it", name, v, err)
			} else if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s=%s: the error tells it: %v", name, v, err)
			}
		}
	}
	for _, v := range []string{"2", "-0.1", "NaN", "x"} {
		_, err := Read(from(map[string]string{"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": v}))
		if err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_SAMPLER_ARG") {
			t.Errorf("%s: got error %v", v, err)
		}
	}
}

func TestSamplersAreThoseOfTheSpecification(t *testing.T) {
	for name, want := range map[string]Sampler{
		"always_on": {false, 1}, "always_off": {false, 0}, "traceidratio": {false, 0.25},
		"parentbased_always_on": {true, 1}, "parentbased_always_off": {true, 0}, "parentbased_traceidratio": {true, 0.25},
	} {
		if got := read(t, map[string]string{"OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": "0.25"}).Sampler; got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// allNames are the names of all variables of the table.
func allNames() (all []string) {
	for _, v := range Variables {
		name := strings.NewReplacer("[", "", "]", "").Replace(v.Name)
		if !strings.Contains(v.Name, "SIGNAL") {
			all = append(all, name)
			continue
		}
		for _, s := range signals {
			all = append(all, strings.ReplaceAll(name, "SIGNAL", s.name))
		}
		if strings.Contains(v.Name, "[") {
			all = append(all, regexp.MustCompile(`\[.*\]`).ReplaceAllString(v.Name, ""))
		}
	}
	return all
}

func TestTheTableHasTheVariablesThatAreRead(t *testing.T) {
	asked := map[string]bool{}
	for _, more := range []map[string]string{{}, {"OTEL_TRACES_SAMPLER": "traceidratio"}} {
		_, err := Read(func(name string) (string, bool) { asked[name] = true; v, ok := more[name]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, fallback := range []string{"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"} {
		if !asked[fallback] {
			t.Errorf("%s is not read", fallback)
		}
		delete(asked, fallback)
	}
	for _, name := range allNames() {
		if !asked[name] {
			t.Errorf("%s is in the table, and not read", name)
		}
		delete(asked, name)
	}
	for name := range asked {
		t.Errorf("%s is read, and not in the table", name)
	}
}

func TestAResourceTellsOfTheProcess(t *testing.T) {
	me := flight.Process{PID: 7, Program: "shop", Exe: "/opt/shop", GoVersion: "go1.26.8", Start: time.Unix(1, 0), Status: flight.StatusGone}
	c := read(t, map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=s,process.runtime.name=x"})
	got := map[string]any{}
	last := ""
	for _, a := range c.Resource(me) {
		if a.Key <= last {
			t.Errorf("%s comes after %s", a.Key, last)
		}
		last = a.Key
		got[a.Key] = a.Value
	}
	for k, want := range map[string]any{
		"service.name": "s", "process.pid": int64(7), "process.executable.name": "shop", "process.executable.path": "/opt/shop", "process.runtime.version": "1.26.8",
		"process.runtime.name": "x", "deployment.environment.name": "test", "process.creation.time": "1970-01-01T00:00:01.000Z", "telemetry.distro.name": "vtscope",
	} {
		if got[k] != want {
			t.Errorf("%s: got %v, want %v", k, got[k], want)
		}
	}
	c = read(t, nil)
	if name := ServiceName(c.Resource(me)); name != "unknown_service:shop" {
		t.Errorf("got service %q", name)
	}
	c = read(t, map[string]string{"OTEL_SERVICE_NAME": "n", "OTEL_RESOURCE_ATTRIBUTES": "service.name=s"})
	if name := ServiceName(c.Resource(me)); name != "n" {
		t.Errorf("got service %q, want that of OTEL_SERVICE_NAME", name)
	}
}

func TestAProcessMayNameItself(t *testing.T) {
	name, attributes, ok := fromEnviron("A=1\x00OTEL_SERVICE_NAME=cart\x00OTEL_RESOURCE_ATTRIBUTES=a=b,c=d%20e\x00SECRET=x\x00")
	if !ok || name != "cart" || !reflect.DeepEqual(attributes, []Attribute{{"a", "b"}, {"c", "d e"}}) {
		t.Errorf("got %q, %v, %v", name, attributes, ok)
	}
	if _, _, ok := fromEnviron("A=1\x00NOT_OTEL_SERVICE_NAME=x"); ok {
		t.Error("got a name where there is none")
	}
}

func TestTheFilesOfTLSAreRead(t *testing.T) {
	bad := t.TempDir() + "/bad.pem"
	if err := os.WriteFile(bad, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://h"}
	for name, v := range map[string]string{"CERTIFICATE": bad, "CLIENT_CERTIFICATE": bad, "CLIENT_KEY": bad} {
		env := maps.Clone(base)
		env["OTEL_EXPORTER_OTLP_"+name] = v
		c := read(t, env)
		if _, err := c.Traces.TLS(); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	c := read(t, base)
	if tls, err := c.Traces.TLS(); err != nil || tls == nil {
		t.Errorf("got %v, %v", tls, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("OTEL_EXPORTER_OTLP_ENDPOINT=http://h:1/x\nOTEL_EXPORTER_OTLP_HEADERS=a=b,c=%20\nOTEL_TRACES_SAMPLER=traceidratio\nOTEL_TRACES_SAMPLER_ARG=0.5")
	f.Add("OTEL_EXPORTER_OTLP_PROTOCOL=grpc\nOTEL_EXPORTER_OTLP_ENDPOINT=[::1]:1\nOTEL_RESOURCE_ATTRIBUTES=service.name=\xff")
	f.Add("OTEL_EXPORTER_OTLP_ENDPOINT=http://[fe80::1%25x]:1\nOTEL_EXPORTER_OTLP_TIMEOUT=1\nOTEL_BSP_MAX_QUEUE_SIZE=1")
	f.Fuzz(func(t *testing.T, text string) {
		env := map[string]string{}
		for line := range strings.SplitSeq(text, "\n") {
			name, v, _ := strings.Cut(line, "=")
			env[name] = v
		}
		c, err := Read(from(env))
		for _, s := range []*Signal{&c.Traces, &c.Metrics, &c.Logs, &c.Profiles} {
			if s.Endpoint == nil || s.Endpoint.Host == "" || s.Timeout <= 0 || s.Protocol != GRPC && s.Protocol != HTTP || s.Endpoint.User != nil {
				t.Fatalf("%q: got %+v", text, s)
			}
			if s.Protocol == GRPC && err == nil && (s.Endpoint.Path != "" || s.Endpoint.Port() == "") {
				t.Fatalf("%q: grpc to %s", text, s.Endpoint)
			}
			for k, v := range s.Headers {
				if checkHeader(k, v) != nil {
					t.Fatalf("%q: got header %q: %q", text, k, v)
				}
			}
		}
		if r := c.Sampler.Ratio; !(r >= 0 && r <= 1) || c.BatchSpans.Most > c.BatchSpans.Queue || c.BatchSpans.Most < 1 || c.BatchSpans.Delay <= 0 {
			t.Fatalf("%q: got %+v", text, c)
		}
	})
}
