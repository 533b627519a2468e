package vthread_test

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func BenchmarkStartJoinT(b *testing.B) {
	vthread.Start(func() {
		for b.Loop() {
			vthread.Start(func() {}).Join()
		}
	}).Join()
}
func BenchmarkStartJoinG(b *testing.B) {
	for b.Loop() {
		vthread.Start(func() {}).Join()
	}
}
func BenchmarkStartJoinGo(b *testing.B) {
	for b.Loop() {
		var wg sync.WaitGroup
		wg.Add(1)
		go func() { wg.Done() }()
		wg.Wait()
	}
}
func BenchmarkPP(b *testing.B) {
	fj, _ := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	defer fj.Close()
	var x, y *vthread.Thread
	n := b.N
	x = vthread.Builder{Scheduler: fj}.Unstarted(func() {
		for range n {
			y.Unpark()
			vthread.Park()
		}
	})
	y = vthread.Builder{Scheduler: fj}.Unstarted(func() {
		for range n {
			vthread.Park()
			x.Unpark()
		}
	})
	b.ResetTimer()
	y.Start()
	x.Start()
	x.Join()
	y.Join()
}
func BenchmarkPPGo(b *testing.B) {
	p, q := make(chan struct{}), make(chan struct{})
	go func() {
		for range p {
			q <- struct{}{}
		}
	}()
	for b.Loop() {
		p <- struct{}{}
		<-q
	}
	close(p)
}
func BenchmarkYield1000(b *testing.B) {
	fj, _ := sched.NewForkJoin(sched.ForkJoinOptions{Parallelism: 1})
	defer fj.Close()
	per := b.N/1000 + 1
	var ts []*vthread.Thread
	b.ResetTimer()
	for range 1000 {
		ts = append(ts, vthread.Builder{Scheduler: fj}.Start(func() {
			for range per {
				vthread.Yield()
			}
		}))
	}
	for _, t := range ts {
		t.Join()
	}
}
func BenchmarkGosched1000(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var wg sync.WaitGroup
	per := b.N/1000 + 1
	b.ResetTimer()
	for range 1000 {
		wg.Add(1)
		go func() {
			for range per {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
}

// What it costs to be a thread for the time of a call.
func BenchmarkRun(b *testing.B) {
	empty := func() {}
	b.Run("of=call", func(b *testing.B) {
		call := empty
		for b.Loop() {
			call()
		}
	})
	b.Run("of=run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			vthread.Builder{}.Run(empty)
		}
	})
	b.Run("of=named", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			vthread.Run("worker", empty)
		}
	})
	b.Run("of=nested", func(b *testing.B) {
		b.ReportAllocs()
		vthread.Start(func() {
			for b.Loop() {
				vthread.Builder{}.Run(empty)
			}
		}).Join()
	})
	b.Run("of=parallel", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				vthread.Builder{}.Run(empty)
			}
		})
	})
	b.Run("of=start-join", func(b *testing.B) {
		for b.Loop() {
			vthread.Start(empty).Join()
		}
	})
}

// BenchmarkRunTogether is a thread with a name for the time of a call, on as many goroutines as there are processors, and on
// thirty-two for each processor that take turns.
func BenchmarkRunTogether(b *testing.B) {
	for _, each := range []int{1, 32} {
		b.Run("goroutines="+strconv.Itoa(each)+"xP", func(b *testing.B) {
			b.SetParallelism(each)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					vthread.Run("GET /cart", func() {})
					if each > 1 {
						runtime.Gosched()
					}
				}
			})
		})
	}
}
