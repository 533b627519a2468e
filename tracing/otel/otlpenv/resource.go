package otlpenv

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

const serviceName = "service.name"

// Resource returns what describes a process that is observed: service.name, service.instance.id, process.pid and so on, sorted by key, each once. What the
// variables of the observer say wins over what the process itself says in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, if that can be read, and that over
// what the flight file knows. Without any of these names the service is called unknown_service:PROGRAM.
func (c *Config) Resource(p flight.Process) []Attribute {
	known := map[string]any{}
	put := func(key string, value any) {
		if text, ok := value.(string); ok && text == "" {
			return
		}
		known[key] = value
	}
	program := filepath.Base(cmp.Or(p.Exe, p.Program, "go"))
	put(serviceName, "unknown_service:"+program)
	put("process.pid", int64(p.PID))
	put("process.executable.name", program)
	put("process.executable.path", p.Exe)
	put("process.runtime.name", "go")
	put("process.runtime.version", strings.TrimPrefix(p.GoVersion, "go"))
	if !p.Start.IsZero() {
		put("process.creation.time", p.Start.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	host, _ := os.Hostname()
	put("host.name", host)
	put("service.instance.id", host+":"+strconv.Itoa(p.PID)+":"+strconv.FormatInt(p.Start.UnixNano(), 36))
	put("telemetry.distro.name", "vtscope")
	if name, attributes, ok := ofProcess(p); ok {
		for _, a := range attributes {
			put(a.Key, a.Value)
		}
		put(serviceName, name)
	}
	for _, a := range c.Attributes {
		put(a.Key, a.Value)
	}
	put(serviceName, c.ServiceName)
	all := make([]Attribute, 0, len(known))
	for k, v := range known {
		all = append(all, Attribute{k, v})
	}
	slices.SortFunc(all, func(a, b Attribute) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// ServiceName returns the service's name of a resource.
func ServiceName(resource []Attribute) string {
	for _, a := range resource {
		if a.Key == serviceName {
			return a.Value.(string)
		}
	}
	return ""
}

// fromEnviron reads the two variables from a list of NAME=VALUE with zero bytes between. Nothing else of it is kept.
func fromEnviron(environ string) (name string, attributes []Attribute, ok bool) {
	for line := range strings.SplitSeq(environ, "\x00") {
		if v, found := strings.CutPrefix(line, "OTEL_SERVICE_NAME="); found {
			name, ok = strings.ToValidUTF8(strings.TrimSpace(v), "\uFFFD"), true
		}
		if v, found := strings.CutPrefix(line, "OTEL_RESOURCE_ATTRIBUTES="); found {
			if pairs, err := Pairs(v); err == nil { // the process itself tells its owner of a bad one
				attributes, ok = pairs, true
			}
		}
	}
	return name, attributes, ok
}
