package profile

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

var threadStacks = []flighttest.Stack{
	{{Func: "example.org/shop.(*Store).query", File: "/src/store.go", Line: 88}, {Func: "example.org/shop.serve", File: "/src/serve.go", Line: 12}},
	{{Func: "example.org/shop.nap", File: "/src/nap.go", Line: 5}, {Func: "example.org/shop.serve", File: "/src/serve.go", Line: 13}},
}

// shop has threads that wait for a semaphore for a minute, a second and not at all, sleep, and execute.
func shop(t testing.TB, threads int) *flight.Reader {
	sem := flight.BlockAt(flight.BlockedBySemaphore, 0x10)
	return reader(t, flighttest.Spec{
		Scopes: []flighttest.Scope{{Name: "shop"}, {Name: "request 1", Parent: 1}, {Name: "request 2", Parent: 1}}, Stacks: threadStacks,
		Threads: threads, Blockers: []flighttest.Blocker{{Blocker: sem, Name: "db"}},
		Thread: func(i int) flighttest.Thread {
			th := flighttest.Thread{Name: fmt.Sprintf("GET /cart/%d", i), Scope: 2 + i%2, Stack: 1, State: flight.StateWaiting, Reason: flight.ReasonCondition, Blocker: sem}
			switch i % 5 {
			case 0, 1:
				th.Age = 65 * time.Second
			case 2:
				th.Age = 1500 * ms
			case 3:
				th.State, th.Reason, th.Stack, th.Blocker, th.Age = flight.StateTimedParked, flight.ReasonSleep, 2, 0, time.Hour
			case 4:
				th.State, th.Reason, th.Stack, th.Blocker = flight.StateMounted, 0, 0, 0
			}
			return th
		},
	})
}

// label sums a value of the samples by a label.
func label(p *pprof.Profile, key string, value int) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		k := strings.Join(s.Label[key], ",")
		if n := s.NumLabel[key]; len(n) > 0 {
			k = fmt.Sprint(n[0])
		}
		sums[k] += s.Value[value]
	}
	return sums
}

func TestThreadsHaveTheirLabels(t *testing.T) {
	r := shop(t, 100)
	p, err := FromThreads(t.Context(), KindOf("threads"), r)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]map[string]int64{
		"scope":   {"root/shop/request *": 100},
		"state":   {"waiting": 60, "timed-parked": 20, "mounted": 20},
		"reason":  {"condition": 60, "sleep": 20, "": 20},
		"blocker": {`semaphore "db"`: 60, "": 40},
		"name":    {"GET /cart/*": 100},
	} {
		if got := label(p, key, 0); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
	if len(p.Sample) != 3 {
		t.Errorf("got %d samples, want one for each stack:\n%s", len(p.Sample), strings.Join(lines(p), "\n"))
	}
	if waited := label(p, "reason", 1)["sleep"]; waited < int64(20*time.Hour) || waited > int64(21*time.Hour) {
		t.Errorf("sleepers have waited %v together, want 20 hours", time.Duration(waited))
	}
}

