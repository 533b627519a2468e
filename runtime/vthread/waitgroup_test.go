package vthread_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestAWaitGroupWaitsForItsThreads(t *testing.T) {
	var g vthread.WaitGroup
	var n atomic.Int32
	out := make(chan struct{})
	for range 20 {
		g.Go(func() {
			vthread.Recv(out)
			n.Add(1)
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := g.WaitContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitContext returns %v while threads run, want the end of the context", err)
	}
	close(out)
	g.Wait()
	if n.Load() != 20 {
		t.Errorf("Wait returns when %d of 20 threads have ended", n.Load())
	}
	g.Add(1) // it may be used again
	vthread.Start(g.Done)
	vthread.Start(g.Wait).Join()
	if err := g.WaitContext(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestChannelsAreGivenUpWithAContext(t *testing.T) {
	why := errors.New("enough")
	call := func(name string, f func(ctx context.Context, values chan int) error) {
		for _, kind := range []string{"thread", "goroutine"} {
			run := func(f func()) {
				if kind == "thread" {
					vthread.Start(f).Join()
				} else {
					f()
				}
			}
			t.Run(name+" on a "+kind, func(t *testing.T) {
				ended, cancel := context.WithCancelCause(t.Context())
				cancel(why)
				run(func() {
					full := make(chan int, 1)
					if err := f(ended, full); err != why || len(full) != 0 {
						t.Errorf("in a context that has ended: %v, and %d values are in the channel", err, len(full))
					}
				})
				ending, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Millisecond, func() { cancel(why) })
				run(func() {
					if err := f(ending, make(chan int)); err != why {
						t.Errorf("in a context that ends: %v, want its cause", err)
					}
				})
				run(func() {
					values := make(chan int, 1)
					if name != "send" {
						time.AfterFunc(5*time.Millisecond, func() { values <- 1 })
					}
					if err := f(t.Context(), values); err != nil {
						t.Errorf("in a context that goes on: %v", err)
					}
				})
			})
		}
	}
	call("receive", func(ctx context.Context, values chan int) error {
		_, err := vthread.RecvContext(ctx, values)
		return err
	})
	call("send", func(ctx context.Context, values chan int) error { return vthread.SendContext(ctx, values, 1) })
	call("select", func(ctx context.Context, values chan int) error {
		i, err := vthread.SelectContext(ctx, vthread.OnRecv(values, nil), vthread.OnRecv(make(chan int), nil))
		if (i == 0) != (err == nil) || err != nil && i != -1 {
			t.Errorf("select returns %d with %v", i, err)
		}
		return err
	})
}

// What was received when the context ended is not lost.
func TestAValueIsNotLostToTheEndOfAContext(t *testing.T) {
	for range 2000 {
		values, ctx := make(chan int), context.Background()
		ctx, cancel := context.WithCancel(ctx)
		sent := make(chan bool, 1)
		go func() {
			select {
			case values <- 1:
				sent <- true
			case <-time.After(time.Second):
				sent <- false
			}
		}()
		var got bool
		th := vthread.Start(func() {
			_, err := vthread.RecvContext(ctx, values)
			got = err == nil
		})
		cancel()
		th.Join()
		if !got {
			select {
			case <-values: // the sender waits still
				<-sent
			case <-sent:
				t.Fatal("a value was sent, and nobody has it")
			}
		}
	}
}
