package profile_test

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

func Example() {
	s := recordingtest.New() // or a recording.Live, which follows a process
	s.Open(1, "requests", 0, 0)
	s.Start(1, 1, 0)
	s.Mount(1, 0)
	s.Park(1, flight.ReasonSleep, 0, s.At("shop.nap nap.go:5"))
	s.After(20*time.Millisecond).Unpark(1, 0)

	c, err := profile.NewCollector(s.Stack, profile.CollectorOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := recording.Observe(context.Background(), s, c); err != nil {
		fmt.Println(err)
		return
	}
	p := c.Profile(profile.KindOf("park"), s.Info().Exe, time.Now(), nil, c.Mark())
	for _, sample := range p.Sample {
		fmt.Println(sample.Value[0], time.Duration(sample.Value[1]), sample.Label["scope"], sample.Label["reason"], sample.Location[0].Line[0].Function.Name)
	}
	// Output: 1 20ms [root/requests] [sleep] shop.nap
}