// Who sleeps, or waits with a time limit, is no leak; who waits longest comes first.
func TestLeaksAreThoseThatWaitLongestWithoutALimit(t *testing.T) {
	p, err := FromThreads(t.Context(), KindOf("leak"), shop(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(label(p, LabelWaited, 0)), "map[1:20 60:40]"; got != want {
		t.Errorf("got %v by how long they wait, want %v", got, want)
	}
	if first := p.Sample[0]; first.NumLabel[LabelWaited][0] != 60 || first.NumUnit[LabelWaited][0] != "seconds" || p.DefaultSampleType != "waited" {
		t.Errorf("got %v first, want those that have waited for a minute", first)
	}
	p, err = FromThreads(t.Context(), KindOf("leak"), reader(t, flighttest.Spec{Threads: 5, Thread: func(int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateMounted}
	}}))
	if err != nil || len(p.Sample) != 0 || !slices.Contains(p.Comments, "empty: no thread waits without a time limit") {
		t.Errorf("threads that execute: got %v, %v", p, err)
	}
}

// A profile of threads over a time is how they changed.
func TestThreadsOfATimeAreTheDifference(t *testing.T) {
	r := shop(t, 50)
	p, err := Take(t.Context(), KindOf("threads"), fake{Source: r}, ms)
	if err != nil {
		t.Fatal(err)
	}
	for state, n := range label(p, "state", 0) {
		if n != 0 {
			t.Errorf("%s: got %d threads more, want none", state, n)
		}
	}
	if p.DurationNanos != int64(ms) {
		t.Errorf("got a duration of %v", time.Duration(p.DurationNanos))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ctx, KindOf("threads"), fake{Source: r}, time.Hour); err == nil {
		t.Error("nobody waits any more: got no error")
	}
}

func TestThreadsBeyondTheSamplesAreSummedAndTold(t *testing.T) {
	stacks := make([]flighttest.Stack, 50)
	for i := range stacks {
		stacks[i] = flighttest.Stack{{Func: fmt.Sprintf("shop.wait%d", i), File: "/src/wait.go", Line: i + 1}}
	}
	r := reader(t, flighttest.Spec{Stacks: stacks, Threads: 500, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark, Stack: 1 + i%50}
	}})
	p, err := fromThreads(t.Context(), KindOf("threads"), r, 10)
	if err != nil {
		t.Fatal(err)
	}
	all := int64(0)
	for _, s := range p.Sample {
		all += s.Value[0]
	}
	told := strings.Join(p.Comments, "\n")
	if all != 500 || len(p.Sample) != 11 || !strings.Contains(told, "400 threads summed by state and reason, in scope [others]") {
		t.Errorf("got %d threads in %d samples and %q; want 500 in 11, and to be told", all, len(p.Sample), told)
	}
}

// BenchmarkThreads makes profiles of very many threads, and tells how large they are.
func BenchmarkThreads(b *testing.B) {
	for _, threads := range []int{1000, 1_000_000} {
		r := shop(b, threads)
		for _, kind := range []string{"threads", "leak"} {
			b.Run(fmt.Sprintf("kind=%s/threads=%d", kind, threads), func(b *testing.B) {
				size := 0
				for b.Loop() {
					p, err := FromThreads(b.Context(), KindOf(kind), r)
					if err != nil {
						b.Fatal(err)
					}
					var out bytes.Buffer
					if err := p.Write(&out); err != nil {
						b.Fatal(err)
					}
					size = out.Len()
				}
				b.ReportMetric(float64(size), "B/profile")
			})
		}
	}
}

// However many threads there are, a profile of them is small: it grows with what is different. 20,000 different samples are less than a megabyte.
func TestAProfileOfTheMostSamplesIsSmall(t *testing.T) {
	stacks := make([]flighttest.Stack, 2000)
	for i := range stacks {
		for depth := range 12 {
			stacks[i] = append(stacks[i], flight.Frame{Func: fmt.Sprintf("example.org/shop/part%d.(*Service).handle%d", i%50, (i*31+depth*17)%997), File: fmt.Sprintf("/src/shop/part%d.go", i%50), Line: 10 + (i+depth)%400})
		}
	}
	r := reader(t, flighttest.Spec{Scopes: manyScopes(40), Stacks: stacks, Threads: 60_000, Thread: func(i int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark, Stack: 1 + i%2000, Scope: 1 + i/2000%40, Age: time.Duration(i) * ms}
	}})
	p, err := FromThreads(t.Context(), KindOf("threads"), r)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) < usualSamples || out.Len() > 1<<20 {
		t.Errorf("got %d samples in %d bytes, want %d in at most a megabyte", len(p.Sample), out.Len(), usualSamples)
	}
	t.Logf("%d samples: %d bytes", len(p.Sample), out.Len())
}

func manyScopes(n int) []flighttest.Scope {
	all := make([]flighttest.Scope, n)
	for i := range all {
		all[i] = flighttest.Scope{Name: "scope-" + string([]byte{byte('a' + i/26), byte('a' + i%26)})}
	}
	return all
}
