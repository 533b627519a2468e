package vthread_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestRecvAndSendWaitForEachOther(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		for _, room := range []int{0, 1} {
			there, back := make(chan int, room), make(chan int, room)
			echo := b.Start(func() {
				for {
					v, err := vthread.Recv(there)
					if err != nil {
						if err != vthread.ErrClosed {
							t.Errorf("got %v, want closed", err)
						}
						close(back)
						return
					}
					if err := vthread.Send(back, -v); err != nil {
						t.Error(err)
					}
				}
			})
			for i := range 200 {
				if err := vthread.Send(there, i); err != nil {
					t.Fatal(err)
				}
				if v, err := vthread.Recv(back); v != -i || err != nil {
					t.Fatalf("got %d, %v, want %d", v, err, -i)
				}
			}
			close(there)
			if v, err := vthread.Recv(back); v != 0 || err != vthread.ErrClosed {
				t.Errorf("got %d, %v, want closed", v, err)
			}
			echo.Join()
		}
	})
}

func TestAChannelThatIsClosedMeanwhileEndsTheWait(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		ch := make(chan int)
		b.Start(func() { waits(t, me); close(ch) })
		if _, err := vthread.Recv(ch); err != vthread.ErrClosed {
			t.Errorf("got %v, want closed", err)
		}
	})
}

func TestSendingToAClosedChannelPanicsOnTheCaller(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		for what, send := range map[string]func(ch chan int){
			"Send":   func(ch chan int) { vthread.Send(ch, 1) },
			"Select": func(ch chan int) { vthread.Select(vthread.OnSend(ch, 1, nil)) },
		} {
			for _, when := range []string{"before", "meanwhile"} {
				if when == "meanwhile" && racing {
					continue // the detector calls each such close a race, whatever the program makes of the panic
				}
				ch := make(chan int)
				me := vthread.Current()
				switch {
				case when == "before":
					close(ch)
				case me != nil:
					b.Start(func() { waits(t, me); close(ch) })
				default:
					time.AfterFunc(time.Millisecond, func() { close(ch) })
				}
				func() {
					defer func() {
						if err, _ := recover().(runtime.Error); err == nil || err.Error() != "send on closed channel" {
							t.Errorf("%s, closed %s: panicked with %v", what, when, err)
						}
					}()
					send(ch)
				}()
			}
		}
	})
}

// ways are all ways to wait on channels; ch is nil, or one that nobody else uses.
var ways = map[string]func(ch chan int) error{
	"Recv": func(ch chan int) error { _, err := vthread.Recv(ch); return err },
	"Send": func(ch chan int) error { return vthread.Send(ch, 1) },
	"Select": func(ch chan int) error {
		i, err := vthread.Select(vthread.OnRecv(ch, nil), vthread.OnSend(ch, 1, nil))
		if err != nil && i != -1 {
			return fmt.Errorf("index %d, want -1", i)
		}
		return err
	},
	"Select of nothing": func(chan int) error { _, err := vthread.Select(); return err },
}

func TestAnInterruptEndsTheWaitOnAChannel(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		for what, wait := range ways {
			for _, ch := range []chan int{nil, make(chan int)} {
				b.Start(func() { waits(t, me); me.Interrupt() })
				if err := wait(ch); err != vthread.ErrInterrupted || vthread.Interrupted() {
					t.Errorf("%s: got %v, status %v", what, err, me.IsInterrupted())
				}
				select {
				case ch <- 1:
					t.Errorf("%s: somebody still receives", what)
				case <-ch:
					t.Errorf("%s: somebody still sends", what)
				default:
				}
			}
			ready := make(chan int, 2)
			ready <- 1
			me.Interrupt()
			if err := wait(ready); err != vthread.ErrInterrupted || vthread.Interrupted() || len(ready) != 1 {
				t.Errorf("%s, before: got %v, status %v, %d values", what, err, me.IsInterrupted(), len(ready))
			}
		}
	})
}

