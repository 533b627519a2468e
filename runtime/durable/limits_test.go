package durable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A thread whose bytes would be more than anybody takes is not stopped for them, and bytes that are more than the reader allows make no thread.
func TestAThreadThatIsTooLargeForItsBytesGoesOn(t *testing.T) {
	r := durable.NewRegistry()
	register(t, r, "large", func(th *durable.Thread, n int) (int, error) {
		for range n {
			durable.Random(th)
		}
		said, err := durable.Do(th, "say", func(durable.Call) (string, error) { return strings.Repeat("x", 1000), nil })
		durable.Park(th, "p")
		return len(said), err
	})
	const steps = 200
	for name, c := range map[string]struct {
		limits journal.Limits
		want   error
	}{
		"bytes":  {journal.Limits{Bytes: 1 << 10}, journal.ErrTooLarge},
		"memory": {journal.Limits{Memory: 25 << 10}, journal.ErrMemory},
	} {
		b := durable.Builder{Registry: r, Limits: c.limits}
		th, err := b.Start("large", steps)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the park", func() bool { return len(th.Steps()) == steps+2 })
		if _, err := th.ParkAndSerialize(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: got %v, want %v with the limit", name, err, c.want)
		}
		if got := th.State(); got != durable.Running {
			t.Errorf("%s: the thread is %v", name, got)
		}
		if err := th.Unpark(); err != nil {
			t.Error(err)
		}
		if got := result[int](t, th); got != 1000 {
			t.Errorf("%s: got %d", name, got)
		}
		th = start(t, r, "large", steps)
		until(t, "the park", func() bool { return len(th.Steps()) == steps+2 })
		bytes := bytesOf(t, th)
		if _, err := b.DeserializeAndUnpark(bytes); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		th = onAgain(t, bytes, r)
		if got := result[int](t, th); got != 1000 {
			t.Errorf("%s: got %d", name, got)
		}
	}
}
