package main

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/internal/childtest"
)

// A program that does not know vtscope is followed when it is named, or all are, beside files too.
func TestTheGoroutinesOfOtherProgramsAreShown(t *testing.T) {
	child := childtest.Start(t, "./fixtures/plain", "-each", "2")
	child.WaitFor(regexp.MustCompile(`plain: ready; pid \d+`))
	for _, args := range [][]string{{strconv.Itoa(child.PID())}, {"--goroutines"}, {"--goroutines", recordedFile(t)}} {
		s := begin(t, args...)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			all := list(t, s.url)
			if i := slices.IndexFunc(all, func(p agent.ProcessRow) bool { return p.PID == child.PID() }); i >= 0 {
				if all[i].Kind != "goroutine" || all[i].Program != "plain" {
					t.Errorf("vtserve %q shows it as %+v", args, all[i])
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("vtserve %q does not show it, but %+v", args, all)
			}
		}
		s.end(t)
	}
}
