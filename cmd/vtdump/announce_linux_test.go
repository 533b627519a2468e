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
			for deadline := time.Now().Add(time.Minute); r.code != 0 && time.Now().Before(deadline); r = vtdump(t, pid) {
				time.Sleep(20 * time.Millisecond)
			}
			if r.code != 0 || !strings.Contains(r.out, "0 threads") {
				t.Errorf("got %d, %q and %q, want a dump of 0 threads", r.code, r.out, r.errors)
			}
			child.CloseStdin()
			child.WantExit(0)
		})
	}
}
