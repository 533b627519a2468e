package jfr

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/jfr.md")

// The table stands between these lines.
const (
	tableBegins = "<!-- what becomes what: written by go test ./tracing/jfr -run Documentation -update -->\n"
	tableEnds   = "<!-- end -->\n"
)

// table says what each kind becomes.
func table() string {
	var b strings.Builder
	b.WriteString("| kind | event | fields beside the time and the thread |\n| --- | --- | --- |\n")
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		if k == flight.EventMore {
			continue
		}
		c, _ := kindClass(k, likenesses[k])
		list := fieldList(&c)
		if !slices.ContainsFunc(flight.Kinds[k].Fields, func(f flight.Field) bool { return f.Use == flight.FieldStack }) {
			list = strings.Replace(list, "stackTrace", "stackTrace (that of the JDK's event, always null here: none is recorded)", 1)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", k, c.name, list)
	}
	for i := range waits {
		c, _ := waitClass(&waits[i])
		fmt.Fprintf(&b, "| `park` to `unpark` | `%s` | %s |\n", c.name, fieldList(&c))
	}
	return b.String()
}

func fieldList(c *class) string {
	var names []string
	for _, f := range c.fields {
		if f.name != fieldStart.name && f.name != fieldThread.name {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

func TestDocumentationIsThatOfTheTables(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "jfr.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	_, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s: no lines around the table", path)
	}
	want := before + tableBegins + table() + tableEnds + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is stale: go test ./tracing/jfr -run Documentation -update", path)
	}
}
