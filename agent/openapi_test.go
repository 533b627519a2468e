package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

// Whether answers are as the file says is tested in internal/schemacheck, with a validator that knows nothing of vtscope.
func TestTheDescriptionOfTheInterfaceIsThatOfTheRoutes(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "openapi.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: go test ./agent -run DescriptionOfTheInterface -update", path)
	}
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	s := serve(t, a)
	if served := get(t, s.URL+"/api/v1/openapi.json", 200); !bytes.Equal(served, want) {
		t.Error("what is served is not the file")
	}
}

// What the file names the handler knows, and with the method that it names.
func TestEveryPathOfTheDescriptionIsServed(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(file, &document); err != nil {
		t.Fatal(err)
	}
	a := start(t, Options{Dirs: []string{flighttest.Dir(t)}})
	mux := a.mux()
	seen, ids := 0, map[string]bool{}
	for path, operations := range document.Paths {
		for method, o := range operations {
			seen++
			if ids[o.OperationID] {
				t.Errorf("two operations are called %s", o.OperationID)
			}
			ids[o.OperationID] = true
			r, err := http.NewRequest(strings.ToUpper(method), strings.NewReplacer("{", "", "}", "").Replace(path), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, pattern := mux.Handler(r); !strings.HasPrefix(pattern, r.Method+" ") {
				t.Errorf("%s %s is served as %q, want a route of its own", r.Method, path, pattern)
			}
		}
	}
	if seen != len(routes) || seen < 10 {
		t.Errorf("the file has %d operations, and the table %d", seen, len(routes))
	}
}
