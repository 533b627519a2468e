package memory

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/internal/childtest"
)

func TestMemoryIsReadThroughAFileWhereTheCallIsNotToBeHad(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private)
	src := attachTo(t, pid, Options{})
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("no such file: %v", err)
	}
	src.space.(*process).mem = mem // closed with the source
	if c := checkAll(t, src, 20_000); c.exact < 19_900 {
		t.Errorf("got %d stacks from memory, want nearly all of 20000", c.exact)
	}
}

// withLayouts changes what is known of releases.
func withLayouts(t *testing.T, l map[int]layout) {
	known := layouts
	layouts = l
	t.Cleanup(func() { layouts = known })
}

func TestAnUnknownReleaseHasRecordedStacks(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "400")
	withLayouts(t, nil)
	c, err := look(t, attachTo(t, pid, Options{}))
	if c.marked != 400 || c.exact != 0 || c.threads["row-0"] != 10 || err == nil || !strings.Contains(err.Error(), runtime.Version()) {
		t.Errorf("got %d recorded stacks, %d others, error %v; want 400, 0, and one that names the release", c.marked, c.exact, err)
	}
}

func TestAWrongLayoutIsFoundOut(t *testing.T) {
	pid := start(t, childtest.Build(t, "./fixtures/parade"), private, "-drivers", "0", "-threads", "400")
	wrong := layouts[26]
	wrong.gSelf = 80
	withLayouts(t, map[int]layout{25: wrong, 26: wrong})
	src := attachTo(t, pid, Options{})
	for range 2 {
		c, err := look(t, src)
		if c.marked != 400 || c.exact != 0 || err == nil {
			t.Errorf("got %d recorded stacks, %d others, error %v; want 400, 0, and one", c.marked, c.exact, err)
		}
	}
	if _, err := look(t, src); err == nil || !strings.Contains(err.Error(), "do not look as those of") {
		t.Errorf("got error %v, want one that says so", err)
	}
}
