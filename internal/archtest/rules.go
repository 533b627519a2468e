package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path of the main module. Packages of it are named relative to it in rules and edges.
const Module = "github.com/vtscope/vtscope"

// An edge says that package from imports package to. Packages of the main module are named without the
// module's path ("runtime/flight"), others in full, those of the standard library with "std/" before them.
type edge struct{ from, to string }

// A rule is about the imports of some packages. Patterns are package names, or a name and "/..." for it and all below.
type rule struct {
	of     []string // packages the rule is about
	except []string // of these: not
	may    []string // they may import these alone, beside the standard library and their own kind; or
	not    []string // they must not import these
	why    string
}

// observers read flight files. They never run inside what they look at.
var observers = []string{"agent/...", "dump/...", "incident/...", "tracing/...", "webui/...", "cmd/..."}

var (
	delve         = []string{"github.com/go-delve/delve/..."}
	openTelemetry = []string{"go.opentelemetry.io/..."}
)

// rules are the arrows of DESIGN.md, section 2.
var rules = []rule{
	{
		of:     []string{"runtime/..."},
		except: []string{"runtime/durable/jetstream/...", "runtime/vgrpc"},
		may:    []string{"runtime/...", "internal/invariant", "internal/plainfile", "internal/procfs", "github.com/petermattis/goid", "golang.org/x/sys/..."},
		why:    "a program that only wants threads compiles only the runtime; each need is a decision of its own",
	},
	{
		of:  []string{"runtime/flight/..."},
		may: []string{"runtime/flight/...", "internal/invariant", "internal/procfs", "golang.org/x/sys/..."},
		why: "the flight file is the meeting point of runtime and observers: it knows neither",
	},
	{
		of:     []string{"..."},
		except: []string{"runtime/durable/jetstream/...", "fixtures/..."},
		not:    []string{"github.com/nats-io/...", "runtime/durable/jetstream/..."},
		why:    "the store of many machines is a module of its own: a program that has none of it does not compile NATS",
	},
	{
		of:  []string{"runtime/vgrpc"},
		may: []string{"runtime/vthread", "runtime/structured", "google.golang.org/grpc/..."},
		why: "the interceptors of gRPC are a module of their own, and no more than that",
	},
	{
		of:     []string{"..."},
		except: []string{"runtime/vgrpc", "fixtures/backends/servers"},
		not:    []string{"runtime/vgrpc"},
		why:    "the interceptors are for programs with gRPC: nobody else compiles it",
	},
	{
		of:     []string{"runtime/durable/jetstream/..."},
		except: []string{"runtime/durable/jetstream/cmd/..."},
		not:    observers,
		why:    "the store of many machines is of the runtime; its command vtstream prints for vtdump what it reads",
	},
	{
		of:  []string{"runtime/durable/journal/..."},
		may: []string{"runtime/durable/journal/...", "internal/plainfile"},
		why: "what is kept of a thread is read where no thread can run",
	},
	{
		of:     []string{"runtime/..."},
		except: []string{"runtime/vhttp"},
		not:    []string{"std/net/http/..."},
		why:    "a program that only wants threads does not link an HTTP server; runtime/vhttp is for those that have one",
	},
	{
		of:     observers,
		except: []string{"cmd/vtserve", "tracing/otel/propagate"}, // the latter is for programs, which it makes record more
		not:    []string{"runtime/continuation/...", "runtime/sched/...", "runtime/vthread/...", "runtime/structured/...", "runtime/vsync/...", "runtime/vhttp/...", "runtime/vslog/...", "runtime/vnet/...", "runtime/vfile/...", "runtime/durable", "runtime/vttest/...", "runtime/internal/..."},
		why:    "observers meet the runtime in runtime/flight, and in runtime/durable/journal, alone, so that they work without the process",
	},
	{
		of:  []string{"cmd/vtserve"},
		not: []string{"runtime/continuation/...", "runtime/sched/...", "runtime/vthread/...", "runtime/structured/...", "runtime/vsync/...", "runtime/vhttp/...", "runtime/vslog/...", "runtime/internal/..."},
		why: "the server observes; what it demonstrates runs in a process of its own",
	},
	{
		of:  []string{"recording/..."},
		may: []string{"recording/...", "runtime/flight/...", "internal/plainfile", "golang.org/x/sys/..."},
		why: "a recording is what flight files told over a time; who shows and exports it comes after",
	},
	{
		of:  []string{"dump/..."},
		not: []string{"agent/...", "webui/...", "tracing/..."},
		why: "a dump is one look; following, serving and exporting are built on it",
	},
	{
		of:  []string{"tracing/jfr/..."},
		may: []string{"recording", "runtime/flight", "tracing/jfr/...", "github.com/google/pprof/profile"},
		why: "a way out of a recording knows the recording, and profiles; commands connect it",
	},
	{
		of:  []string{"tracing/profile/..."},
		may: []string{"recording", "runtime/flight", "dump", "dump/profile", "github.com/google/pprof/profile"},
		why: "profiles are made of events and of looks at a process; who serves them brings the process",
	},
	{
		of:  []string{"incident/..."},
		not: []string{"agent", "webui/...", "tracing/..."},
		why: "a bundle is taken by whoever watches, with or without a server",
	},
	{
		of:  []string{"agent/trigger", "agent/control"},
		not: []string{"agent", "webui/...", "incident/...", "recording/..."},
		why: "vtdump watches and asks too, without a server",
	},
	{
		of:  []string{"webui/..."},
		not: []string{"agent/...", "dump/...", "runtime/...", "tracing/..."},
		why: "the page knows the protocol, not the server",
	},
	{
		of:     []string{"..."},
		except: []string{"dump/delve/..."},
		not:    delve,
		why:    "Delve is imported by dump/delve alone",
	},
	{
		of:     []string{"..."},
		except: []string{"dump/delve/..."},
		not:    []string{"dump/delve/..."},
		why:    "who has Delve in a program is changed by it: vtdelve is started",
	},
	{
		of:     []string{"..."},
		except: []string{"tracing/...", "cmd/...", "fixtures/backends/..."},
		not:    openTelemetry,
		why:    "OpenTelemetry is one way out of several, and lives in tracing",
	},
	{
		of:     []string{"..."},
		except: []string{"fixtures/..."},
		not:    []string{"tracing/otel/propagate"},
		why:    "it is for programs that have traces of their own; an observer records nothing",
	},
	{
		of:     []string{"..."},
		except: []string{"fixtures/...", "bench/..."},
		not:    []string{"fixtures/...", "bench/..."},
		why:    "fixtures and benchmarks are run, not imported",
	},
	{
		of:  []string{"..."},
		not: []string{"cmd/..."},
		why: "a command only wires; what others need belongs in a package",
	},
	{
		of:     []string{"..."},
		except: []string{"internal/leaktest", "internal/childtest", "internal/neighbourtest", "internal/tmpfstest", "runtime/vttest/...", "runtime/sched/schedtest", "runtime/flight/flighttest", "agent/agenttest", "dump/dumptest", "dump/delve/internal/steppingtest", "fixtures/backends/backendtest"},
		not:    []string{"std/testing/..."},
		why:    "what tests need sits in …test packages, which no program imports",
	},
}

// check returns a line for each edge that breaks a rule.
func check(rules []rule, edges []edge) (broken []string) {
	for _, e := range edges {
		for _, r := range rules {
			if r.forbids(e) {
				broken = append(broken, fmt.Sprintf("%s imports %s: %s", e.from, e.to, r.why))
			}
		}
	}
	return broken
}

func (r rule) forbids(e edge) bool {
	if !anyMatches(r.of, e.from) || anyMatches(r.except, e.from) {
		return false
	}
	if r.may != nil {
		return !strings.HasPrefix(e.to, "std/") && !anyMatches(r.may, e.to)
	}
	return anyMatches(r.not, e.to)
}

func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	below, all := strings.CutSuffix(pattern, "/...")
	return name == below || all && strings.HasPrefix(name, below+"/")
}
