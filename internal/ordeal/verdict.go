package ordeal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// Figures are what a ledger has counted.
type Figures struct {
	Works, Calls, Repeated, Interrupted, Moved int
}

// String returns a line.
func (f Figures) String() string {
	return fmt.Sprintf("%d works with %d recorded calls: %d attempts were repeated, %d calls interrupted for good, %d works called from more than one process", f.Works, f.Calls, f.Repeated, f.Interrupted, f.Moved)
}

// Verdict compares what was done with what was recorded, when all workers have ended; journals are those of all works, by id. It returns what is wrong.
//
//	V1  Each work has ended, without an error and with one result.
//	V2  Each call of its plan is in the result once, with an answer that the ledger has given to one attempt of that call, and to nothing else; calls of at most once may
//	    be without, if they were interrupted. The ledger has no other.
//	V3  All attempts of a call have the same history, and there is at most one where the policy says so. All processes that came to the end of a body had the same.
//	V4  The sum is that of the answers. What one of a pair wrote the other has read, in order and once.
//	V5  The journal in the end has the answers of the result.
func (l *Ledger) Verdict(journals map[string][]journal.Step) (complaints []string, f Figures) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &verdict{ledger: l, complaints: slices.Clone(l.mu.complaints), taken: map[string]bool{}, results: make([]State, len(l.works))}
	for i, a := range l.works {
		v.work(i, a, journals[a.ID()])
	}
	for i, a := range l.works {
		if wrote, read := v.results[i].Wrote, v.results[i^1].Read; !slices.Equal(wrote, read) {
			v.complain("%s wrote %v, and %s has read %v", a.ID(), wrote, a.partner(), read)
		}
	}
	for key, all := range l.mu.entries {
		v.figures.Repeated += len(all) - 1
		if !v.taken[key] {
			v.complain("%s %q was called, and nothing of it is recorded", all[0].Thread, all[0].Step)
		}
	}
	v.figures.Works, v.figures.Moved = len(l.works), l.movedLocked()
	slices.Sort(v.complaints)
	return v.complaints, v.figures
}

type verdict struct {
	ledger     *Ledger
	complaints []string
	taken      map[string]bool // keys of entries that a result has
	results    []State
	figures    Figures
}

func (v *verdict) complain(format string, args ...any) {
	v.complaints = append(v.complaints, fmt.Sprintf(format, args...))
}

func (v *verdict) work(i int, a Args, steps []journal.Step) {
	text, ended := v.ledger.mu.ended[a.ID()]
	if !ended {
		v.complain("%s has not ended", a.ID())
		return
	}
	s := &v.results[i]
	if err := json.Unmarshal([]byte(text), s); err != nil {
		v.complain("%s ends with %s", a.ID(), text)
		return
	}
	if chain, is := v.ledger.mu.returns[a.ID()]; !is || chain != s.Chain {
		v.complain("the result of %s has the chain %x, and its body came to the end with %x", a.ID(), s.Chain, chain)
	}
	plan := a.plan()
	calls := 0
	for _, r := range plan {
		calls += r.calls()
	}
	if got := len(s.Seen) + len(s.Unkept); got != calls || s.Round != len(plan) {
		v.complain("%s has %d calls of %d rounds: want %d of %d", a.ID(), got, s.Round, calls, len(plan))
	}
	v.figures.Calls += len(s.Seen)
	v.figures.Interrupted += len(s.Unkept)
	sum := int64(0)
	for _, seen := range s.Seen {
		sum += seen.Answer
		v.seen(seen)
	}
	if sum != s.Sum {
		v.complain("%s has the sum %d of answers that make %d", a.ID(), s.Sum, sum)
	}
	for _, call := range s.Unkept {
		v.unkept(call)
	}
	v.journal(a, s, steps)
}

// seen finds the one attempt that an answer is of.
func (v *verdict) seen(s Seen) {
	n := 0
	for _, e := range v.ledger.mu.entries[s.Key] {
		if e.answer == s.Answer && e.Thread == s.Thread && e.Step == s.Step {
			n++
			if e.Policy == ByKey {
				break // all have it
			}
		}
	}
	if n != 1 {
		v.complain("%s %q has recorded %d, which is the answer to %d of its attempts: want 1", s.Thread, s.Step, s.Answer, n)
	}
	if v.taken[s.Key] {
		v.complain("%s %q is recorded twice", s.Thread, s.Step)
	}
	v.taken[s.Key] = true
}

// unkept is about a call of which the work knows that it may have happened.
func (v *verdict) unkept(call string) {
	for key, all := range v.ledger.mu.entries {
		if e := all[0]; e.Thread+" "+e.Step == call {
			if v.taken[key] {
				v.complain("%s is recorded twice", call)
			}
			v.taken[key] = true
		}
	}
}

func (v *verdict) journal(a Args, s *State, steps []journal.Step) {
	if len(steps) == 0 {
		v.complain("%s has no journal", a.ID())
	}
	answers := map[string]int64{}
	for _, seen := range s.Seen {
		if seen.Thread == a.ID() {
			answers[seen.Step] = seen.Answer
		}
	}
	found := 0
	for _, step := range steps {
		want, is := answers[step.Name]
		switch {
		case step.Kind == journal.StepDo && step.Open:
			v.complain("the journal of %s, which has ended, has the open call %q", a.ID(), step.Name)
		case step.Kind != journal.StepDo || !is:
			continue
		}
		found++
		var got struct{ Answer int64 }
		if text, is := strings.CutPrefix(step.Err, refused); is {
			var key string
			if _, err := fmt.Sscan(text, &key, &got.Answer); err != nil {
				v.complain("the journal of %s has the error %q", a.ID(), step.Err)
			}
		} else if err := json.Unmarshal(step.Value, &got); err != nil {
			v.complain("the journal of %s has the answer %s", a.ID(), step.Value)
		}
		if got.Answer != want {
			v.complain("%s %q: the journal has the answer %d, the result %d", a.ID(), step.Name, got.Answer, want)
		}
	}
	if !a.Long && found != len(answers) {
		v.complain("the journal of %s has %d calls of the result's %d", a.ID(), found, len(answers))
	}
}

// movedLocked counts the works that more than one process has called for.
func (l *Ledger) movedLocked() int {
	workers := map[string]map[string]bool{}
	for _, all := range l.mu.entries {
		for _, e := range all {
			root, _, _ := strings.Cut(e.Thread, "/")
			if workers[root] == nil {
				workers[root] = map[string]bool{}
			}
			workers[root][e.Worker] = true
		}
	}
	n := 0
	for _, by := range workers {
		if len(by) > 1 {
			n++
		}
	}
	return n
}
