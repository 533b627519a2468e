package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// counting is a registry of threads that count signals until one of less than 0 comes.
func counting(t testing.TB) *durable.Registry {
	r := durable.NewRegistry()
	register(t, r, "counts", func(th *durable.Thread, _ int) (int, error) {
		for n := 0; ; n++ {
			if durable.Await[int](th, "s") < 0 {
				return n, nil
			}
		}
	})
	return r
}

// noRoom is for keepers that only tell others something.
func noRoom(o *jetstream.Options) { o.Room = -1 }

// awake opens a keeper whose threads do not hibernate: it has them until they leave.
func awake(t testing.TB, url string, r *durable.Registry) *keeper {
	t.Helper()
	s, err := jetstream.Open(within(t), jetstream.Options{URL: url, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	late := &impatience{}
	s.GiveUpForTest(late.get)
	k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s, HibernateAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return &keeper{k, s, late}
}

// Many signal a thread, from here and from elsewhere, while it leaves the stream for its bytes: each signal that was taken is where the thread goes on, and all others were refused.
func TestNoSignalIsLostBetweenAStreamAndAThreadsBytes(t *testing.T) {
	url := server(t).URL()
	r := counting(t)
	k, teller := awake(t, url, r), open(t, url, r, noRoom)
	for i := range 8 {
		id := fmt.Sprint("one-", i)
		th, err := k.Start(id, "counts", 0)
		if err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int32
		var all sync.WaitGroup
		for _, tell := range []func() error{
			func() error { return th.Signal("s", 1) }, func() error { return k.Signal(id, "s", 1) },
			func() error { return teller.Signal(id, "s", 1) }, func() error { return teller.Signal(id, "s", 1) }, func() error { return teller.Signal(id, "s", 1) },
		} {
			all.Go(func() {
				for {
					err := tell()
					switch {
					case err == nil:
						taken.Add(1)
						continue
					case !errors.Is(err, durable.ErrNone) && !errors.Is(err, durable.ErrMoved):
						t.Error(err)
					}
					return
				}
			})
		}
		until(t, "some have come", func() bool { return taken.Load() > 10 })
		b, err := th.ParkAndSerialize()
		if err != nil {
			t.Fatal(err)
		}
		all.Wait()
		there, err := durable.DeserializeAndUnpark(b, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := there.Signal("s", -1); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Result[int](there); got != int(taken.Load()) || err != nil {
			t.Errorf("%d signals arrived, and %d were taken, %v", got, taken.Load(), err)
		}
	}
}

// A signal that is on its way when the thread leaves is not lost in silence: who sends it is told, and nothing of it is left.
func TestWhoseSignalComesTooLateIsTold(t *testing.T) {
	s := server(t)
	r := counting(t)
	k := awake(t, s.URL(), r)
	p := newProxy(t, s.URL())
	teller := open(t, p.url(), r, noRoom)
	on, goOn := make(chan bool, 1), make(chan bool)
	holds := func(said []byte, byServer bool) bool {
		if !byServer && bytes.Contains(said, []byte("HPUB durable.inbox.one")) {
			select {
			case on <- true:
			default: // by another connection
			}
			<-goOn
		}
		return false
	}
	th, err := k.Start("one", "counts", 0)
	if err != nil {
		t.Fatal(err)
	}
	p.loses.Store(&holds)
	late := make(chan error, 1)
	go func() { late <- teller.Signal("one", "s", 1) }()
	<-on
	b, err := th.ParkAndSerialize()
	p.loses.Store(nil)
	close(goOn)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-late; !errors.Is(err, durable.ErrNone) {
		t.Errorf("got %v, want %v", err, durable.ErrNone)
	}
	if err := th.Signal("s", 1); !errors.Is(err, durable.ErrMoved) {
		t.Errorf("to the one that has left: got %v, want %v", err, durable.ErrMoved)
	}
	// It comes back, and has not had the signal.
	if _, err := k.DeserializeAndUnpark(b); err != nil {
		t.Fatal(err)
	}
	if err := teller.Signal("one", "s", -1); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.ResultOf[int](within(t), teller.Keeper, "one"); got != 0 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	told(t, k, teller)
}

// more is closed when the stream has a message more.
func more(t testing.TB, k *keeper) <-chan struct{} {
	ctx := within(t)
	last, err := k.store.LastForTest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{})
	go func() {
		until(t, "a message more", func() bool {
			now, err := k.store.LastForTest(ctx)
			return err == nil && now > last || ctx.Err() != nil
		})
		close(came)
	}()
	return came
}

// sender is a thread that is sent, and then counts.
func sender(t testing.TB, send func([]byte) error) *durable.Registry {
	r := durable.NewRegistry()
	register(t, r, "sender", func(th *durable.Thread, _ int) (int, error) {
		durable.Await[int](th, "before")
		_ = durable.Move(th, "away", send)
		return durable.Await[int](th, "s"), nil
	})
	return r
}

// Who signals a thread of a stream while it is sent waits until it is known who has it.
func TestASignalWaitsForAThreadOfAStreamThatIsSent(t *testing.T) {
	url := server(t).URL()
	teller := open(t, url, durable.NewRegistry(), noRoom)
	for _, arrives := range []bool{false, true} {
		sending, goOn := make(chan bool), make(chan bool)
		var sent []byte
		k := open(t, url, sender(t, func(b []byte) error {
			close(sending)
			<-goOn
			if sent = b; arrives {
				return nil
			}
			return errors.New("refused")
		}))
		id := fmt.Sprint("arrives-", arrives)
		if _, err := k.Start(id, "sender", 0); err != nil {
			t.Fatal(err)
		}
		if err := teller.Signal(id, "before", 1); err != nil {
			t.Fatal(err)
		}
		<-sending
		teller.givesUp(more(t, teller))
		err := teller.Signal(id, "s", 7)
		if !errors.Is(err, durable.ErrUnanswered) || !strings.Contains(err.Error(), "it is not known whether it ") { // is taken, or was, if the answer had not come yet
			t.Errorf("while it is sent: %v", err)
		}
		teller.givesUp(nil)
		told, value := make(chan error, 1), 7
		if arrives {
			value = 9 // the first one may have been taken, and that cannot be known when the thread is gone: of that one the error is ErrUnknown
		}
		go func() { told <- teller.Signal(id, "s", value) }()
		close(goOn)
		if err := <-told; arrives && !errors.Is(err, durable.ErrNone) || !arrives && err != nil {
			t.Errorf("arrives %v: got %v", arrives, err)
		}
		if !arrives {
			if got, err := durable.ResultOf[int](within(t), teller.Keeper, id); got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
			if err := k.Close(); err != nil { // so that the next one is not taken by it
				t.Error(err)
			}
			continue
		}
		there, err := durable.DeserializeAndUnpark(sent, sender(t, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := there.Signal("s", 8); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Result[int](there); got != 8 || err != nil {
			t.Errorf("there: got %d, %v", got, err)
		}
	}
}

// Who has a thread dies while it is sent. What comes for it is given to nobody until another keeper has sent it again, and knows.
func TestASignalWaitsForAThreadWhoseKeeperDiedWhileItWasSent(t *testing.T) {
	url := server(t).URL()
	teller := open(t, url, durable.NewRegistry(), noRoom)
	for _, arrived := range []bool{false, true} {
		id := fmt.Sprint("arrived-", arrived)
		sending, dead := make(chan bool), make(chan bool)
		first := open(t, url, sender(t, func([]byte) error { close(sending); <-dead; return errors.New("it is dead") }))
		if _, err := first.Start(id, "sender", 0); err != nil {
			t.Fatal(err)
		}
		if err := teller.Signal(id, "before", 1); err != nil {
			t.Fatal(err)
		}
		<-sending
		first.store.CutForTest()
		again, goOn := make(chan bool), make(chan bool)
		second := open(t, url, sender(t, func([]byte) error {
			close(again)
			<-goOn
			if arrived {
				return nil
			}
			return errors.New("refused")
		}))
		told := make(chan error, 1)
		go func() { told <- teller.Signal(id, "s", 7) }()
		<-again
		hasty := open(t, url, durable.NewRegistry(), noRoom)
		hasty.givesUp(more(t, hasty))
		if err := hasty.Signal(id, "s", 8); !errors.Is(err, durable.ErrUnanswered) {
			t.Errorf("while it is sent again: %v", err)
		}
		close(goOn)
		if err := <-told; arrived && !errors.Is(err, durable.ErrNone) || !arrived && err != nil {
			t.Errorf("arrived %v: got %v", arrived, err)
		}
		if !arrived {
			if got, err := durable.ResultOf[int](within(t), teller.Keeper, id); got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		}
		close(dead)
		for _, k := range []*keeper{first, second} {
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Who gives up parking a thread of a stream, or closing its keeper, is told what it waits for. The thread that was not parked goes on, and takes what came.
func TestWhoGivesUpHaltingAThreadOfAStreamIsTold(t *testing.T) {
	url := server(t).URL()
	in, goOn := make(chan bool, 2), make(chan bool)
	r := durable.NewRegistry()
	register(t, r, "slow", func(th *durable.Thread, n int) (int, error) {
		v, err := durable.Do(th, "slow", func(durable.Call) (int, error) { in <- true; <-goOn; return n, nil })
		return v + durable.Await[int](th, "s"), err
	})
	k, teller := open(t, url, r), open(t, url, r, noRoom)
	th, err := k.Start("one", "slow", 1)
	if err != nil {
		t.Fatal(err)
	}
	<-in
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, enough)
	defer cancel()
	if _, err := th.ParkAndSerializeContext(ctx); !errors.Is(err, enough) || !strings.Contains(err.Error(), `thread one is in do "slow" since 20`) {
		t.Errorf("park: %v", err)
	}
	if err := teller.Signal("one", "s", 10); err != nil {
		t.Fatal(err)
	}
	err = k.CloseContext(ctx)
	for err != nil && strings.Contains(err.Error(), "thread one waits for its store") { // the signal is being recorded
		err = k.CloseContext(ctx)
	}
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), `thread one is in do "slow" since 20`) {
		t.Errorf("close: %v", err)
	}
	close(goOn)
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	other := open(t, url, r)
	if got, err := durable.ResultOf[int](within(t), other.Keeper, "one"); got != 11 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}
