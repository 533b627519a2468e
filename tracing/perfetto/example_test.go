package perfetto_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/perfetto"
	"github.com/vtscope/vtscope/tracing/perfetto/perfettotest"
)

func ExampleWrite() {
	source := recordingtest.New() // in real life recording.Open("run.vtr")
	source.Start(1, 0, 0)
	source.Name(1, "cook")
	source.After(time.Millisecond).Mount(1, 3)
	source.After(2*time.Millisecond).End(1, flight.ReasonEnd)

	var file bytes.Buffer
	stats, err := perfetto.Write(context.Background(), &file, source, perfetto.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Events, "events")

	trace, err := perfettotest.Read(file.Bytes())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range trace.Slices("carriers", "carrier 3") {
		fmt.Println(s.Name, time.Duration(s.To-s.From))
	}
	// Output:
	// 5 events
	// cook 2ms
}
