package otel

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/opentelemetry.md")

// tables are those of the page that derive from the code, by the marks around them.
func tables() map[string]string {
	var attributes, variables, rule strings.Builder
	attributes.WriteString("| attribute | of | type | |\n|---|---|---|---|\n")
	for _, a := range Attributes {
		fmt.Fprintf(&attributes, "| `%s` | %s | %s | %s |\n", a.Key, a.Of, a.Type, a.About)
	}
	variables.WriteString("| variable | default | |\n|---|---|---|\n")
	for _, v := range otlpenv.Variables {
		fmt.Fprintf(&variables, "| `%s` | %s | %s |\n", v.Name, v.Default, v.About)
	}
	fmt.Fprintf(&rule, "```\n%s\n```\n", DefaultRule)
	return map[string]string{"attributes": attributes.String(), "variables": variables.String(), "default rule": rule.String()}
}

func TestThePageHasTheTablesOfTheCode(t *testing.T) {
	const page = "../../docs/opentelemetry.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	now := string(text)
	for name, want := range tables() {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->"
		_, rest, found := strings.Cut(now, begin)
		got, _, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s: no table of %s", page, name)
		}
		if got != want {
			if !*update {
				t.Errorf("%s: the table of %s is not that of the code: go test ./tracing/otel -run Page -update", page, name)
			}
			now = strings.Replace(now, begin+got+end, begin+want+end, 1)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, stat := range []string{"untold", "unseen", "limited", "not_sampled", "refused", "failed", "dropped"} {
		if !strings.Contains(now, "`"+stat+"`") {
			t.Errorf("%s does not explain %s", page, stat)
		}
	}
}

// What the table says of types and of who has an attribute is what was sent in the tests of this package.
func checkAttributes(t *testing.T, seen map[string]bool, kind string, values map[string]any) {
	t.Helper()
	known := map[string]AttributeInfo{}
	for _, a := range Attributes {
		known[a.Key] = a
	}
	for key, v := range values {
		a, ok := known[key]
		if !ok {
			t.Errorf("%s: %s is not in the table", kind, key)
			continue
		}
		if !strings.Contains(a.Of, kind) {
			t.Errorf("%s has %s, and the table says %s", kind, key, a.Of)
		}
		is := map[string]bool{"string": false, "int": false, "double": false, "bool": false}
		switch v.(type) {
		case string:
			is["string"] = true
		case int64:
			is["int"] = true
		case float64:
			is["double"] = true
		case bool:
			is["bool"] = true
		}
		if !is[a.Type] {
			t.Errorf("%s: got %T, and the table says %s", key, v, a.Type)
		}
		seen[key] = true
	}
}
