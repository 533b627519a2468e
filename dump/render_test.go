package dump

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
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
		t.Errorf("%s: got\n%s\nwant\n%s\n(-update rewrites it)", name, got, want)
	}
}

func text(t *testing.T, s *Snapshot, o TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextShowsTheTreeWithItsGroups(t *testing.T) {
	golden(t, "shop.txt", text(t, shopSample(), TextOptions{}))
	golden(t, "shop-ascii.txt", text(t, shopSample(), TextOptions{ASCII: true, Internal: true, Depth: 2, Top: 3}))
	golden(t, "shop-color.txt", text(t, shopSample(), TextOptions{Color: true, Width: 70}))
}

func TestTextSaysHowFarTheDataIsToBeTrusted(t *testing.T) {
	s := shopSample()
	s.KeepTop(2)
	s.Process.Status = StatusKilled
	s.AsOf = s.Taken.Add(-12 * time.Second)
	s.Complete, s.Incomplete = false, []string{"12 thread records changed while they were read, and are left out"}
	golden(t, "killed.txt", text(t, s, TextOptions{}))
}
