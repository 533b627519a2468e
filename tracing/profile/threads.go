package profile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	threads "github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// LabelWaited is the key of the label of samples of leak that tells how long their threads have waited, as a number of seconds: at least so long, and less than the next
// in [waitedSteps].
const LabelWaited = "waited"

var waitedSteps = []time.Duration{
	0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
}

// unknownStep is of threads of which nobody recorded how long they wait. It is the last: one more is 0.
const unknownStep = 255

// A folding folds threads into samples.
type folding struct {
	list    *dump.Listing
	endless bool
	most    int
	texts   *words
	block   *blockerNames
	samples map[threadKey]*threadSum
	last    *threadSum // of lastKey
	lastKey threadKey
	rest    bool // last is a sum of the rest
	over    uint64
	bytes   []byte
}

type threadKey struct {
	key
	scope int // in the listing
	step  uint8
}

type threadSum struct {
	count  uint64
	waited float64
}

// waitsEndlessly reports whether a thread waits, and no time will end that.
func waitsEndlessly(t *dump.Thread) bool {
	switch t.State {
	case flight.StateParked, flight.StateBlocked, flight.StateWaiting, flight.StatePinned:
		return !t.Row.Limited && t.Reason != flight.ReasonSleep
	}
	return false
}

// FromThreads makes a profile of what the threads of a source do now. The kind is one of threads.
func FromThreads(ctx context.Context, k *Kind, src dump.Source) (*pprof.Profile, error) {
	return fromThreads(ctx, k, src, usualSamples)
}

func fromThreads(ctx context.Context, k *Kind, src dump.Source, most int) (*pprof.Profile, error) {
	list, err := dump.List(ctx, src, dump.Options{})
	if err != nil {
		return nil, err
	}
	read := func(id flight.StackID) flight.Stack {
		s, _ := src.Stack(id) // what cannot be read has no names, which is told
		return s
	}
	texts := newWords(textsOf*most + 2)
	f := &folding{
		list: list, endless: k.endless, most: most, texts: texts, block: newBlockerNames(src.Blockers, read, texts), samples: map[threadKey]*threadSum{},
	}
	f.block.most = math.MaxInt // they live no longer than this call
	if err := list.Each(ctx, f.add); err != nil {
		return nil, err
	}
	return f.profile(k, src, read), nil
}

func (f *folding) add(t *dump.Thread) error {
	if f.endless && !waitsEndlessly(t) {
		return nil
	}
	k := threadKey{key: key{stack: t.Stack, state: t.State, reason: t.Reason}, scope: t.Scope}
	switch t.State {
	case flight.StateParked, flight.StateTimedParked, flight.StateBlocked, flight.StateWaiting, flight.StateHibernated:
		k.blocker = f.block.of(t.Row.Blocker)
	}
	if name := f.list.Name(t); name != "" {
		f.bytes = dump.AppendTemplate(f.bytes[:0], name)
		k.name = f.texts.of(f.bytes)
	}
	switch {
	case f.endless && t.Since == 0:
		k.step = unknownStep
	case f.endless:
		for int(k.step)+1 < len(waitedSteps) && waitedSteps[k.step+1] <= t.Wait {
			k.step++
		}
	}
	if f.last == nil || k != f.lastKey {
		f.last, f.lastKey, f.rest = f.samples[k], k, false
		if f.last == nil {
			if f.rest = len(f.samples) >= f.most; f.rest {
				k = threadKey{key: key{state: t.State, reason: t.Reason}, scope: -1}
			}
			if f.last = f.samples[k]; f.last == nil {
				f.last = &threadSum{}
				f.samples[k] = f.last
			}
		}
	}
	if f.rest {
		f.over++
	}
	f.last.count++
	f.last.waited += float64(t.Wait)
	return nil
}

// profile makes samples of the sums. Those of scopes whose paths look alike, and of stacks of the same lines, become one.
func (f *folding) profile(k *Kind, src dump.Source, read func(flight.StackID) flight.Stack) *pprof.Profile {
	type line struct {
		threadKey
		*threadSum
	}
	paths := map[int]word{-1: f.texts.of([]byte(others))}
	merged := map[threadKey]*threadSum{}
	total := 0.0
	for key, s := range f.samples {
		w, ok := paths[key.scope]
		if !ok {
			w = f.path(key.scope)
			paths[key.scope] = w
		}
		key.key.scope, key.scope = w, 0
		total += s.waited
		if to := merged[key]; to != nil {
			to.count += s.count
			to.waited += s.waited
			continue
		}
		merged[key] = s
	}
	all := make([]line, 0, len(merged))
	for key, s := range merged {
		all = append(all, line{key, s})
	}
	slices.SortFunc(all, func(a, b line) int {
		return cmp.Or(
			cmp.Compare(b.step+1, a.step+1), cmp.Compare(b.count, a.count), cmp.Compare(a.stack, b.stack), cmp.Compare(a.key.scope, b.key.scope),
			cmp.Compare(a.state, b.state), cmp.Compare(a.reason, b.reason), cmp.Compare(a.blocker, b.blocker), cmp.Compare(a.name, b.name),
		)
	})
	at := time.Now()
	if p := src.Process(); !p.Status.Live() {
		at = p.LastSeen
	}
	if m, ok := src.(dump.Moment); ok {
		at = m.At()
	}
	types, unit := inUnit(k.Types, total)
	b := threads.NewBuilder(src.Process().Exe, at, types, k.Usual)
	b.Note(f.list.Incomplete()...)
	stacks := newStacks(b, read)
	for _, l := range all {
		sample := b.Add(stacks.of(l.stack, l.state.String()), []int64{int64(l.count), int64(l.waited / unit)}, map[string]string{
			threads.LabelScope: f.texts.texts[l.key.scope], threads.LabelState: l.state.String(), threads.LabelReason: l.reason.String(),
			threads.LabelBlocker: f.texts.texts[l.blocker], threads.LabelName: f.texts.texts[l.name],
		})
		if f.endless {
			if l.step == unknownStep {
				continue // a dump that does not say
			}
			sample.NumLabel = map[string][]int64{LabelWaited: {int64(waitedSteps[l.step] / time.Second)}}
			sample.NumUnit = map[string][]string{LabelWaited: {"seconds"}}
		}
	}
	if len(all) == 0 && f.endless {
		b.Note("empty: no thread waits without a time limit")
	}
	if f.over > 0 {
		b.Note(fmt.Sprintf("%s summed by state and reason, in scope %s: there are more than %s distinct samples", dump.Count(f.over, "thread"), others, dump.Thousands(f.most)))
	}
	if f.texts.over > 0 {
		b.Note(fmt.Sprintf("names and scopes beyond %s are called %s", dump.Thousands(f.texts.most), others))
	}
	if stacks.bare > 0 {
		b.Note(fmt.Sprintf("%s without names in part: the process has not written their symbols", dump.Count(stacks.bare, "stack")))
	}
	return b.Profile()
}

// path returns the names of the scopes from the root on, as a [Collector] has them.
func (f *folding) path(scope int) word {
	path := f.list.Path(scope)
	if len(path) > deepest {
		path = path[:deepest]
	}
	text := ""
	for i, name := range path {
		next := dump.Template(name)
		if i > 0 {
			next = text + "/" + next
		}
		if len(next) > maxPath {
			break
		}
		text = next
	}
	return f.texts.of([]byte(text))
}
