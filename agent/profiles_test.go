package agent

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/runtime/flight/flighttest"
	"github.com/vtscope/vtscope/tracing/profile"
)

func TestProfilesOfProcessesAreServedAtBothPaths(t *testing.T) {
	file := flighttest.Write(t, small())
	a := start(t, Options{Dirs: []string{file.Dir}})
	s := serve(t, a)
	v := shown(t, a)
	for _, at := range []string{"/pprof/", "/debug/vt/pprof/"} {
		if index := get(t, s.URL+at, 200); !bytes.Contains(index, []byte("park")) {
			t.Errorf("the index at %s: %.200s", at, index)
		}
		for _, of := range []string{"", fmt.Sprint(os.Getpid(), "/"), v.row.Key + "/"} {
			for _, name := range []string{"threads", "park?seconds=1", "leak"} {
				if name == "park?seconds=1" && of != "" {
					continue // it takes a second
				}
				p, err := pprof.ParseData(get(t, s.URL+at+of+name, 200))
				if err != nil {
					t.Errorf("%s%s%s: %v", at, of, name, err)
					continue
				}
				if sum := int64(0); name == "threads" {
					for _, sample := range p.Sample {
						sum += sample.Value[0]
					}
					if sum != 100 {
						t.Errorf("%s%s%s: %d threads, want 100", at, of, name, sum)
					}
				}
			}
		}
	}
	if len(profile.Names()) < 5 {
		t.Error("there are few profiles")
	}
	if answer := get(t, s.URL+"/pprof/nothing", 404); !strings.Contains(string(answer), "want one of") {
		t.Errorf("a profile that is none: %s", answer)
	}
}
