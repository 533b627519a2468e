package jfr_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/tracing/jfr"
)

// cpuProfile is a profile of 50 ms from the beginning of a script on: 30 samples of a thread, 10 of threads of a scope, 10 of nobody that is known.
func cpuProfile() *profile.Profile {
	function := func(id uint64, name string) *profile.Function {
		return &profile.Function{ID: id, Name: name, Filename: "burn.go"}
	}
	burn, inlined, main := function(1, "main.burn"), function(2, "main.step"), function(3, "main.main")
	at := &profile.Location{ID: 1, Address: 1, Line: []profile.Line{{Function: inlined, Line: 9}, {Function: burn, Line: 7}}}
	in := &profile.Location{ID: 2, Address: 2, Line: []profile.Line{{Function: main, Line: 5}}}
	only := &profile.Location{ID: 3, Address: 3, Line: []profile.Line{{Function: burn, Line: 8}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		TimeNanos:  recordingtest.Began.UnixNano(), DurationNanos: int64(50 * ms),
		Function: []*profile.Function{burn, inlined, main}, Location: []*profile.Location{at, in, only},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{only, in}, Value: []int64{30, 3e8}, Label: map[string][]string{"vtscope.thread": {"GET /cart"}, "vtscope.scope": {"requests"}}},
			{Location: []*profile.Location{at, in}, Value: []int64{10, 1e8}, Label: map[string][]string{"vtscope.scope": {"requests"}}},
			{Location: []*profile.Location{in}, Value: []int64{10, 1e8}},
		},
	}
}

func TestSamplesOfAProfileAreSpreadOverItsTime(t *testing.T) {
	f, stats, _ := export(t, everything(), jfr.Options{CPU: cpuProfile()})
	threads := map[string]int{}
	early := 0
	var at []time.Duration
	for e := range f.Events("jdk.ExecutionSample") {
		name := e.Get("sampledThread.javaName").(string)
		threads[name]++
		at = append(at, time.Duration(e.Start())-epoch)
		if name == "GET /cart" && at[len(at)-1] < 25*ms {
			early++
		}
		if e.Get("state") != "STATE_RUNNABLE" {
			t.Errorf("got state %v", e.Get("state"))
		}
		if got := e.Stack(); name == "threads of requests" && !slices.Equal(got, []string{"main.step", "main.burn", "main.main"}) {
			t.Errorf("got stack %q", got)
		}
	}
	if threads["GET /cart"] != 30 || threads["threads of requests"] != 10 || threads["goroutines"] != 10 || stats.Samples != 50 {
		t.Errorf("got %v, and %d in the statistics; want 30, 10 and 10", threads, stats.Samples)
	}
	if !slices.IsSorted(at) || at[0] != ms/2 || at[49] != 50*ms-ms/2 {
		t.Errorf("got times %v, want each half millisecond", at)
	}
	if early < 10 || early > 20 {
		t.Errorf("got %d of 30 samples in the first half, want about half of them", early)
	}
}

func TestSamplesThatWereNotDuringTheRecordingAreLeftOut(t *testing.T) {
	p := cpuProfile()
	p.TimeNanos -= int64(10 * ms)
	s := recordingtest.New()
	s.After(20*ms).Start(1, 0, 0)
	f, stats, _ := export(t, s, jfr.Options{CPU: p})
	if n := f.Counts()["jdk.ExecutionSample"]; n != 20 || stats.Samples != 20 {
		t.Errorf("got %d samples, want the 20 of the time", n)
	}
	if want := []string{"30 samples of the profile: they were not during the recording"}; !slices.Equal(stats.LeftOut, want) {
		t.Errorf("left out: got %q, want %q", stats.LeftOut, want)
	}
}
