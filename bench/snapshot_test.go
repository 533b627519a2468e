//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// BenchmarkSnapshot reads and groups the threads of another process, and renders them as vtdump does.
func BenchmarkSnapshot(b *testing.B) {
	const threads = 1_000_000
	b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
		storm, err := millionThreads()
		if err != nil {
			b.Fatal(err)
		}
		var text bytes.Buffer
		b.ResetTimer()
		for range b.N {
			text.Reset()
			if err := snapshot(storm.pid, &text); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/op")
		b.ReportMetric(float64(text.Len()), "output-B")
		b.ReportMetric(storm.took.Seconds(), "start-s")
	})
}

// snapshot does what vtdump does between its start and its end.
func snapshot(pid int, out io.Writer) error {
	reader, err := flight.OpenPID(pid)
	if err != nil {
		return err
	}
	defer reader.Close()
	s, err := dump.Take(context.Background(), reader, dump.Options{})
	if err != nil {
		return err
	}
	if !s.Complete {
		return fmt.Errorf("incomplete: %v", s.Incomplete)
	}
	return dump.Text(out, s, dump.TextOptions{})
}

func TestASnapshotSeesTheThreadsOfAStorm(t *testing.T) {
	s, err := startStorm(1000)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	// The process writes the symbols of its stacks a moment after their first use.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if err = snapshot(s.pid, &text); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if !regexp.MustCompile(`1,00\d threads`).Match(text.Bytes()) {
		t.Errorf("got no thousand threads, want them:\n%s", text.Bytes())
	}
}
