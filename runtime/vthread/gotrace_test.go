package vthread_test

import (
	"bytes"
	"runtime/trace"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// What the trace has is looked at in fixtures/gotrace, which has a reader; here the names are looked for, in all builds.
func TestThreadsAreInGosOwnTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the test itself is traced")
	}
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	th := vthread.Builder{Name: "traced"}.Start(func() {
		trace.WithRegion(t.Context(), "user's", func() { vthread.Sleep(time.Microsecond) })
	})
	th.Join()
	trace.Stop()
	for _, name := range []string{"thread", "traced #", "body", "timed-parked", "user's"} {
		if !bytes.Contains(out.Bytes(), []byte(name)) {
			t.Errorf("got a trace of %d bytes without %q", out.Len(), name)
		}
	}
	// Threads go on when nobody traces any more.
	vthread.Start(func() { vthread.Sleep(time.Microsecond) }).Join()
}
