package panicstack_test

import (
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

//go:noinline
func guilty() { panic("guilty") }

//go:noinline
func nilPointer(p *int) { *p++ }

func stackOf(f func()) (stack string) {
	defer func() {
		recover()
		stack = string(panicstack.Of())
	}()
	f()
	return ""
}

func TestTheStackBeginsWithTheFrameThatPanicked(t *testing.T) {
	for name, f := range map[string]func(){
		"guilty":     guilty,
		"nilPointer": func() { nilPointer(nil) },
		"latest":     func() { defer latest(); guilty() },
	} {
		lines := strings.Split(stackOf(f), "\n")
		for len(lines) > 3 && strings.HasPrefix(lines[1], "runtime.") { // the signal's
			lines = append(lines[:1], lines[3:]...)
		}
		if !strings.HasPrefix(lines[0], "goroutine ") || !strings.HasPrefix(lines[1], "github.com/vtscope/vtscope/runtime/internal/panicstack_test."+name+"(") {
			t.Errorf("%s: got\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

//go:noinline
func latest() { panic("latest") }

func TestWithoutAPanicItIsTheWholeStack(t *testing.T) {
	if s := string(panicstack.Of()); !strings.Contains(s, "TestWithoutAPanicItIsTheWholeStack") || !strings.Contains(s, "panicstack.Of") {
		t.Errorf("got\n%s", s)
	}
}
