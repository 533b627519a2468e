package ordeal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Storm lets things happen to processes at random.
type Storm struct {
	Ledger *Ledger
	Seats  []*Seat // the workers'
	Acts   []Act   // each is done once at least, and the first one first
	Seed   uint64
	For    time.Duration // how long it lasts, or
	Times  int           // how many acts there are
	Pause  time.Duration // between two acts, at most
	Log    func(format string, args ...any)

	Patience time.Duration // how long no work need end after the storm
	random   *rand.Rand
	first    []int // acts to begin with: each is done once
	done     map[string]int
}

// An Act is something that happens.
type Act struct {
	Name   string
	Weight int // how often, in relation to others
	Do     func(s *Storm) error
}

// Run lasts as long as the storm, and then until all works have ended, or none has for too long, or ctx does; all workers have ended then. What went wrong is the error.
func (s *Storm) Run(ctx context.Context) (err error) {
	s.random = rand.New(rand.NewPCG(s.Seed, 3))
	s.done = map[string]int{}
	s.first = []int{0}
	for _, i := range s.random.Perm(len(s.Acts) - 1) {
		s.first = append(s.first, i+1)
	}
	defer func() {
		for _, seat := range s.Seats {
			if err != nil && seat.process != nil {
				seat.process.quit()
				err = fmt.Errorf("%w\n%s says:\n%s", err, seat.Name, seat.process.out)
			}
			seat.Kill()
		}
	}()
	if err := errAll(s.Seats, (*Seat).Begin); err != nil {
		return err
	}
	begun := time.Now()
	for n := 0; time.Since(begun) < s.For || n < s.Times || len(s.first) > 0; n++ {
		if err := s.Wait(ctx, 0, s.Pause); err != nil {
			return err
		}
		act := s.pick()
		at := time.Since(begun)
		if err := act.Do(s); err != nil {
			return fmt.Errorf("%s: %w", act.Name, err)
		}
		s.done[act.Name]++
		s.Log("%6.2fs to %6.2fs: %s; %d works have ended", at.Seconds(), time.Since(begun).Seconds(), act.Name, s.Ledger.Ended())
		if err := s.settle(); err != nil {
			return err
		}
	}
	s.Log("the storm is over: %s; %d works have ended", s.Figures(), s.Ledger.Ended())
	ended, since := s.Ledger.Ended(), time.Now()
	for {
		if n := s.Ledger.Ended(); n > ended {
			ended, since = n, time.Now()
		}
		if time.Since(since) > s.Patience {
			missing := s.Ledger.Missing()
			return fmt.Errorf("no work has ended for %v; %d have not: %.20q", s.Patience, len(missing), missing[:min(len(missing), 20)])
		}
		select {
		case <-s.Ledger.AllEnded():
			s.Log("all works have ended after %v", time.Since(begun).Round(time.Millisecond))
			return errAll(s.Seats, (*Seat).Close)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
			if err := s.settle(); err != nil {
				return err
			}
		}
	}
}

// settle starts workers where none is, and finds those that have ended by themselves, and what is wrong already.
func (s *Storm) settle() error {
	if err := s.Ledger.Complaints(); err != nil {
		return err
	}
	return errAll(s.Seats, func(seat *Seat) error {
		if seat.process != nil {
			if err := seat.process.Check(); err != nil {
				return err
			}
		}
		return seat.Begin()
	})
}

func (s *Storm) pick() (a Act) {
	if len(s.first) > 0 {
		a, s.first = s.Acts[s.first[0]], s.first[1:]
		return a
	}
	all := 0
	for _, a := range s.Acts {
		all += a.Weight
	}
	n := s.random.IntN(all)
	for _, a := range s.Acts {
		if n -= a.Weight; n < 0 {
			return a
		}
	}
	panic("ordeal: no act")
}

// Wait lasts for a random time.
func (s *Storm) Wait(ctx context.Context, least, most time.Duration) error {
	select {
	case <-time.After(least + time.Duration(s.random.Int64N(int64(most-least)+1))):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Some returns n random seats.
func (s *Storm) Some(n int) (some []*Seat) {
	for _, i := range s.random.Perm(len(s.Seats))[:n] {
		some = append(some, s.Seats[i])
	}
	return some
}

// Done returns how often an act was done.
func (s *Storm) Done(act string) int { return s.done[act] }

// Figures tells how often each act was done.
func (s *Storm) Figures() string {
	var all []string
	for name, n := range s.done {
		all = append(all, fmt.Sprintf("%d × %s", n, name))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// KillSome kills n workers at a time; new ones come after a while.
func KillSome(n int, weight int, vacant time.Duration) Act {
	return Act{fmt.Sprintf("kill %d", n), weight, func(s *Storm) error {
		for _, seat := range s.Some(n) {
			seat.Kill()
		}
		return s.Wait(context.Background(), 0, vacant)
	}}
}

// KillCaller kills a worker within a call: the effect was had, and is not recorded. So a storm that begins with it has a call that is repeated by another process, however
// fast or slow the machine is.
func KillCaller(weight int, vacant time.Duration) Act {
	return Act{"kill within a call", weight, func(s *Storm) error {
		caller, release := s.Ledger.Catch()
		defer release()
		first, patience := s.Done("kill within a call") == 0, s.Patience
		if !first { // the last works sleep for long
			patience /= 4
		}
		select {
		case who := <-caller:
			for _, seat := range s.Seats {
				if strings.HasPrefix(who, seat.Name+" ") {
					seat.Kill()
				}
			}
		case <-s.Ledger.AllEnded():
			return nil
		case <-time.After(patience):
			if first {
				return fmt.Errorf("nobody has called for %v", patience)
			}
		}
		return s.Wait(context.Background(), 0, vacant)
	}}
}

// CloseOne ends a worker in good order; a new one comes after a while.
func CloseOne(weight int, vacant time.Duration) Act {
	return Act{"close", weight, func(s *Storm) error {
		return errors.Join(s.Some(1)[0].Close(), s.Wait(context.Background(), 0, vacant))
	}}
}
