package profile

import (
	"bytes"
	"fmt"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A scope becomes its path if that is sure; other labels stay.
func TestRelabelledSamplesHaveThePathsOfScopes(t *testing.T) {
	rows := []flight.ScopeRow{
		{Index: 1, Name: "shop", State: flight.ScopeOpen},
		{Index: 2, Parent: 1, Name: "request 17", State: flight.ScopeOpen},
		{Index: 3, Parent: 1, Name: "request 18", State: flight.ScopeOpen},
		{Index: 4, Name: "twice", State: flight.ScopeOpen},
		{Index: 5, Parent: 1, Name: "twice", State: flight.ScopeOpen},
		{Index: 6, Name: "gone"},
	}
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}}}
	for _, scope := range []string{"request 17", "request 99", "twice", "gone", "root", ""} {
		s := &pprof.Sample{Value: []int64{1}, Label: map[string][]string{"tenant": {"a"}, goThread: {"GET 4"}}}
		if scope != "" {
			s.Label[goScope] = []string{scope}
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := Relabel(b.Bytes(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(label(p, "scope", 0)), "map[:1 gone:1 root:1 root/shop/request *:2 twice:1]"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := fmt.Sprint(label(p, "name", 0), label(p, "tenant", 0)), "map[GET *:6] map[a:6]"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if _, err := Relabel([]byte("no profile"), rows); err == nil {
		t.Error("no profile: got no error")
	}
}
