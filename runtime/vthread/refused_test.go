package vthread_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var errRefused = errors.New("refused")

type refuser struct{}

func (refuser) Execute(*sched.Task) error { return errRefused }

func TestARefusedThreadDoesNotStandInDumpsForever(t *testing.T) {
	path := flight.Default().Path()
	if path == "" {
		t.Skip("the recorder is off or private")
	}
	reader, err := flight.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	const n = 100
	inDump := func() (count int) {
		_, err := reader.Threads(context.Background(), func(rows []flight.ThreadRow) {
			for _, row := range rows {
				if reader.ThreadName(row) == "refused" {
					count++
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	threads := make([]*vthread.Thread, n)
	for i := range threads {
		if threads[i], err = (vthread.Builder{Name: "refused", Scheduler: refuser{}}).TryStart(func() {}); !errors.Is(err, errRefused) {
			t.Fatalf("got %v, want refused", err)
		}
	}
	if got := inDump(); got != n {
		t.Fatalf("%d new threads in the file, want %d", got, n)
	}
	runtime.KeepAlive(threads)
	for deadline := time.Now().Add(time.Minute); inDump() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d threads are still there", inDump())
		}
		runtime.GC()
	}
}
