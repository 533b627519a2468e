package dump

import (
	"bytes"
	"os"
	"testing"
)

func TestTheSchemaIsAsTheDocumentsAre(t *testing.T) {
	const path = "../docs/dump.schema.json"
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_SCHEMA") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: UPDATE_SCHEMA=1 go test ./dump -run Schema", path)
	}
}
