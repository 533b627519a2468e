package conformance_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// LC-27: from the maker, through a thread between, whatever their kinds; not its cancellation.
func TestTheValuesOfTheMakersContextAreInherited(t *testing.T) {
	type key struct{}
	value := func() any { return vthread.Current().Context().Value(key{}) }
	everywhere(t, axes{onlyOn: true, kinds: true, pins: true}, func(w *world) {
		for _, kind := range (axes{kinds: true}).ofKinds() {
			plain := vthread.Builder{Kind: kind}
			ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "passed on"))
			first := w.builder()
			first.Context = ctx
			var at [4]any
			var off, child context.Context
			first.Start(func() {
				at[0] = value()
				plain.Start(func() {
					at[1] = value()
					between := vthread.Current().Context()
					w.builder().Start(func() { at[2], child = value(), vthread.Current().Context() }).Join()
					cancel()
					if err := between.Err(); err != nil {
						w.Errorf("cancelling what the first was made with: the child's context has ended: %v", err)
					}
					switchedOff := plain
					switchedOff.Context = context.Background()
					switchedOff.Start(func() { at[3], off = value(), vthread.Current().Context() }).Join()
				}).Join()
				if err := vthread.Current().Context().Err(); !errors.Is(err, context.Canceled) {
					w.Errorf("cancelling what a thread was made with: got %v, want its context cancelled", err)
				}
			}).Join()
			if want := [4]any{"passed on", "passed on", "passed on", nil}; at != want {
				w.Errorf("got %v, want %v", at, want)
			}
			if child.Err() == nil || off.Err() == nil {
				w.Error("the context of an ended thread lives")
			}
		}
		if got := value(); got != nil {
			w.Errorf("on the maker: got %v, want nothing", got)
		}
	})
}

// LC-27: a goroutine has nothing to pass on but what it gives.
func TestAThreadMadeByAGoroutineHasTheGivenContext(t *testing.T) {
	type key struct{}
	everywhere(t, axes{kinds: true, pins: true}, func(w *world) {
		var without, with any
		var deadline time.Time
		w.join(w.start(func() { without = vthread.Current().Context().Value(key{}) }))
		until := time.Now().Add(long)
		ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), key{}, 7), until)
		defer cancel()
		b := w.builder()
		b.Context = ctx
		w.join(b.Start(func() {
			with = vthread.Current().Context().Value(key{})
			deadline, _ = vthread.Current().Context().Deadline()
		}))
		if without != nil || with != 7 || !deadline.Equal(until) {
			w.Errorf("got %v without, %v until %v with, want nothing, 7 until %v", without, with, deadline, until)
		}
	})
}
