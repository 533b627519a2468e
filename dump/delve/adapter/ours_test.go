package adapter

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"
)

func TestFramesOfEachPackageOfTheRuntimeAreTold(t *testing.T) {
	err := fs.WalkDir(os.DirFS("../../../runtime"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		switch {
		case !d.IsDir() || name == ".":
			return nil
		case base == "testdata" || base == "cmd" || strings.HasSuffix(base, "test") || base == "conformance" || base == "jetstream":
			return fs.SkipDir // of tests, or programs of their own
		}
		if files, err := fs.Glob(os.DirFS("../../../runtime/"+name), "*.go"); err != nil || files == nil {
			return err
		}
		f := dap.StackFrame{Name: base + ".F", Source: &dap.Source{Path: "/src/vtscope/runtime/" + name + "/f.go"}}
		if !isInternal(&f) {
			t.Errorf("%s is not in ours: its frames would be shown as the program's", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []dap.StackFrame{
		{Name: "main.main", Source: &dap.Source{Path: "/src/shop/main.go"}},
		{Name: "sched.Run", Source: &dap.Source{Path: "/src/shop/sched/run.go"}},
		{Name: "shop.(*T).f-fm"},
	} {
		if isInternal(&f) {
			t.Errorf("%s is taken for the runtime's", f.Name)
		}
	}
	if !slices.IsSorted(ours) {
		t.Error("ours are not in order")
	}
}
