//go:build unix

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A costly work is one whose recorders are compared.
type costly struct {
	name     string
	ops      int
	switches int // of threads or goroutines, in an operation
}

var costlyWorks = []costly{
	{"pingpong", 500_000, 2},
	{"startjoin", 300_000, 1}, // to the new one, and back: it is told for each that is started
	{"yield", 1_000_000, 1},
}

// A costing is a way to run a work with a recorder, and without.
type costing struct {
	name string
	task func(c costly, on bool) (t task, env []string)
}

var costings = []costing{
	{"default", ourCosting("default")},
	{"profile", ourCosting("profile")},
	{"gotrace", func(c costly, on bool) (task, []string) {
		return task{What: c.name + "-goroutines", N: c.ops, Traced: on}, []string{"VTSCOPE=off"}
	}},
}

func ourCosting(settings string) func(c costly, on bool) (task, []string) {
	return func(c costly, on bool) (task, []string) {
		if on {
			return task{What: c.name, N: c.ops}, recorderEnv(settings)
		}
		return task{What: c.name, N: c.ops}, recorderEnv("off")
	}
}

// BenchmarkCost reports what a recorder adds to a switch, or to the start of a thread: ours to threads, with its settings "default" and "profile", and
// Go's own trace to the same work of goroutines. A process with the recorder and one without run right after each other.
func BenchmarkCost(b *testing.B) {
	for _, how := range costings {
		for _, c := range costlyWorks {
			b.Run(fmt.Sprintf("recorder=%s/work=%s", how.name, c.name), func(b *testing.B) {
				added := 0.0
				for i := range b.N {
					took := map[bool]float64{}
					for k := range 2 {
						on := (i+k)%2 == 0
						t, env := how.task(c, on)
						took[on] = float64(ask(b, t, env...)[0]) / float64(c.ops*c.switches)
					}
					added += took[true] - took[false]
				}
				b.ReportMetric(added/float64(b.N), "added-ns")
				b.ReportMetric(0, "ns/op") // it is the difference that counts
			})
		}
	}
}

// BenchmarkEventBytes reports how many bytes of an event come to the disk: in a recording of ours that follows a process for a second which does the work
// again and again, and in Go's own trace of the same work of goroutines.
func BenchmarkEventBytes(b *testing.B) {
	for _, how := range costings {
		for _, c := range costlyWorks {
			b.Run(fmt.Sprintf("recorder=%s/work=%s", how.name, c.name), func(b *testing.B) {
				var perEvent, lost float64
				for range b.N {
					if t, env := how.task(c, true); t.Traced {
						a := ask(b, t, env...)
						perEvent += float64(a[1]) / float64(a[2])
						continue
					}
					bytes, total := recorded(b, c, how.name, time.Second)
					perEvent += float64(bytes) / float64(total.Events)
					lost += float64(total.Lost) / float64(total.Events+total.Lost)
				}
				b.ReportMetric(perEvent/float64(b.N), "B/event")
				b.ReportMetric(100*lost/float64(b.N), "%lost")
				b.ReportMetric(0, "ns/op") // it is as long as it was told to be
			})
		}
	}
}

// recorded records a child's work for a while, and returns the size of the recording and what is in it.
func recorded(tb testing.TB, c costly, settings string, d time.Duration) (bytes int64, r recording.Report) {
	tb.Helper()
	p, err := startProgram("repeating", selfAs(task{What: "repeat", Of: c.name, N: c.ops / 10}, recorderEnv(settings)...))
	if err != nil {
		tb.Fatal(err)
	}
	reader, err := flight.OpenPID(p.pid)
	if err != nil {
		tb.Fatal(err)
	}
	defer reader.Close()
	f, err := os.Create(filepath.Join(tb.TempDir(), "run"+recording.Extension))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	if r, err = recording.Record(context.Background(), reader, f, recording.Options{For: d}); err != nil {
		tb.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.end(); err != nil {
		tb.Fatal(err)
	}
	return info.Size(), r
}

// repeat does a work again and again, until standard input ends.
func repeat(t task) answer {
	tasks[t.Of](task{What: t.Of, N: t.N}) // the flight file is there
	fmt.Printf("repeating %s; pid %d\n", t.Of, os.Getpid())
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return answer{1}
		default:
			tasks[t.Of](task{What: t.Of, N: t.N})
		}
	}
}

// traced warms a work of goroutines up and measures it, with Go's trace if the task says so: then the answer has also the bytes of the trace and
// its events.
func traced(w work) func(task) answer {
	return func(t task) answer {
		if !t.Traced {
			return timed(w)(t)
		}
		f, err := os.CreateTemp("", "bench-*.trace")
		if err != nil {
			panic(err)
		}
		defer os.Remove(f.Name())
		defer f.Close()
		if err := trace.Start(f); err != nil {
			panic(err)
		}
		a := timed(w)(t)
		trace.Stop()
		content, err := os.ReadFile(f.Name())
		if err != nil {
			panic(err)
		}
		kinds, err := traceEvents(content)
		if err != nil {
			panic(err)
		}
		n := 0
		for _, of := range kinds {
			n += of
		}
		return append(a, int64(len(content)), int64(n))
	}
}

