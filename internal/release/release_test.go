package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

var (
	someFiles = []file{{"b/two", 0o644, []byte("2")}, {"a", 0o755, []byte("one")}}
	someTime  = time.Date(2026, 11, 5, 6, 7, 8, 0, time.UTC)
)

func TestAnArchiveIsOfItsFilesAlone(t *testing.T) {
	one, err := tarball("vt-1", someTime, someFiles)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(someFiles)
	two, err := tarball("vt-1", someTime.In(time.FixedZone("elsewhere", 7200)), someFiles)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("in another order, and another zone, it is another archive (%v)", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(one))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range []file{{"vt-1/a", 0o755, []byte("one")}, {"vt-1/b/two", 0o644, []byte("2")}} {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || h.FileInfo().Mode() != want.mode || !bytes.Equal(text, want.text) || !h.ModTime.Equal(someTime) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("got %+v with %q, %v; want %+v", h, text, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("more is in it: %v", err)
	}
	packed, err := zipped("vt-1", someTime, someFiles)
	if err != nil {
		t.Fatal(err)
	}
	all, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(all.File) != 2 || all.File[0].Name != "vt-1/a" || all.File[0].Mode() != 0o755 || !all.File[0].Modified.Equal(someTime) {
		t.Errorf("the zip has %+v, %v", all, err)
	}
}

func TestABillHasAllModulesOfAllPrograms(t *testing.T) {
	a, b := &debug.Module{Path: "example.com/a/b", Version: "v1.2.3", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="}, &debug.Module{Path: "x.org/c", Version: "v2.0.0"}
	r := &release{version: "1.0.0", commit: "c0ffee", at: someTime}
	programs := []program{
		{"vtdump", [32]byte{1}, &debug.BuildInfo{GoVersion: "go1.26.1", Deps: []*debug.Module{a}}},
		{"vtserve", [32]byte{2}, &debug.BuildInfo{GoVersion: "go1.26.1", Deps: []*debug.Module{a, b}}},
	}
	text, err := billOf("vt-1", r, programs)
	if err != nil {
		t.Fatal(err)
	}
	again, err := billOf("vt-1", r, programs)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second one differs: %v", err)
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, p := range got.Packages {
		names[p.Name] = p.Version
		if p.Name == "example.com/a/b" && (p.Refs[0].Locator != "pkg:golang/example.com/a/b@v1.2.3" || p.Comment != "go.sum has "+a.Sum) {
			t.Errorf("got %+v", p)
		}
	}
	if len(names) != 5 || names["std"] != "1.26.1" || names["x.org/c"] != "v2.0.0" || names["vtserve"] != "1.0.0" {
		t.Errorf("the packages are %v", names)
	}
	if len(got.Relationships) != 2+2+3 || got.Created.Created != "2026-11-05T06:07:08Z" || got.Version != "SPDX-2.3" {
		t.Errorf("got %+v", got)
	}
}
