package memory

import (
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func TestStacksBeginWhereAThreadLeaves(t *testing.T) {
	const (
		park = vtscope + "sched.(*Task).Park"
		end  = vtscope + "sched.(*worker).run runtime.goexit"
	)
	for name, c := range map[string]struct{ frames, want string }{
		"it waits":                  {"runtime.coroswitch " + vtscope + "internal/coro.(*Slot).Switch " + park + " " + vtscope + "vthread.Park main.f " + end, vtscope + "vthread.Park main.f"},
		"it is about to":            {"sync/atomic.(*Uint32).CompareAndSwap " + vtscope + "sched.(*carrier).finish " + park + " main.f " + end, "main.f"},
		"the program's scheduler":   {"sync.(*Mutex).Lock main.(*order).Schedule " + park + " main.f " + end, "sync.(*Mutex).Lock main.(*order).Schedule " + park + " main.f"},
		"an atomic operation":       {"sync/atomic.(*Uint32).CompareAndSwap main.f " + end, "sync/atomic.(*Uint32).CompareAndSwap main.f"},
		"vtscope's alone":           {"runtime.gopark " + vtscope + "sched.(*watchdog).run runtime.goexit", vtscope + "sched.(*watchdog).run"},
		"nothing but the runtime's": {"runtime.gopark runtime.bgsweep runtime.goexit", "runtime.goexit"},
		"none":                      {"", ""},
	} {
		var frames []flight.Frame
		for _, f := range strings.Fields(c.frames) {
			frames = append(frames, flight.Frame{Func: f, Internal: flight.InternalFunction(f, "file.go")})
		}
		var got []string
		for _, f := range trim(frames) {
			got = append(got, f.Func)
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
