package otel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	// firstLook is how far apart the first two looks at a process are: growth needs two.
	firstLook = 2 * time.Second
	// lookShare bounds what looking costs: a look is followed by the next after so many times as long as it took.
	lookShare = 50
)

// A watch looks at a process for findings, on a goroutine of its own, until it is closed or the process is gone. It is a [recording.Observer] that is told nothing it
// needs, so that it ends with the others.
type watch struct {
	log    *Log
	every  time.Duration
	reader *flight.Reader
	cancel context.CancelFunc
	done   sync.WaitGroup
	warn   func(string)
}

// startWatch watches by a reader, which stays the caller's.
func startWatch(x *Exporter, p flight.Process, r *flight.Reader) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{log: x.Log(p), every: x.o.Findings, reader: r, cancel: cancel, warn: x.o.Warn}
	w.done.Go(func() { w.run(ctx) })
	return w
}

func (w *watch) run(ctx context.Context) {
	var before *dump.Look
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		now, err := dump.TakeLook(ctx, w.reader)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.warn(fmt.Sprintf("otlp: no findings of pid %d: %v", w.reader.Process().PID, err))
			return
		}
		pause := max(w.every, lookShare*time.Since(began))
		if before == nil {
			pause = min(pause, firstLook)
		} else if f, err := dump.Check(now, before, dump.CheckOptions{}); err == nil { // the options are good
			w.log.Findings(f)
		}
		before = now
		if !w.reader.Process().Status.Live() {
			return
		}
		timer.Reset(pause)
	}
}

// Close ends the watch, and waits for it.
func (w *watch) Close() error {
	w.cancel()
	w.done.Wait()
	return nil
}

// Reset does nothing, as the others.
func (w *watch) Reset(*recording.Tracker)                                     {}
func (w *watch) Event(*recording.Event, recording.Change, *recording.Tracker) {}
func (w *watch) Lost(uint64)                                                  {}
func (w *watch) Flush(*recording.Tracker)                                     {}

// PlacesOnly tells [recording.Observe] that no thread is asked for.
func (w *watch) PlacesOnly() bool { return true }
