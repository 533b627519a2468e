package agent

import (
	"context"
	gopprof "runtime/pprof"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Go's own profile comes from the process and not from a reader: what is hidden is hidden in it too.
func TestNoHiddenTextIsInAProfileOfTheProcessors(t *testing.T) {
	rules, err := access.ParseRules(`name=~/card-\d+/`, `scope=~/tenant-\w+/`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*access.Redactor{nil, rules} {
		policy, err := access.New(access.Options{Redact: r})
		if err != nil {
			t.Fatal(err)
		}
		f := &follower{agent: &Agent{options: Options{Access: policy}}, own: new(flight.Recorder)}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go gopprof.Do(context.Background(), gopprof.Labels("vtscope.thread", "card-4711", "vtscope.scope", "tenant-acme"), func(context.Context) {
			defer close(stopped)
			for n := 0; ; n++ {
				if n%1000 == 0 {
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		})
		text := ""
		for deadline := time.Now().Add(patience); !strings.Contains(text, "vtscope.thread") && time.Now().Before(deadline); {
			b, err := f.takeCPU(t.Context(), 200*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			p, err := pprof.ParseData(b)
			if err != nil {
				t.Fatal(err)
			}
			text = p.String()
		}
		close(stop)
		<-stopped
		hidden := r != nil
		if strings.Contains(text, "card-4711") == hidden || strings.Contains(text, "tenant-acme") == hidden || strings.Contains(text, "[redacted]") != hidden {
			t.Errorf("hidden: %v: got\n%.2000s", hidden, text)
		}
	}
}
