package perfettotest_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/vtscope/vtscope/recording/recordingtest"
	"github.com/vtscope/vtscope/tracing/perfetto"
	"github.com/vtscope/vtscope/tracing/perfetto/perfettotest"
)

func some(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := perfetto.Write(context.Background(), &out, recordingtest.NewLoad(200), perfetto.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func FuzzRead(f *testing.F) {
	f.Add(some(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = perfettotest.Read(data) })
}

func TestACutTraceIsRefusedOrEndsAtAPacket(t *testing.T) {
	data := some(t)
	refused := 0
	tried, step := 0, len(data)/100
	for n := step / 2; n < len(data); n += step {
		tried++
		if _, err := perfettotest.Read(data[:n]); err != nil {
			refused++
		}
	}
	if tried < 90 || refused < tried*9/10 {
		t.Errorf("got %d of %d cuts refused, want nearly all: slices are open, or packets are cut", refused, tried)
	}
}

func TestWhatPerfettoDoesNotKnowIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{
		"a field that is not published":           {0x0a, 0x03, 0x98, 0x3f, 0x01},
		"a packet of no sequence":                 {0x0a, 0x02, 0x40, 0x01},
		"a field of another wire type":            {0x0a, 0x03, 0x42, 0x01, 0x00},
		"a sequence that does not say it is new":  {0x0a, 0x04, 0x50, 0x01, 0x5a, 0x00},
		"an event that needs a state without one": {0x0a, 0x09, 0x50, 0x01, 0xb8, 0x05, 0x01, 0x68, 0x02, 0x5a, 0x00},
		"a packet that says nothing":              {0x0a, 0x05, 0x50, 0x01, 0xb8, 0x05, 0x01},
	} {
		if _, err := perfettotest.Read(data); err == nil {
			t.Errorf("%s: got no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}
