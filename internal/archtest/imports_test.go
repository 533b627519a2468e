package archtest

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// importGraph asks the go command for all packages of the main module on one system.
func importGraph(t *testing.T, goos string) (edges []edge, packages int) {
	t.Helper()
	list := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Error", "./...")
	list.Dir = root(t)
	list.Env = append(os.Environ(), "GOOS="+goos)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Error      *struct{ Err string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return edges, packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages++
		for _, to := range p.Imports {
			edges = append(edges, edge{short(p.ImportPath), short(to)})
		}
	}
}

// nestedEdges are the imports of the modules in the repository beside the main one, which may not be downloaded here: their files are parsed.
func nestedEdges(t *testing.T) (edges []edge) {
	t.Helper()
	files := tracked(t)
	for _, mod := range files {
		folder, ok := strings.CutSuffix(mod, "/go.mod")
		if !ok {
			continue
		}
		for _, name := range files {
			if !strings.HasPrefix(name, folder+"/") || strings.Contains(name, "/testdata/") || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range f.Imports {
				edges = append(edges, edge{path.Dir(name), short(strings.Trim(to.Path.Value, `"`))})
			}
		}
	}
	return edges
}

func TestNoImportOfANestedModuleBreaksTheLayers(t *testing.T) {
	edges := nestedEdges(t)
	for _, seen := range []edge{{"dump/delve", "github.com/go-delve/delve/pkg/proc"}, {"dump/delve/cmd/vtdelve", "dump/delve"}} {
		if !slices.Contains(edges, seen) {
			t.Errorf("the walk did not find that %s imports %s", seen.from, seen.to)
		}
	}
	for _, line := range check(rules, edges) {
		t.Error(line)
	}
	t.Logf("%d imports", len(edges))
}

// short names a package as rules do.
func short(path string) string {
	if rest, ok := strings.CutPrefix(path, Module+"/"); ok {
		return rest
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return "std/" + path
	}
	return path
}

func TestNoImportBreaksTheLayers(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		edges, packages := importGraph(t, goos)
		if packages < 10 || len(edges) < 50 {
			t.Errorf("%s: found %d packages and %d imports: the walk did not see the repository", goos, packages, len(edges))
		}
		if !slices.ContainsFunc(edges, func(e edge) bool { return e.from == "dump" && e.to == "runtime/flight" }) {
			t.Errorf("%s: the walk did not find that dump imports runtime/flight", goos)
		}
		for _, line := range check(rules, edges) {
			t.Errorf("%s: %s", goos, line)
		}
		t.Logf("%s: %d imports of %d packages", goos, len(edges), packages)
	}
}

func TestRulesForbidWhatTheyShould(t *testing.T) {
	for _, c := range []struct {
		edge
		why string // a part of the reason; "" is allowed
	}{
		{edge{"runtime/vthread", "runtime/flight"}, ""},
		{edge{"runtime/vthread", "std/sync"}, ""},
		{edge{"runtime/vthread", "agent"}, "only the runtime"},
		{edge{"runtime/vthread", "internal/lifeline"}, "only the runtime"},
		{edge{"runtime/vthread", "std/net/http"}, "HTTP server"},
		{edge{"runtime/structured", "std/net/http/pprof"}, "HTTP server"},
		{edge{"runtime/vhttp", "std/net/http"}, ""},
		{edge{"agent", "std/net/http"}, ""},
		{edge{"agent", "runtime/vhttp"}, "observers"},
		{edge{"runtime/sched", "go.opentelemetry.io/otel"}, "only the runtime"},
		{edge{"runtime/sched", "go.opentelemetry.io/otel"}, "OpenTelemetry"},
		{edge{"runtime/flight", "runtime/sched"}, "meeting point"},
		{edge{"runtime/flighty", "runtime/sched"}, ""},
		{edge{"agent", "runtime/flight"}, ""},
		{edge{"agent", "runtime/vthread"}, "observers"},
		{edge{"agent/follow", "runtime/internal/coro"}, "observers"},
		{edge{"cmd/vtserve", "runtime/vthread"}, "observes"},
		{edge{"dump", "agent"}, "one look"},
		{edge{"dump", "github.com/go-delve/delve/pkg/proc"}, "dump/delve alone"},
		{edge{"dump/delve", "github.com/go-delve/delve/pkg/proc"}, ""},
		{edge{"dump/delve/cmd/vtdelve", "dump/delve"}, ""},
		{edge{"cmd/vtdump", "dump/delve"}, "is started"},
		{edge{"cmd/vtdump", "runtime/durable/jetstream"}, "does not compile NATS"},
		{edge{"runtime/durable/jetstream", "dump"}, "is of the runtime"},
		{edge{"runtime/durable/jetstream/cmd/vtstream", "dump"}, ""},
		{edge{"runtime/vthread", "google.golang.org/grpc"}, "compiles only the runtime"},
		{edge{"runtime/vgrpc", "google.golang.org/grpc"}, ""},
		{edge{"runtime/vgrpc", "dump"}, "no more than that"},
		{edge{"agent", "runtime/vgrpc"}, "nobody else"},
		{edge{"webui", "agent"}, "protocol"},
		{edge{"tracing/otel", "go.opentelemetry.io/otel"}, ""},
		{edge{"agent", "fixtures/shop/shop"}, "run, not imported"},
		{edge{"fixtures/shop", "fixtures/shop/shop"}, ""},
		{edge{"fixtures/shop", "runtime/vthread"}, ""},
		{edge{"agent", "cmd/vtdump"}, "only wires"},
		{edge{"dump", "std/testing"}, "…test packages"},
		{edge{"dump", "std/testing/fstest"}, "…test packages"},
	} {
		broken := check(rules, []edge{c.edge})
		if c.why == "" && len(broken) > 0 {
			t.Errorf("%s -> %s: got %q, want it allowed", c.from, c.to, broken)
		}
		if c.why != "" && !slices.ContainsFunc(broken, func(line string) bool { return strings.Contains(line, c.why) }) {
			t.Errorf("%s -> %s: got %q, want it forbidden because of %q", c.from, c.to, broken, c.why)
		}
	}
}
