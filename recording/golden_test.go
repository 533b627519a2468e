package recording_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/vtscope/vtscope/recording"
)

var update = flag.Bool("update", false, "write the golden recording of a new version")

// TestGoldenRecordingsAreRead reads one recording of each version. They are never written again: who changes the format raises the version and adds one.
func TestGoldenRecordingsAreRead(t *testing.T) {
	newest := filepath.Join("testdata", "v1.vtr")
	if _, err := os.Stat(newest); *update && os.IsNotExist(err) {
		b, _ := recorded(t, odd())
		if err := os.WriteFile(newest, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "v*.vtr"))
	if err != nil || len(files) != recording.FormatVersion {
		t.Fatalf("got %q, %v; want a recording of each of %d versions", files, err, recording.FormatVersion)
	}
	want := readAll(t, odd())
	for _, name := range files {
		f, err := recording.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, f)
		if !reflect.DeepEqual(got.events, want.events) || got.lost != want.lost || len(got.states) != len(want.states) ||
			!reflect.DeepEqual(got.states[1].Threads, want.states[1].Threads) || !reflect.DeepEqual(got.states[1].Scopes, want.states[1].Scopes) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, want)
		}
		if in := f.Info(); in.Program != "script" || len(in.Incomplete) > 0 {
			t.Errorf("%s: got %+v, want a complete recording of script", name, in)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
