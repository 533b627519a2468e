package vfile

import (
	"os"
	"os/signal"
	"sync"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// Signals are waited for in a call, one after the other.
type Signals struct {
	ch   chan os.Signal
	once sync.Once
}

// Notify begins to take the signals, or all that there are if none is named, as [signal.Notify]: so the process does not end by them. Those that come while nobody waits
// are kept, up to 16.
func Notify(sig ...os.Signal) *Signals {
	s := &Signals{ch: make(chan os.Signal, 16)}
	signal.Notify(s.ch, sig...)
	return s
}

// Wait returns the next signal. A thread parks until there is one. After Close it returns [os.ErrClosed]. If the thread is interrupted, or was before, it clears the
// interrupt status and returns [vthread.ErrInterrupted].
func (s *Signals) Wait() (os.Signal, error) {
	sig, err := vthread.Recv(s.ch)
	if err == vthread.ErrClosed {
		err = os.ErrClosed
	}
	return sig, err
}

// Close gives the signals back to whom they were before, and ends who waits.
func (s *Signals) Close() error {
	s.once.Do(func() {
		signal.Stop(s.ch) // nothing is sent after it has returned
		close(s.ch)
	})
	return nil
}

// WaitSignal waits for one of the signals, and gives them back.
func WaitSignal(sig ...os.Signal) (os.Signal, error) {
	s := Notify(sig...)
	defer s.Close()
	return s.Wait()
}
