package traceid_test

import (
	"context"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/otel/traceid"
)

var process = flight.Process{PID: 1, Start: time.Unix(5, 0), Exe: "/bin/x"}

func TestIdsAreTheSameForTheSameAndDifferentForOthers(t *testing.T) {
	seen := map[traceid.Span]bool{}
	traces := map[traceid.Trace]bool{}
	other := process
	other.Start = time.Unix(6, 0)
	const n = 20_000
	for _, p := range []flight.Process{process, other} {
		seed := traceid.Of(p)
		if seed != traceid.Of(p) {
			t.Fatal("got two seeds of one process")
		}
		for i := range uint64(n) {
			for _, id := range []traceid.Span{seed.Scope(flight.ScopeID(i)), seed.Thread(flight.ThreadID(i)), seed.Part(flight.ThreadID(i), 7), seed.Part(7, i+n)} {
				if seen[id] || id == (traceid.Span{}) {
					t.Fatalf("%x: got it twice, or it is none", id)
				}
				seen[id] = true
			}
			trace := seed.Begun(seed.Scope(flight.ScopeID(i)))
			if traces[trace] || trace != seed.Begun(seed.Scope(flight.ScopeID(i))) {
				t.Fatalf("%x: got it twice, or not again", trace)
			}
			traces[trace] = true
		}
	}
	below := 0
	for trace := range traces {
		if s := trace.Share(); s < 0 || s >= 1 {
			t.Fatalf("got share %v", s)
		} else if s < 0.1 {
			below++
		}
	}
	if below < n/6 || below > n/4 { // of 2n, a tenth
		t.Errorf("got %d of %d below 0.1", below, 2*n)
	}
}

// places is an observer that notes where scopes stand as long as they are open, and threads when they are started.
type places struct {
	*traceid.Follower
	scopes  map[flight.ScopeID]traceid.Place
	threads map[flight.ThreadID]traceid.Trace
}

func (p *places) Event(e *recording.Event, c recording.Change, t *recording.Tracker) {
	p.Follower.Event(e, c, t)
	t.Scopes(func(s *recording.Scope) bool {
		if s.ID != 0 {
			p.scopes[s.ID] = p.Scope(t, s.ID)
		}
		return true
	})
	t.Threads(func(th *recording.Thread) bool {
		trace, _, _ := p.Thread(t, th)
		if _, ok := p.threads[th.ID]; !ok {
			p.threads[th.ID] = trace
		}
		return true
	})
	if e.Kind == flight.EventScopeClose && p.Scope(nil, flight.ScopeID(e.Arg)).Trace != p.scopes[flight.ScopeID(e.Arg)].Trace {
		panic("the place of a scope that was just closed is not known")
	}
}

func TestAMarkIsFollowedWhenItComesBeforeItsScopeAndForgottenAfter(t *testing.T) {
	s := recordingtest.New()
	s.Define(flight.UserKindInfo{Number: 3, Name: traceid.EventName})
	s.Define(flight.UserKindInfo{Number: 4, Name: "some.Other"})
	s.Emit(recording.Event{Kind: flight.EventMark, Ref: 4, More: []uint64{1, 9, 9, 9, 1, 0}}) // is of another kind
	s.Emit(recording.Event{Kind: flight.EventMark, Ref: 3, More: []uint64{1, 1, 2, 3, 1, 0}})
	s.Emit(recording.Event{Kind: flight.EventMark, Ref: 3, More: []uint64{1, 0, 0, 3, 1, 0}}) // no trace
	s.Emit(recording.Event{Kind: flight.EventMark, Ref: 3, More: []uint64{1, 1}})             // cut
	s.After(time.Millisecond).Open(1, "outer", 0, 0)
	s.Open(2, "inner", 1, 0)
	s.Start(7, 2, 0)
	s.Start(8, 0, 0)
	s.Close(2)
	s.Close(1)
	p := &places{traceid.NewFollower(process, s), map[flight.ScopeID]traceid.Place{}, map[flight.ThreadID]traceid.Trace{}}
	if err := recording.Observe(context.Background(), s, p); err != nil {
		t.Fatal(err)
	}
	want := traceid.Trace{7: 1, 15: 2}
	if got := p.scopes[1]; got.Trace != want || got.Parent != (traceid.Span{7: 3}) || !got.Program.Sampled {
		t.Errorf("outer: got %+v", got)
	}
	if got := p.scopes[2]; got.Trace != want || got.Parent != p.Seed().Scope(1) || got.Begins() {
		t.Errorf("inner: got %+v", got)
	}
	if p.threads[7] != want || p.threads[8] == want || p.threads[8] == (traceid.Trace{}) {
		t.Errorf("threads: got %x and %x", p.threads[7], p.threads[8])
	}
	var last recording.Event
	p.Follower.Event(&last, recording.Change{}, recording.NewTracker(s))
	if got := p.Scope(nil, 1); got != (traceid.Place{}) {
		t.Errorf("after it was closed: got %+v", got)
	}
}
