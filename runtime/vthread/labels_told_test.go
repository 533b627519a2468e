package vthread_test

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// recorded skips a test where nothing is.
func recorded(t *testing.T) {
	t.Helper()
	if flight.Default() == nil {
		t.Skip("the recorder is off")
	}
}

// toldLabels are those that the flight file has, by thread.
func toldLabels(t *testing.T) map[flight.ThreadID]string {
	t.Helper()
	r, err := flight.Default().Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Labels()
	if err != nil {
		t.Fatal(err)
	}
	all := map[flight.ThreadID]string{}
	for _, row := range rows {
		var words []string
		for _, l := range row.Labels {
			words = append(words, l.Key+"="+l.Value)
		}
		all[row.Thread] = strings.Join(words, " ")
		if row.Cut {
			all[row.Thread] += " cut"
		}
	}
	return all
}

func TestTheLabelsOfLivingThreadsAreRecorded(t *testing.T) {
	recorded(t)
	release := make(chan struct{})
	ids := make(chan flight.ThreadID, 3)
	outer := vthread.Builder{Labels: map[string]string{"tenant": "acme", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}}.Start(func() {
		a := vthread.Start(func() { ids <- vthread.Current().ID(); <-release })
		b := vthread.Builder{Labels: map[string]string{"tenant": "own", "step": "2"}}.Start(func() { ids <- vthread.Current().ID(); <-release })
		ids <- a.ID()
		_, _ = a.Join(), b.Join()
	})
	first, second, third := <-ids, <-ids, <-ids
	told := toldLabels(t)
	const trace = "trace_id=4bf92f3577b34da6a3ce929d0e0e4736"
	if got, want := told[outer.ID()], "tenant=acme "+trace; got != want {
		t.Errorf("labels of the outer thread: %q, want %q", got, want)
	}
	seen := fmt.Sprint(told[first], told[second], told[third])
	if strings.Count(seen, "tenant=acme "+trace) != 2 || strings.Count(seen, "step=2 tenant=own "+trace) != 1 {
		t.Errorf("labels of those that it made: %q, want those that they have from it, and their own", seen)
	}
	close(release)
	_ = outer.Join()
	told = toldLabels(t)
	for _, id := range []flight.ThreadID{outer.ID(), first, second, third} {
		if told[id] != "" {
			t.Errorf("thread %d has ended, and its labels are still there: %q", id, told[id])
		}
	}
}

func TestLabelsThatAreTooLongAreCutAndMarked(t *testing.T) {
	recorded(t)
	release := make(chan struct{})
	th := vthread.Builder{Labels: map[string]string{"a": strings.Repeat("x", 300), "b": "lost"}}.Start(func() { <-release })
	got := toldLabels(t)[th.ID()]
	close(release)
	_ = th.Join()
	if !strings.HasPrefix(got, "a=xxx") || !strings.HasSuffix(got, "x… cut") || strings.Contains(got, "lost") {
		t.Errorf("got %q, want the first label, cut", got)
	}
}

func TestAThreadThatIsStartedTwiceKeepsItsLabelsUntilItEnds(t *testing.T) {
	recorded(t)
	release := make(chan struct{})
	th := vthread.Builder{Labels: map[string]string{"k": "v"}}.Unstarted(func() { <-release })
	if err := th.Start(); err != nil {
		t.Fatal(err)
	}
	if err := th.Start(); err == nil {
		t.Fatal("started twice")
	}
	if got := toldLabels(t)[th.ID()]; got != "k=v" {
		t.Errorf("got %q, want k=v", got)
	}
	close(release)
	_ = th.Join()
	if err := th.Start(); err == nil {
		t.Fatal("started after its end")
	}
	if got := toldLabels(t)[th.ID()]; got != "" {
		t.Errorf("after the end: %q", got)
	}
}

func TestLabelsThatAThreadGetsLaterAreRecorded(t *testing.T) {
	recorded(t)
	var id, child flight.ThreadID
	var inside, outside, after, inner map[flight.ThreadID]string
	profiled := func(ctx context.Context) string {
		value, _ := pprof.Label(ctx, "trace_id")
		return value
	}
	vthread.Builder{Name: "server", Labels: map[string]string{"tenant": "acme"}}.Start(func() {
		id = vthread.Current().ID()
		ctx := vthread.Current().Context()
		vthread.Do(ctx, pprof.Labels("trace_id", "abc"), func(ctx context.Context) {
			inside = toldLabels(t)
			if got := profiled(ctx); got != "abc" {
				t.Errorf("the context has the trace %q, want abc", got)
			}
			if name, _ := pprof.Label(ctx, vthread.LabelThread); name != "server" {
				t.Errorf("the context has the thread %q, want server: profiles are labelled so", name)
			}
			release := make(chan struct{})
			th := vthread.Start(func() { <-release })
			child = th.ID()
			vthread.Do(ctx, pprof.Labels("tenant", "own", "step", "2"), func(context.Context) { inner = toldLabels(t) })
			outside = toldLabels(t)
			close(release)
			th.Join()
		})
		after = toldLabels(t)
	}).Join()
	for _, c := range []struct {
		when, got, want string
	}{
		{"inside", inside[id], "tenant=acme trace_id=abc"},
		{"of a thread that was made there", inner[child], "tenant=acme trace_id=abc"},
		{"further inside", inner[id], "step=2 tenant=own trace_id=abc"},
		{"outside of that again", outside[id], "tenant=acme trace_id=abc"},
		{"after", after[id], "tenant=acme"},
	} {
		if c.got != c.want {
			t.Errorf("labels %s: %q, want %q", c.when, c.got, c.want)
		}
	}
	if _, ok := toldLabels(t)[id]; ok {
		t.Error("labels of a thread that has ended")
	}
}

func TestLabelsAreTakenBackWhateverEndsTheFunction(t *testing.T) {
	recorded(t)
	vthread.Start(func() {
		id := vthread.Current().ID()
		func() {
			defer func() { _ = recover() }()
			vthread.Do(context.Background(), pprof.Labels("k", "v"), func(context.Context) { panic("on purpose") })
		}()
		if got, ok := toldLabels(t)[id]; ok {
			t.Errorf("labels after a panic: %q, want none", got)
		}
	}).Join()
	done := make(chan string, 1)
	go vthread.Do(context.Background(), pprof.Labels("k", "v"), func(ctx context.Context) { // no thread
		v, _ := pprof.Label(ctx, "k")
		done <- v
	})
	if got := <-done; got != "v" {
		t.Errorf("the context of a goroutine has %q, want v", got)
	}
}
