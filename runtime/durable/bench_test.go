package durable_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
)

// BenchmarkStep is a call that is recorded in memory.
func BenchmarkStep(b *testing.B) {
	r := durable.NewRegistry()
	durable.Register(r, "steps", func(th *durable.Thread, n int) (int, error) {
		for i := range n {
			durable.Do(th, "step", func(durable.Call) (int, error) { return i, nil })
		}
		return n, nil
	})
	b.ReportAllocs()
	th, err := durable.Start(r, "steps", b.N)
	if err == nil {
		err = th.Join()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReplay is a step that is given to the body again.
func BenchmarkReplay(b *testing.B) {
	r := durable.NewRegistry()
	done := make(chan struct{}, 2)
	durable.Register(r, "steps", func(th *durable.Thread, n int) (int, error) {
		for i := range n {
			durable.Do(th, "step", func(durable.Call) (int, error) { return i, nil })
		}
		done <- struct{}{} //durable:ok it is told again
		durable.Park(th, "p")
		return n, nil
	})
	th, err := durable.Start(r, "steps", b.N)
	if err != nil {
		b.Fatal(err)
	}
	<-done
	for len(th.Steps()) == b.N {
		time.Sleep(time.Second)
	}
	bytes, err := th.ParkAndSerialize()
	if err != nil {
		b.Fatal(err)
	}
	image, err := durable.DecodeForBench(bytes)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	if th, err = durable.RestoreForBench(image, r); err == nil {
		err = th.Join()
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHibernate parks 100,000 threads, and lets them hibernate. It reports the memory of each before and after, and the time to go on.
func BenchmarkHibernate(b *testing.B) {
	const n = 100_000
	r := durable.NewRegistry()
	durable.Register(r, "waits", func(th *durable.Thread, _ int) (int, error) {
		durable.Do(th, "first", func(durable.Call) (int, error) { return 1, nil })
		durable.Await[int](th, "go")
		return 1, nil
	})
	for range b.N {
		base := inUse()
		all := make([]*durable.Thread, n)
		for i := range all {
			var err error
			if all[i], err = (durable.Builder{Registry: r, HibernateAfter: time.Hour}).Start("waits", i); err != nil {
				b.Fatal(err)
			}
		}
		for _, th := range all {
			for len(th.Steps()) < 2 {
				time.Sleep(time.Millisecond)
			}
		}
		awake := inUse()
		for _, th := range all {
			durable.HibernateForBench(th)
		}
		for _, th := range all {
			for th.State() != durable.Hibernated {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(30 * time.Second) // idle goroutines are let go
		asleep := inUse()
		begun := time.Now()
		all[0].Signal("go", 1)
		all[0].Join()
		took := time.Since(begun)
		for _, th := range all[1:] {
			th.Signal("go", 1)
		}
		for _, th := range all[1:] {
			th.Join()
		}
		b.ReportMetric(float64(awake-base)/n, "B/waiting")
		b.ReportMetric(float64(asleep-base)/n, "B/hibernated")
		b.ReportMetric(float64(took.Nanoseconds()), "ns/resume")
	}
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
