package jfr_test

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/jfr"
)

// Most sources are files: recording.Open.
func Example() {
	s := recordingtest.New()
	s.Start(1, 0, 0)
	s.After(time.Millisecond).Mount(1, 0)
	s.After(time.Millisecond).Park(1, flight.ReasonSleep, 0, s.At("main.nap main.go:12"))
	s.After(time.Millisecond).Unpark(1, 0)
	stats, err := jfr.Write(context.Background(), io.Discard, s, jfr.Options{})
	fmt.Println(stats.Read, "events,", stats.Waits, "wait,", stats.Threads, "thread,", stats.Chunks, "chunk,", err)
	// Output: 5 events, 1 wait, 1 thread, 1 chunk, <nil>
}
