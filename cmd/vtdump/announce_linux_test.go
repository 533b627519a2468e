package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

func TestAProgramIsListedBeforeItsFirstThread(t *testing.T) {
	for _, fixture := range []string{"./fixtures/idle", "./fixtures/idle/auto"} {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			child := childtest.Start(t, fixture)
			child.WaitFor(regexp.MustCompile(`(?m)^\w+: .*; pid \d+$`))
			pid := strconv.Itoa(child.PID())
			r := vtdump(t, pid)
			const note = "has no thread of vtscope"
			for deadline := time.Now().Add(time.Minute); !strings.Contains(r.errors, note) && time.Now().Before(deadline); r = vtdump(t, pid) {
				time.Sleep(20 * time.Millisecond)
			}
			if r.code != 0 || !strings.Contains(r.errors, note) || !strings.Contains(r.out, " goroutines in ") {
				t.Errorf("got %d, %q and %q, want its goroutines, and %q", r.code, r.out, r.errors, note)
			}
			child.CloseStdin()
			child.WantExit(0)
		})
	}
}