// traceArgs has the number of arguments of each type of event in the traces of Go 1.22 to 1.26, by its number from 9 on; "-" are no events of
// threads or goroutines. If a new Go writes another version, [TestEventsOfGosTraceAreCounted] fails: look into internal/trace/tracev2.
const traceArgs = "3314342311334311431232223221222534453345--4-"

const (
	traceBatch        = 1
	traceTables       = 8 // and those before it start batches of tables
	traceFirstEvent   = 9
	traceUserLog      = 44
	traceExperimental = 49
	traceSync         = 50
	traceEnd          = 52
)

// traceKinds are numbers of events by their types, less [traceFirstEvent].
type traceKinds [len(traceArgs)]int

// traceEvents counts the events in a trace of runtime/trace.
func traceEvents(content []byte) (n traceKinds, err error) {
	const magic, newest = "go 1.", "go 1.26 trace\x00\x00\x00"
	if len(content) < len(newest) || !strings.HasPrefix(string(content), magic) || string(content[:len(newest)]) > newest {
		return n, fmt.Errorf("trace begins with %q, want at most %q", content[:min(len(content), len(newest))], newest)
	}
	in := words{rest: content[len(newest):]}
	for len(in.rest) > 0 {
		switch kind := in.byte(); kind {
		case traceEnd:
		case traceExperimental:
			in.skip(4)
			in.take(in.word())
		case traceBatch:
			in.skip(3)
			batch := words{rest: in.take(in.word())}
			batch.events(&n)
			in.bad = in.bad || batch.bad
		default:
			return n, fmt.Errorf("trace has a batch of type %d", kind)
		}
		if in.bad {
			return n, errors.New("trace is cut, or of a form that is not known")
		}
	}
	return n, nil
}

// words are what a trace is made of: bytes and numbers of variable length.
type words struct {
	rest []byte
	bad  bool
}

func (w *words) byte() (b byte) {
	if len(w.rest) == 0 {
		w.bad = true
		return 0
	}
	b, w.rest = w.rest[0], w.rest[1:]
	return b
}

func (w *words) word() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := w.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (w *words) skip(n int) {
	for range n {
		w.word()
	}
}

func (w *words) take(n uint64) (b []byte) {
	if n > uint64(len(w.rest)) {
		w.bad = true
		n = uint64(len(w.rest))
	}
	b, w.rest = w.rest[:n], w.rest[n:]
	return b
}

// events counts those of a batch.
func (w *words) events(n *traceKinds) {
	for first := true; len(w.rest) > 0 && !w.bad; first = false {
		kind := int(w.byte())
		if first && (kind <= traceTables || kind == traceSync) {
			return
		}
		if kind -= traceFirstEvent; kind < 0 || kind >= len(traceArgs) || traceArgs[kind] == '-' {
			w.bad = true
			return
		}
		w.skip(int(traceArgs[kind] - '0'))
		n[kind]++
	}
}

func TestARecordingOfAWorkHasItsEvents(t *testing.T) {
	longer(t, 100*time.Millisecond, func(d time.Duration) error {
		bytes, r := recorded(t, costlyWorks[0], "default", d)
		if r.Events == 0 || bytes == 0 {
			return fmt.Errorf("got %d events in %d bytes, and %d lost, in %v", r.Events, bytes, r.Lost, d)
		}
		return nil
	})
}

func TestEventsOfGosTraceAreCounted(t *testing.T) {
	const n = 2000
	a := ask(t, task{What: "pingpong-goroutines", N: n, Traced: true})
	// A wake-up, a block and a start for each of the two switches, and for the warm-up a tenth of that; besides, what the processors do.
	if want := int64(n+n/10) * 6; len(a) != 3 || a[2] < want {
		t.Errorf("got %d events, want %d and more", a[2:], want)
	}
	if trace.IsEnabled() {
		t.Skip("the tests are traced, and there is one trace at a time")
	}
	const logs = 20_000 // some batches
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Fatal(err)
	}
	for range logs {
		trace.Log(t.Context(), "key", "value")
	}
	trace.Stop()
	kinds, err := traceEvents(out.Bytes())
	if got := kinds[traceUserLog-traceFirstEvent]; err != nil || got != logs {
		t.Errorf("got %d logs, %v; want %d", got, err, logs)
	}
	if _, err := traceEvents([]byte("go 1.99 trace\x00\x00\x00")); err == nil {
		t.Error("a trace of an unknown version: got no error")
	}
}