// Interrupts race with values, on both sides: each value arrives once, and nobody who was told that nothing was sent or received is wrong.
func TestNoValueIsLostOrDoubledByInterrupts(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	for _, carriers := range []int{1, 4} {
		for _, room := range []int{0, 2} {
			for _, by := range []string{"Send and Recv", "Select"} {
				t.Run(fmt.Sprintf("carriers=%d/room=%d/by=%s", carriers, room, by), func(t *testing.T) {
					b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
					ch := make(chan int, room)
					other := make(chan int)
					var interrupted atomic.Int32
					count := func(err error) bool {
						if err == vthread.ErrInterrupted {
							interrupted.Add(1)
						}
						return err == nil
					}
					send := func(v int) bool { return count(vthread.Send(ch, v)) }
					recv := func() (v int, ok bool, err error) { v, err = vthread.Recv(ch); return v, err == nil, err }
					if by == "Select" {
						send = func(v int) bool {
							i, err := vthread.Select(vthread.OnRecv(other, nil), vthread.OnSend(ch, v, nil))
							if err == nil && i != 1 {
								t.Errorf("chose case %d", i)
							}
							return count(err)
						}
						recv = func() (v int, ok bool, err error) {
							_, err = vthread.Select(vthread.OnRecv(ch, func(got int, open bool) { v, ok = got, open }), vthread.OnRecv(other, nil))
							if err == nil && !ok {
								err = vthread.ErrClosed
							}
							return v, ok, err
						}
					}
					const senders = 4
					var seen [senders]atomic.Int32 // how many came of each, in order
					var threads, receivers []*vthread.Thread
					for s := range senders {
						threads = append(threads, b.Start(func() {
							for i := range n / senders {
								for !send(s*n + i) {
								}
							}
						}))
					}
					for range 2 {
						receivers = append(receivers, b.Start(func() {
							for {
								v, ok, err := recv()
								if err == vthread.ErrClosed {
									return
								}
								if count(err) && ok {
									seen[v/n].Add(1)
								}
							}
						}))
					}
					var stop atomic.Bool
					var wg sync.WaitGroup
					wg.Go(func() {
						for k := 0; !stop.Load(); k++ {
							threads[k%senders].Interrupt()
							receivers[k%2].Interrupt()
							time.Sleep(20 * time.Microsecond)
						}
					})
					for _, th := range threads {
						th.Join()
					}
					close(ch)
					for _, th := range receivers {
						th.Join()
					}
					stop.Store(true)
					wg.Wait()
					for s := range seen {
						if got := seen[s].Load(); got != int32(n/senders) {
							t.Errorf("%d values of sender %d came, want %d", got, s, n/senders)
						}
					}
					t.Logf("%d interrupts", interrupted.Load())
				})
			}
		}
	}
}

// A value and an interrupt come at the same time: if the value is received the status stays, or else the value does.
func TestAnInterruptAndAValueAreNeverBothLost(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for _, carriers := range []int{1, 4} {
		b := vthread.Builder{Scheduler: forkJoin(t, carriers)}
		b.Start(func() {
			me := vthread.Current()
			ch := make(chan int, 1)
			received := 0
			for i := range rounds {
				var given sync.WaitGroup
				given.Add(2)
				gives := []func(){func() { me.Interrupt(); given.Done() }, func() { ch <- i; given.Done() }}
				go func() { waits(t, me); go gives[i%2](); go gives[1-i%2]() }()
				v, err := vthread.Recv(ch)
				vthread.Blocking(given.Wait)
				switch kept := vthread.Interrupted(); {
				case err == nil && v == i && kept && len(ch) == 0:
					received++
				case err == vthread.ErrInterrupted && !kept && len(ch) == 1:
					<-ch
				default:
					t.Fatalf("got %d, %v, status %v, %d values left", v, err, kept, len(ch))
				}
			}
			t.Logf("carriers=%d: received %d of %d", carriers, received, rounds)
		}).Join()
	}
}

func TestSelectChoosesWhatIsReady(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		var called string
		in, out := make(chan string, 1), make(chan string, 1)
		cases := func() []vthread.Case {
			return []vthread.Case{
				vthread.OnRecv(in, func(v string, open bool) { called = fmt.Sprint("received ", v, open) }),
				vthread.OnSend(out, "x", func() { called = "sent" }),
				vthread.OnRecv[string](nil, func(string, bool) { called = "received from nil" }),
				vthread.OnSend(nil, "x", func() { called = "sent to nil" }),
				vthread.Otherwise(func() { called = "otherwise" }),
			}
		}
		choose := func(n, want int, wantCalled string) {
			t.Helper()
			i, err := vthread.Select(cases()[:n]...)
			if i != want || err != nil || called != wantCalled {
				t.Errorf("got %d, %v, called %q; want %d, %q", i, err, called, want, wantCalled)
			}
		}
		out <- "full"
		choose(5, 4, "otherwise")
		in <- "v"
		choose(5, 0, "received vtrue")
		<-out
		choose(5, 1, "sent")
		b.Start(func() { vthread.Yield(); vthread.Send(in, "w") })
		choose(4, 0, "received wtrue")
		b.Start(func() { vthread.Yield(); vthread.Recv(out) })
		choose(4, 1, "sent")
		b.Start(func() { vthread.Yield(); close(in) })
		choose(4, 0, "received false")
		if i, err := vthread.Select(vthread.OnRecv(in, nil)); i != 0 || err != nil {
			t.Errorf("without a function: got %d, %v", i, err)
		}
	})
}

func TestSelectIsFairAmongWhatIsReady(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		ch := make(chan int)
		close(ch)
		var chosen [3]int
		for range 600 {
			i, err := vthread.Select(vthread.OnRecv(ch, nil), vthread.OnRecv(ch, nil), vthread.OnRecv(ch, nil))
			if err != nil {
				t.Fatal(err)
			}
			chosen[i]++
		}
		for i, n := range chosen {
			if n < 100 { // a fair one does that once in 10 to the 19th
				t.Errorf("case %d was chosen %d times of 600", i, n)
			}
		}
	})
}

