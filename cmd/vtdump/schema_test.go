package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
)

const schemaPath = "../../docs/dump.schema.json"

func TestTheSchemaIsAsTheDocumentsAre(t *testing.T) {
	want, err := dump.Schema(documents...)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_SCHEMA") != "" {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: UPDATE_SCHEMA=1 go test ./cmd/vtdump -run Schema", schemaPath)
	}
}

// Formats that no call of vtdump --json prints as a document of its own.
var notPrinted = map[string]string{
	"vtscope/figures/v1": "a part of bundles",
	"vtscope/jdk/v1":     "a member of the JDK's documents",
	"vtscope/locals/v1":  "what vtdump and vtdelve say to each other",
	"vtscope/stream/v1":  "what vtdump and vtstream say to each other",
}

func TestEveryFormatIsOfOneDocumentOfTheSchema(t *testing.T) {
	schema, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^\s*(?:const |)\w*Format\w*\s*=\s*"(vtscope/[a-z-]+/v[0-9]+)"|= "(vtscope/[a-z-]+/v[0-9]+)"`)
	where := map[string]string{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			m := named.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			format := m[1] + m[2]
			if was := where[format]; was != "" {
				t.Errorf("%s names a document in %s and in %s", format, was, path)
			}
			where[format] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(where) < 15 {
		t.Fatalf("found the formats %v only", where)
	}
	for format, path := range where {
		if in := bytes.Contains(schema, []byte(`"const": "`+format+`"`)); in == (notPrinted[format] != "") {
			t.Errorf("%s of %s: in %s: %v; left out because: %q", format, path, schemaPath, in, notPrinted[format])
		}
	}
}

func TestStatsOfEventsAreNotCalledTheirCatalogue(t *testing.T) {
	if out := succeeds(t, "events", "--stats", "--json", recorded(t).Path); !strings.Contains(out, `"format": "vtscope/event-stats/v1"`) {
		t.Errorf("got\n%s", out)
	}
	if out := succeeds(t, "events", "--json"); !strings.Contains(out, `"format": "vtscope/events/v1"`) {
		t.Errorf("got\n%.300s", out)
	}
}
