//go:build unix

package bench

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// durableSteps registers a body that does n steps, and waits then.
func durableSteps(b *testing.B) *durable.Registry {
	r := durable.NewRegistry()
	err := durable.Register(r, "steps", func(t *durable.Thread, n int) (int, error) {
		for i := range n {
			if _, err := durable.Do(t, "step", func(durable.Call) (int, error) { return i, nil }); err != nil {
				return 0, err
			}
		}
		return durable.Await[int](t, "go"), nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func goOn(b *testing.B, t *durable.Thread) {
	if err := t.Signal("go", 1); err != nil {
		b.Fatal(err)
	}
	if err := t.Join(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDurableStep is a call that is recorded: in memory, and with a file store, where threads that make steps at a time share the synchronization of the disk.
func BenchmarkDurableStep(b *testing.B) {
	b.Run("store=memory", func(b *testing.B) {
		b.ReportAllocs()
		t, err := durable.Start(durableSteps(b), "steps", b.N)
		if err != nil {
			b.Fatal(err)
		}
		goOn(b, t)
	})
	for _, threads := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("store=files/threads=%d", threads), func(b *testing.B) { stepsInFiles(b, threads) })
	}
}

func stepsInFiles(b *testing.B, threads int) {
	n := max(10, b.N/threads) // of each thread
	var gate vthread.Promise[int]
	r := durable.NewRegistry()
	err := durable.Register(r, "gated", func(t *durable.Thread, n int) (int, error) {
		for i := range n {
			if _, err := durable.Do(t, "step", func(durable.Call) (int, error) { return gate.Future.Get() }); err != nil {
				return i, err
			}
		}
		return n, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	s, err := durable.NewFileStore(b.TempDir(), durable.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	all := make([]*durable.Thread, threads)
	var births sync.WaitGroup
	for i := range all {
		births.Go(func() { // they share synchronizations too
			if all[i], err = k.Start(fmt.Sprint(i), "gated", n); err != nil {
				b.Error(err)
			}
		})
	}
	births.Wait()
	b.ResetTimer()
	gate.Complete(1)
	for _, t := range all {
		if err := t.Join(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*threads), "ns/step")
	b.ReportMetric(0, "ns/op")
	if err := k.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDurableReplay is a step that is given to the body again, of a thread that hibernates.
func BenchmarkDurableReplay(b *testing.B) {
	n := max(b.N, 1000)
	t, err := durable.Builder{Registry: durableSteps(b), HibernateAfter: time.Millisecond}.Start("steps", n)
	if err != nil {
		b.Fatal(err)
	}
	for t.State() != durable.Hibernated {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	b.ResetTimer()
	goOn(b, t)
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/step")
}

// BenchmarkDurableHibernate has a hundred thousand threads that hibernate, and reports how long one takes from the signal that it waits for to its end.
func BenchmarkDurableHibernate(b *testing.B) {
	const n, looks = 100_000, 2000
	r := durableSteps(b)
	var took []time.Duration
	for range b.N {
		all := make([]*durable.Thread, n)
		for i := range all {
			var err error
			if all[i], err = (durable.Builder{Registry: r, HibernateAfter: time.Second}).Start("steps", 1); err != nil {
				b.Fatal(err)
			}
		}
		for _, t := range all {
			for t.State() != durable.Hibernated {
				time.Sleep(time.Millisecond)
			}
		}
		for _, t := range all[:looks] {
			begun := time.Now()
			goOn(b, t)
			took = append(took, time.Since(begun))
		}
		for _, t := range all[looks:] {
			goOn(b, t)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-resume-ns")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-resume-ns")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDurableMemory is what a hundred thousand threads need that wait for a signal: with their stacks, and when they hibernate.
func BenchmarkDurableMemory(b *testing.B) {
	b.Run("state=waiting", func(b *testing.B) {
		durableWaits(b, time.Hour, func(t *durable.Thread) bool { return len(t.Steps()) > 0 })
	})
	b.Run("state=hibernated", func(b *testing.B) {
		durableWaits(b, time.Millisecond, func(t *durable.Thread) bool { return t.State() == durable.Hibernated })
	})
}

// memoryAtRest is what the process uses when it gives nothing back any more: idle coroutines are let go after a while.
func memoryAtRest() int64 {
	least, since := memory(), time.Now()
	for time.Since(since) < 12*time.Second {
		time.Sleep(100 * time.Millisecond)
		if m := memory(); m < least-least/100 {
			least, since = m, time.Now()
		}
	}
	return least
}

func durableWaits(b *testing.B, hibernateAfter time.Duration, settled func(*durable.Thread) bool) {
	const n = 100_000
	r := durableSteps(b)
	var used int64
	for range b.N {
		all := make([]*durable.Thread, n)
		before := memoryAtRest()
		for i := range all {
			var err error
			if all[i], err = (durable.Builder{Registry: r, HibernateAfter: hibernateAfter}).Start("steps", 1); err != nil {
				b.Fatal(err)
			}
		}
		for _, t := range all {
			for !settled(t) {
				time.Sleep(time.Millisecond)
			}
		}
		used += memoryAtRest() - before
		for _, t := range all {
			goOn(b, t)
		}
	}
	b.ReportMetric(float64(used)/float64(n*b.N), "B/thread")
	b.ReportMetric(0, "ns/op")
}

var benchCheckpoint = durable.Checkpoint[int]{Name: "progress", Version: 1}

// BenchmarkDurableResume resumes a thread of a million steps from its bytes, with a checkpoint after each ten thousand: it has the most steps to replay.
func BenchmarkDurableResume(b *testing.B) {
	const n, every = 1_000_000, 10_000
	r := durable.NewRegistry()
	if err := durable.Register(r, "long", func(t *durable.Thread, n int) (int, error) {
		at, _ := benchCheckpoint.Restore(t)
		for ; at < n; at++ {
			if at%every == 0 && at > 0 {
				benchCheckpoint.Save(t, at)
			}
			if _, err := durable.Do(t, "step", func(durable.Call) (int, error) { return at, nil }); err != nil {
				return 0, err
			}
		}
		durable.Park(t, "at the end")
		return at, nil
	}); err != nil {
		b.Fatal(err)
	}
	t, err := durable.Start(r, "long", n)
	if err != nil {
		b.Fatal(err)
	}
	for {
		if s := t.Steps(); len(s) > every+1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	bytes, err := t.ParkAndSerialize()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if t, err = durable.DeserializeAndUnpark(bytes, r, nil); err == nil {
			err = t.Join() // who is parked goes on, and this one to its end
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
	b.ReportMetric(float64(len(bytes)), "B")
}
