package ordeal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// ErrAbsent is what errors of a [Fleet] match that are about a work that nobody has started yet.
var ErrAbsent = errors.New("there is no such work yet")

// A Fleet is what works and workers want of the keepers of their store.
type Fleet interface {
	Start(id, body string, args any) error // matches [durable.ErrExists] if there is one
	Signal(id, name string, value any) error
	Unpark(id string) error
	// Result waits for the end of a thread, wherever that comes. The error matches [durable.ErrClosed] when the fleet is closed; others are the thread's.
	Result(id string) (State, error)
	// Close returns when everything has stopped.
	Close() error
}

// Serve is a worker: it opens a fleet, prints "open", and works until the line "close" comes from in; then it closes the fleet, and returns. If in ends without that, so
// has the one who started the process, and it exits at once.
func Serve(name, ledger string, in io.Reader, out io.Writer, open func(*durable.Registry) (Fleet, error)) error {
	b := &bodies{ledger: &client{address: ledger}, worker: fmt.Sprint(name, " ", os.Getpid())}
	defer b.ledger.close()
	r := durable.NewRegistry()
	if err := b.register(r); err != nil {
		return err
	}
	closing := make(chan struct{})
	go func() {
		if line, _ := bufio.NewReader(in).ReadString('\n'); line != "close\n" {
			os.Exit(3)
		}
		close(closing)
	}()
	f, err := open(r)
	if err != nil {
		return err
	}
	b.fleet.Complete(f)
	fmt.Fprintln(out, "open")
	attended := make(chan error, 1)
	go func() { attended <- b.attend() }()
	select {
	case <-closing:
		return errors.Join(f.Close(), <-attended)
	case err := <-attended:
		if err == nil {
			<-closing
		}
		return errors.Join(err, f.Close())
	}
}

// attend starts works that are not started yet, and tells the ledger how all end. It returns nil when they have, or the fleet is closed.
func (b *bodies) attend() error {
	f, _ := b.fleet.Future.Get()
	for {
		a := b.ledger.tell(question{Asks: asksStart}).Args
		if a == nil {
			break
		}
		switch err := f.Start(a.ID(), "work", a); {
		case errors.Is(err, durable.ErrClosed):
			return nil
		case err != nil && !errors.Is(err, durable.ErrExists):
			return fmt.Errorf("start %s: %w", a.ID(), err)
		}
		b.ledger.tell(question{Asks: asksStarted, ID: a.ID()})
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for number := range b.ledger.tell(question{Asks: asksCount}).Number {
		waiting.Go(func() { b.end(f, workID(int(number))) })
	}
	return nil
}

// end tells the ledger how a work ends, if it does before the fleet is closed.
func (b *bodies) end(f Fleet, id string) {
	q := question{Asks: asksEnded, ID: id}
	s, err := f.Result(id)
	if errors.Is(err, durable.ErrClosed) {
		return
	}
	if err == nil {
		q.Result, err = json.Marshal(s)
	}
	if err != nil {
		q.Err = err.Error()
	}
	b.ledger.tell(q)
}

// files are the fleet of one keeper, whose store nobody else has.
type files struct {
	*durable.Keeper
	closed atomic.Bool
}

// Alone makes a fleet of a keeper of the embedded store.
func Alone(k *durable.Keeper) Fleet { return &files{Keeper: k} }

func (f *files) Close() error {
	f.closed.Store(true)
	return f.Keeper.Close()
}

func (f *files) Start(id, body string, args any) error {
	_, err := f.Keeper.Start(id, body, args)
	return err
}

func (f *files) thread(id string) (*durable.Thread, error) {
	if t := f.Thread(id); t != nil {
		return t, nil
	}
	if f.closed.Load() {
		return nil, durable.ErrClosed // nobody starts it any more
	}
	return nil, ErrAbsent
}

func (f *files) Signal(id, name string, value any) error {
	t, err := f.thread(id)
	if err == nil {
		err = t.Signal(name, value)
	}
	return err
}

func (f *files) Unpark(id string) error {
	t, err := f.thread(id)
	if err == nil {
		err = t.Unpark()
	}
	return err
}

func (f *files) Result(id string) (s State, err error) {
	t, err := f.thread(id)
	if err != nil {
		return s, err
	}
	return durable.Result[State](t)
}

// pause sleeps on a thread or a goroutine.
func pause(d time.Duration) { _ = vthread.Sleep(d) }
