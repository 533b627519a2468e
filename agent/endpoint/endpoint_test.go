package endpoint

import (
	"errors"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/access"
)

func TestAddressesOfProfilesAreRead(t *testing.T) {
	for address, want := range map[string]Endpoint{
		"box:6060/debug/pprof":                              {"http://box:6060/debug/pprof", "/goroutine", false},
		"http://box:6060/debug/pprof/":                      {"http://box:6060/debug/pprof", "/goroutine", false},
		"https://box/a/debug/pprof/goroutine?debug=1":       {"https://box/a/debug/pprof", "/goroutine?debug=1", false},
		"http://box:6060/debug/pprof/goroutine?debug=2":     {"http://box:6060/debug/pprof", "/goroutine?debug=2", true},
		"http://box:6060/debug/pprof/goroutineleak?debug=0": {"http://box:6060/debug/pprof", "/goroutineleak?debug=0", false},
	} {
		got, err := Parse(address)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", address, got, err, want)
		}
		if least := got.LeastInterval(); got.Stops() != want.text || want.text != (least >= 10*time.Second) {
			t.Errorf("%s: it stops the program: %v, and is asked each %v", address, got.Stops(), least)
		}
	}
	for _, address := range []string{"", "http://box:6060/", "http://box/debug/pprof/heap", "http://box/debug/pprof/goroutine?debug=3", "http://box/debug/pprof/goroutine?seconds=3"} {
		var no *access.Refusal
		if _, err := Parse(address); !errors.As(err, &no) || no.Try == "" {
			t.Errorf("%q: got %v, want an error that says what to try", address, err)
		}
	}
}
