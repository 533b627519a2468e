package agent

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
)

var update = flag.Bool("update", false, "rewrite golden files and webui/src/protocol.ts")

// The page's types are made here, so that a member renamed in Go breaks the page's type check
// and not the page.
func TestThePagesTypesAreThoseOfTheProtocol(t *testing.T) {
	header := fmt.Sprintf("// What the members mean: docs/protocol.md.\n\nexport const protocol = %d;\nexport const subprotocol = %q;\n", Protocol, Subprotocol)
	keepTypes(t, "protocol.ts", header, reflect.TypeFor[Config](), reflect.TypeFor[Subscription](), reflect.TypeFor[Seen](), reflect.TypeFor[Problem](), reflect.TypeFor[Frame]())
	keepTypes(t, "documents.ts", "// What the members mean: docs/openapi.json.\n", documents...)
}

// documents are those of the HTTP interface that the page fetches.
var documents = []reflect.Type{
	reflect.TypeFor[dump.GroupReport](), reflect.TypeFor[dump.ThreadReport](), reflect.TypeFor[dump.ThreadEvents](), reflect.TypeFor[dump.Waits](), reflect.TypeFor[dump.Diff](), reflect.TypeFor[Overview](),
	reflect.TypeFor[dump.RecorderSettings](), reflect.TypeFor[Exports](), reflect.TypeFor[IncidentList](), reflect.TypeFor[GoProgramList](),
	reflect.TypeFor[dump.Durables](), reflect.TypeFor[dump.DurableThread](),
}

// keepTypes checks that a file of the page has the types.
func keepTypes(t *testing.T, name, header string, roots ...reflect.Type) {
	t.Helper()
	path := filepath.Join("..", "webui", "src", name)
	want := typescript(header, roots...)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: go test ./agent -run PagesTypes -update, then make ui", path)
	}
}

func TestEveryMessageIsInTheSpecification(t *testing.T) {
	spec, err := os.ReadFile(filepath.Join("..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	members := 0
	for _, message := range []reflect.Type{
		reflect.TypeFor[Config](), reflect.TypeFor[Subscription](), reflect.TypeFor[Seen](), reflect.TypeFor[Problem](), reflect.TypeFor[Frame](),
	} {
		each(message, func(typ reflect.Type, name string, _ reflect.StructField) {
			members++
			if !bytes.Contains(spec, []byte("`"+name+"`")) {
				t.Errorf("docs/protocol.md does not tell what `%s` of %s is", name, typ.Name())
			}
		})
	}
	if members < 80 {
		t.Errorf("looked at %d members, want at least 80", members)
	}
	if !bytes.Contains(spec, fmt.Appendf(nil, "version %d", Protocol)) {
		t.Errorf("docs/protocol.md does not specify version %d", Protocol)
	}
}

// each visits the members of a struct and of those it is made of, each struct once.
func each(root reflect.Type, visit func(typ reflect.Type, name string, field reflect.StructField)) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				visit(t, name, f)
			}
			walk(f.Type)
		}
	}
	walk(root)
}

func typescript(header string, roots ...reflect.Type) []byte {
	var b bytes.Buffer
	b.WriteString("// Made from Go's types by: go test ./agent -run PagesTypes -update\n" + header)
	var order []reflect.Type
	lines := map[reflect.Type][]string{}
	told := map[string]bool{} // members of types that several roots have
	for _, root := range roots {
		each(root, func(typ reflect.Type, name string, f reflect.StructField) {
			if lines[typ] == nil {
				order = append(order, typ)
			}
			if member := typ.Name() + "." + name; told[member] {
				return
			} else {
				told[member] = true
			}
			mark := ""
			if tag := f.Tag.Get("json"); strings.Contains(tag, "omitempty") || strings.Contains(tag, "omitzero") {
				mark = "?"
			}
			lines[typ] = append(lines[typ], fmt.Sprintf("  %s%s: %s;\n", name, mark, typeName(f.Type, mark == "")))
		})
	}
	written := map[reflect.Type]bool{}
	for _, typ := range order {
		if written[typ] {
			continue
		}
		written[typ] = true
		base := ""
		for i := range typ.NumField() {
			if f := typ.Field(i); f.Anonymous {
				base = " extends " + f.Type.Name()
			}
		}
		fmt.Fprintf(&b, "\nexport interface %s%s {\n%s}\n", typ.Name(), base, strings.Join(lines[typ], ""))
	}
	return b.Bytes()
}

func typeName(t reflect.Type, null bool) string {
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string"
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) && t.Kind() == reflect.Array {
		return "Record<string, number>" // counts by name
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "unknown"
	}
	switch t.Kind() {
	case reflect.Pointer:
		if null {
			return typeName(t.Elem(), false) + " | null"
		}
		return typeName(t.Elem(), false)
	case reflect.Slice:
		return typeName(t.Elem(), false) + "[]"
	case reflect.Map:
		return "Record<string, unknown>" // of panels, applied by webui/src/delta.ts
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Struct:
		return t.Name()
	default:
		return "number"
	}
}
