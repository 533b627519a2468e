package dump

import (
	"context"
	"errors"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// ErrNoWaits says that a source does not know who holds what.
var ErrNoWaits = errors.New("who holds what is not known")

// FlightReader returns what a source reads the file, or the memory, of a process with; nil for recordings and dumps.
func FlightReader(src Source) *flight.Reader {
	switch s := src.(type) {
	case *flight.Reader:
		return s
	case interface{ FlightReader() *flight.Reader }:
		return s.FlightReader()
	}
	return nil
}

// A WaitsSource is a [Source] that tells what each thread waits for.
type WaitsSource interface {
	Source
	Waits() ([]flight.WaitRow, error) // of goroutines that are none of its threads
	Schedulers() ([]flight.SchedulerRow, error)
}

// waitsSource returns the waits of a source; nil if it does not know them.
func waitsSource(src Source) WaitsSource {
	if r := FlightReader(src); r != nil {
		return recorded{r, src}
	}
	if s, ok := src.(interface{ WaitsSource() WaitsSource }); ok {
		return s.WaitsSource()
	}
	return nil
}

// KnowsWaits reports whether [TakeWaits] is for a source.
func KnowsWaits(src Source) bool { return waitsSource(src) != nil }

// TakeWaitsOf is [TakeWaits] of some threads: whom they wait for, who holds that, where the holder is, and the deadlocks in which they are or for which they wait.
// They are those that match o.Filter, and of these the group of a key unless that is "". Whether there is a deadlock, all threads of the process decide. The error
// is that of [TakeWaits], a [NoGroupError], or [ErrNoWaits].
func TakeWaitsOf(ctx context.Context, src Source, key string, o Options) (*Waits, error) {
	src = Looked(src)
	r := waitsSource(src)
	if r == nil {
		return nil, ErrNoWaits
	}
	t := beginWaits(r, time.Now())
	t.out.Filter, t.out.Group = o.Filter.String(), key
	t.choose = func(ctx context.Context) error { return t.chooseThose(ctx, src, key, o) }
	torn, err := r.Threads(ctx, t.threads)
	return t.finish(ctx, torn, err)
}

// chooseThose reads the threads once more, and takes those that are meant.
func (t *waitsTaker) chooseThose(ctx context.Context, src Source, key string, o Options) error {
	s := &Snapshot{Process: t.out.Process}
	scopes, err := src.Scopes()
	t.missed(err)
	tree, now := plant(scopes, o.Templates), src.Now()
	f := newFolder(tree, now, o)
	f.match = newMatching(o.Filter, src, tree, now)
	g := &grouper{
		tabler: &tabler{src: src, now: now, stacks: newStackTable(src.Stack, o.Similar), texts: newTexts(src, tree, now)},
		want:   key, known: map[groupKey]bool{},
	}
	t.chosen = &waitPairs{}
	t.out.Threads, t.out.Others, t.loose = 0, Reasons{}, loose{}
	f.sink = func(family int32, row *flight.ThreadRow, k groupKey) {
		k.family, k.stack = family, g.stacks.shown(k.stack)
		if key != "" && !g.wanted(k) {
			return
		}
		t.out.Threads++
		if w, ok := t.waiterOf(row, &t.out.Others); ok {
			t.chosen.add(w)
		}
	}
	if err := f.read(ctx, t.r, s); err != nil { // whose threads tell what they wait for
		return err
	}
	for _, why := range s.Incomplete {
		t.out.Incomplete = addMissing(t.out.Incomplete, errors.New(why), t.out.Process.File)
	}
	if key != "" && t.out.Threads == 0 {
		return NoGroupError{Key: key}
	}
	return nil
}