func TestSelectKeepsTheTypeOfInterfaceValues(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		ch := make(chan error, 1)
		for _, want := range []error{io.EOF, nil} {
			vthread.Select(vthread.OnSend(ch, want, nil))
			got := errors.New("nothing")
			vthread.Select(vthread.OnRecv(ch, func(err error, open bool) {
				if got = err; !open {
					t.Error("closed")
				}
			}))
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}

func TestSelectWithTwoDefaultsPanics(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		vthread.Select(vthread.Otherwise(nil), vthread.Otherwise(nil))
	})
}

// All wait at a time, on one carrier.
func TestWaitingOnAChannelGivesTheCarrierAway(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	b := vthread.Builder{Scheduler: forkJoin(t, 1)}
	ch, done := make(chan int), make(chan int)
	var threads []*vthread.Thread
	for i := range n {
		threads = append(threads, b.Start(func() {
			if i%2 == 0 {
				v, err := vthread.Recv(ch)
				if err != nil {
					t.Error(err)
				}
				vthread.Send(done, v)
				return
			}
			vthread.Select(vthread.OnRecv(ch, func(v int, _ bool) { vthread.Send(done, v) }), vthread.OnRecv(make(chan int), nil))
		}))
	}
	for _, th := range threads {
		waits(t, th)
	}
	sum := 0
	for i := range n {
		ch <- i
	}
	for range n {
		sum += <-done
	}
	if want := n * (n - 1) / 2; sum != want {
		t.Errorf("sum %d, want %d", sum, want)
	}
	for _, th := range threads {
		th.Join()
	}
}

func TestADumpShowsTheChannelThatAThreadWaitsFor(t *testing.T) {
	reader := readFlight(t)
	ch := make(chan int)
	b := vthread.Builder{Scheduler: forkJoin(t, 1)}
	threads := []*vthread.Thread{
		b.Start(func() { vthread.Recv(ch) }),
		b.Start(func() { vthread.Select(vthread.OnRecv(ch, nil)) }),
	}
	var on []flight.Blocker
	for _, th := range threads {
		waits(t, th)
		row := rowOf(t, reader, th)
		if row.State != flight.StateWaiting || row.Reason != flight.ReasonCondition || row.Blocker.Kind() != flight.BlockedByCondition {
			t.Errorf("%v %v on %v, want a condition", row.State, row.Reason, row.Blocker)
		}
		on = append(on, row.Blocker)
	}
	if on[0] != on[1] || on[0].ID() == 0 {
		t.Errorf("they wait on %v, want the same channel", on)
	}
	close(ch)
	for _, th := range threads {
		th.Join()
	}
}

func TestPermitsOutlastAWaitOnAChannel(t *testing.T) {
	byThreads(t, func(t *testing.T, b vthread.Builder) {
		me := vthread.Current()
		ch := make(chan int)
		b.Start(func() { waits(t, me); me.Unpark(); ch <- 1 })
		if v, err := vthread.Recv(ch); v != 1 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
		vthread.Park() // returns at once
	})
}

func TestChannelsWorkInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func() {
			begin := time.Now()
			if _, err := vthread.Recv(time.After(time.Hour)); err != nil {
				t.Error(err)
			}
			ch := make(chan int)
			time.AfterFunc(time.Hour, func() { ch <- 1 })
			i, err := vthread.Select(vthread.OnRecv(ch, nil), vthread.OnRecv(time.After(2*time.Hour), nil))
			if i != 0 || err != nil {
				t.Errorf("got %d, %v", i, err)
			}
			if d := time.Since(begin); d != 2*time.Hour {
				t.Errorf("took %v, want 2h", d)
			}
		}
		in()
		vthread.Start(in).Join()
		th := vthread.Start(func() {
			if _, err := vthread.Recv(make(chan int)); err != vthread.ErrInterrupted {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		th.Interrupt()
		th.Join()
	})
}

func TestRecvAndSendThatNeedNotWaitDoNotAllocate(t *testing.T) {
	byEverybody(t, func(t *testing.T, b vthread.Builder) {
		ch := make(chan int, 1)
		if n := testing.AllocsPerRun(100, func() {
			vthread.Send(ch, 1)
			vthread.Recv(ch)
		}); n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	})
}

func ExampleSelect() {
	work, quit := make(chan string, 1), make(chan struct{})
	work <- "job"
	vthread.Start(func() {
		for {
			i, err := vthread.Select(
				vthread.OnRecv(work, func(job string, _ bool) { fmt.Println(job); close(quit) }),
				vthread.OnRecv(quit, nil))
			if i == 1 || err != nil {
				return
			}
		}
	}).Join()
	// Output: job
}

func BenchmarkChannel(b *testing.B) {
	for _, op := range []string{"ready", "waits"} {
		b.Run("op=recv/"+op, func(b *testing.B) {
			onOneCarrier(b, func(vthread.Builder) {
				ch := make(chan int, 1)
				for b.Loop() {
					if op == "ready" {
						ch <- 1
					} else {
						go func() { ch <- 1 }()
					}
					vthread.Recv(ch)
				}
			})
		})
	}
}
