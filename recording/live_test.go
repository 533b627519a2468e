package recording_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// observeLive begins to observe, and returns when the first state was given. What it returns ends that.
func observeLive(t *testing.T, r *flight.Reader, o recording.Observer) (live *recording.Live, end func() error) {
	t.Helper()
	live, err := recording.NewLive(r, recording.LiveOptions{Every: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	begun := &announced{Observer: o, begun: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = recording.Observe(ctx, live, begun)
	}()
	end = func() error { cancel(); <-done; return err }
	t.Cleanup(func() { end() })
	select {
	case <-begun.begun:
	case <-done:
		t.Fatalf("it ended before it began: %v", err)
	}
	return live, end
}

// An announced observer tells when it was given the first state.
type announced struct {
	recording.Observer
	begun chan struct{}
	once  sync.Once
}

func (a *announced) Reset(t *recording.Tracker) {
	a.Observer.Reset(t)
	a.once.Do(func() { close(a.begun) })
}

func TestStateThatIsFollowedLiveIsThatOfTheThreads(t *testing.T) {
	testStates(t, func(t *testing.T, r *flight.Reader) func() (recording.Source, *recording.Tracker, uint64) {
		k := &keeper{}
		live, end := observeLive(t, r, k)
		return func() (recording.Source, *recording.Tracker, uint64) {
			if err := end(); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			return live, k.tracker, k.lost
		}
	})
}

func TestASlowObserverLosesAndIsGivenTheStateAgain(t *testing.T) {
	r := ours(t)
	slow := &slowObserver{held: make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(slow.held) })
	_, end := observeLive(t, r, slow)
	t.Cleanup(goOn) // before it is ended
	more := func() {
		vthread.Start(func() {
			for range 10_000 {
				vthread.Yield()
			}
		}).Join()
	}
	for made := eventsOf(t, r); eventsOf(t, r)-made < recording.MostLive+1<<20; { // what waits for it, what is being given, and what rings hold is far less
		more()
	}
	goOn()
	for deadline := time.Now().Add(2 * time.Minute); slow.resetsAfterLoss() == 0; more() {
		if time.Now().After(deadline) {
			t.Fatalf("no state after a loss; lost %d", slow.count())
		}
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// eventsOf is how many events there were.
func eventsOf(t *testing.T, r *flight.Reader) (n uint64) {
	t.Helper()
	c, err := r.Counts()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range c.Kinds {
		n += of
	}
	return n
}

// A slowObserver takes the first event when held is closed.
type slowObserver struct {
	held chan struct{}

	mu    sync.Mutex
	lost  uint64
	reset int
}

func (s *slowObserver) resetsAfterLoss() int { s.mu.Lock(); defer s.mu.Unlock(); return s.reset }
func (s *slowObserver) count() uint64        { s.mu.Lock(); defer s.mu.Unlock(); return s.lost }

func (s *slowObserver) Reset(*recording.Tracker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost > 0 {
		s.reset++
	}
}

func (s *slowObserver) Event(*recording.Event, recording.Change, *recording.Tracker) {
	<-s.held
}

func (s *slowObserver) Lost(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost += n
}

func (s *slowObserver) Flush(*recording.Tracker) {}
