package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheSurfaceIsAsItIsKept(t *testing.T) {
	root := filepath.Join("..", "..")
	lines, err := surface(root)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(root, "docs", "api.txt"))
	if err != nil || string(kept) != strings.Join(lines, "\n")+"\n" {
		t.Errorf("docs/api.txt is stale: make api (%v)", err)
	}
	for _, want := range []string{
		"vthread.Recv: func[T any](ch <-chan T) (T, error)",
		"vthread.Thread.Join: func() error",
		"vthread.Builder: type struct",
		"vthread.Builder.Name: string",
		"vsync.Queue: type[T any] struct",
		"structured.Policy: type interface",
		"vthread.ErrClosed: var",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the surface has no %q", want)
		}
	}
	for _, line := range lines {
		name := nameOf(line)
		if last := name[strings.LastIndexAny(name, ".*")+1:]; last == "" || last[0] < 'A' || last[0] > 'Z' {
			t.Errorf("%q is not exported", line)
		}
	}
}

func TestABreakIsToldInTheChangelog(t *testing.T) {
	was := "p.A: func()\np.B: func(int)\np.C: func()\np.D.M: func()\n"
	is := "p.A: func()\np.B: func(string)\np.E: func()\n"
	if got := breaks(was, is, "`p.B` takes a string, and p.C is gone"); !slices.Equal(got, []string{"p.C: func()", "p.D.M: func()"}) {
		t.Errorf("got %q", got)
	}
	if got := breaks(was, is, "`p.B`, `p.C`, `p.D.M`"); len(got) > 0 {
		t.Errorf("got %q of what is told", got)
	}
}

func TestPackagesThatArePromisedAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| stable |") {
			continue
		}
		for _, p := range stable {
			if !strings.Contains(line, "`"+p+"`") {
				t.Errorf("docs/api.md does not promise %s", p)
			}
		}
		return
	}
	t.Error("docs/api.md has no row of stable packages")
}
