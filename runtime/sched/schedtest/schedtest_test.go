package schedtest

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/sched"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestTheSmallestSchedulerPasses(t *testing.T) {
	Run(t, func(*testing.T) sched.Scheduler { return &onGoroutines{} })
}

// A forgetful scheduler loses every tenth task, until it is told to remember.
type forgetful struct {
	mu         sync.Mutex
	n          int
	lost       []*sched.Task
	remembered bool
}

func (f *forgetful) Execute(t *sched.Task) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; f.n%10 == 0 && !f.remembered {
		f.lost = append(f.lost, t)
		return nil
	}
	go t.Run()
	return nil
}

func (f *forgetful) mend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remembered = true
	for _, t := range f.lost {
		go t.Run()
	}
}

// A liar keeps what it says it has refused, and executes it later.
type liar struct {
	mu   sync.Mutex
	kept []*sched.Task
}

func (l *liar) Execute(t *sched.Task) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, t)
	return errors.New("no")
}

func (l *liar) mend() {
	for _, t := range l.kept {
		_ = t.Run()
	}
}

// A torn scheduler has two OS threads, and runs a task on either of them.
type torn struct {
	mu    sync.Mutex
	n     int
	queue [2]chan *sched.Task
	all   map[*sched.Task]bool
	lost  []func() // each runs a task on the other OS thread
	ended sync.WaitGroup
}

func newTorn() *torn {
	s := &torn{all: map[*sched.Task]bool{}}
	for i := range s.queue {
		s.queue[i] = make(chan *sched.Task, 1<<16)
		s.ended.Go(func() {
			runtime.LockOSThread()
			for t := range s.queue[i] {
				if errors.Is(t.Run(), sched.ErrLockedCarrier) {
					s.mu.Lock()
					s.lost = append(s.lost, func() { s.queue[1-i] <- t })
					s.mu.Unlock()
				}
			}
		})
	}
	return s
}

func (s *torn) Execute(t *sched.Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.all[t] = true
	s.queue[s.n%2] <- t
	return nil
}

// mend moves what is on the wrong OS thread to the other until all threads have ended.
func (s *torn) mend() {
	for ended := false; !ended; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		lost := s.lost
		s.lost = nil
		ended = true
		for t := range s.all {
			ended = ended && t.Done()
		}
		s.mu.Unlock()
		for _, f := range lost {
			f()
		}
	}
	for _, q := range s.queue {
		close(q)
	}
	s.ended.Wait()
}

// A recorder notes that a test fails, and lets it end.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(string, ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}
func (r *recorder) Fatal(...any) {
	r.Errorf("")
	runtime.Goexit()
}
func (r *recorder) Fatalf(string, ...any) { r.Fatal() }

func TestBrokenSchedulersFail(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 200 * time.Millisecond
	type broken interface {
		sched.Scheduler
		mend()
	}
	for _, c := range []struct {
		name string
		s    broken
		test Case
	}{
		{"forgetful", &forgetful{}, everyThreadRunsOnce},
		{"forgetful", &forgetful{}, yieldsLetOthersGoOn},
		{"forgetful", &forgetful{}, nothingIsLost},
		{"liar", &liar{}, startAndJoinHandMemoryOver},
		{"torn", newTorn(), yieldsLetOthersGoOn},
	} {
		if c.name == "torn" && !(coro.Binds && coro.CanProbe()) {
			c.s.mend() // every OS thread will do in this build
			continue
		}
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.test(r, c.s)
		}()
		<-done
		if r.mu.Lock(); !r.failed {
			t.Errorf("%s: passes", c.name)
		}
		r.mu.Unlock()
		c.s.mend()
	}
}
