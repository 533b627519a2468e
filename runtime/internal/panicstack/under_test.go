package panicstack_test

import (
	"runtime"
	"testing"

	"github.com/vtscope/vtscope/runtime/internal/panicstack"
)

func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}

func TestPanickingTellsPanicsFromGoexits(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func()
		want bool
	}{
		{"panic", guilty, true},
		{"nil pointer", func() { nilPointer(nil) }, true},
		{"nil panic", func() { panic(nil) }, true},
		{"goexit", runtime.Goexit, false},
		{"panic during goexit", func() { defer guilty(); runtime.Goexit() }, true},
		{"panic during goexit, recovered", func() {
			defer func() {
				defer func() { recover() }()
				guilty()
			}()
			runtime.Goexit()
		}, false},
		{"goexit during panic", func() { defer runtime.Goexit(); guilty() }, false},
	} {
		for _, depth := range []int{0, 40} {
			asked := make(chan bool, 1)
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recover() }()
				func() {
					defer func() { deep(depth, func() { asked <- panicstack.Panicking() }) }()
					c.f()
				}()
			}()
			<-done
			if got := <-asked; got != c.want {
				t.Errorf("%s, asked %d frames down: got %v, want %v", c.name, depth, got, c.want)
			}
		}
	}
}

func TestPanickingLeavesThePanic(t *testing.T) {
	defer func() {
		if v := recover(); v != "guilty" {
			t.Errorf("recovered %v, want guilty", v)
		}
	}()
	defer panicstack.Panicking()
	guilty()
}
