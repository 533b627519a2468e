package ordeal

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A State is what a work has learned, and its result.
type State struct {
	Round  int
	Sum    int64 // of the answers
	Chain  uint64
	Seen   []Seen
	Wrote  []Letter `json:",omitempty"`
	Read   []Letter `json:",omitempty"`
	Unkept []string `json:",omitempty"` // keys of the calls that were interrupted
}

// Seen is an answer of the ledger as it was recorded; a refusal's is negative.
type Seen struct {
	Thread, Step, Key string
	Answer            int64
}

// A Letter is what one of a pair has told the other.
type Letter struct {
	Name  string
	Chain uint64
}

// learn adds to the chain.
func (s *State) learn(what ...any) {
	h := fnv.New64a()
	fmt.Fprintln(h, append(what, s.Chain)...)
	s.Chain = h.Sum64()
}

// bodies are the works' functions, and what they reach outside.
type bodies struct {
	fleet  vthread.Promise[Fleet] // threads of the store go on before it is open
	ledger *client
	worker string
}

func (b *bodies) register(r *durable.Registry) error {
	return errors.Join(durable.Register(r, "work", b.work), durable.Register(r, "child", b.child))
}

var progress = durable.Checkpoint[State]{Name: "progress", Version: 1}

func (b *bodies) work(t *durable.Thread, a Args) (s State, err error) {
	if a.Long {
		s, _ = progress.Restore(t)
	}
	for plan := a.plan(); s.Round < len(plan); {
		r := plan[s.Round]
		if err := moves[r.move](b, t, a, r, &s); err != nil {
			return s, fmt.Errorf("round %s: %w", r.name, err)
		}
		s.Round++
		if a.Long && s.Round%5 == 0 {
			progress.Save(t, s)
		}
	}
	b.ledger.tell(question{Asks: asksReturns, Effect: Effect{Thread: t.ID(), Chain: s.Chain, Worker: b.worker}})
	return s, nil
}

// moves are what works do in a round.
var moves = map[string]func(b *bodies, t *durable.Thread, a Args, r round, s *State) error{
	"by key": func(b *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		return b.call(t, r.name, ByKey, s)
	},
	"at least once": func(b *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		return b.call(t, r.name, AtLeastOnce, s)
	},
	"at most once": func(b *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		return b.call(t, r.name, AtMostOnce, s)
	},
	"sleep": func(_ *bodies, t *durable.Thread, _ Args, r round, _ *State) error {
		durable.Sleep(t, r.name, r.pace)
		return nil
	},
	"time": func(_ *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		s.learn(durable.Now(t).UnixNano())
		return nil
	},
	"random": func(_ *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		s.learn(durable.Random(t), durable.NewID(t))
		return nil
	},
	"wait in vain": func(_ *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		if _, came := durable.AwaitFor[uint64](t, r.name, r.pace/2); came {
			return errors.New("a signal that nobody sends")
		}
		s.learn(r.name)
		return nil
	},
	"children": func(b *bodies, t *durable.Thread, _ Args, r round, s *State) error {
		var children []durable.Child
		for range r.n {
			c, err := durable.Fork(t, "child", childArgs{r.name, r.pace / 2})
			if err != nil {
				return err
			}
			children = append(children, c)
		}
		for _, c := range children {
			of, err := durable.Join[State](t, c)
			if err != nil {
				return err
			}
			s.learn(of.Chain)
			s.Sum += of.Sum
			s.Seen = append(s.Seen, of.Seen...)
			s.Unkept = append(s.Unkept, of.Unkept...)
		}
		return nil
	},
	// Those of even number write first; who has read answers.
	"letter": func(b *bodies, t *durable.Thread, a Args, r round, s *State) error {
		there, back := fmt.Sprint("letter ", r.n), fmt.Sprint("answer ", r.n)
		if a.Number%2 == 0 {
			if err := b.write(t, a, there, s); err != nil {
				return err
			}
			return b.read(t, back, s)
		}
		if err := b.readWithin(t, there, r.pace, s); err != nil {
			return err
		}
		return b.write(t, a, back, s)
	},
	// Those of even number park; who has unparked them waits for a letter, since two permits are one.
	"hand-over": func(b *bodies, t *durable.Thread, a Args, r round, s *State) error {
		done := fmt.Sprint("handed over ", r.n)
		if a.Number%2 == 0 {
			durable.Park(t, r.name)
			return b.write(t, a, done, s)
		}
		partner := a.partner()
		if _, err := durable.Do(t, r.name, func(durable.Call) (bool, error) {
			return true, b.reach(func(f Fleet) error { return f.Unpark(partner) })
		}); err != nil {
			return err
		}
		return b.read(t, done, s)
	},
}

// call asks the ledger.
func (b *bodies) call(t *durable.Thread, step string, p Policy, s *State) error {
	e := Effect{Thread: t.ID(), Step: step, Policy: p, Chain: s.Chain, Worker: b.worker}
	key := ""
	policy := map[Policy]durable.Policy{ByKey: durable.ByKey, AtLeastOnce: durable.AtLeastOnce, AtMostOnce: durable.AtMostOnce}[p]
	type answer struct {
		Key    string
		Answer int64
	}
	v, err := durable.Do(t, step, func(c durable.Call) (answer, error) {
		e := e
		e.Key = c.Key
		n := b.ledger.effect(e)
		if n < 0 {
			return answer{}, fmt.Errorf("%s%s %d", refused, c.Key, n)
		}
		return answer{c.Key, n}, nil
	}, policy)
	switch {
	case errors.Is(err, durable.ErrInterruptedCall) && p == AtMostOnce:
		s.Unkept = append(s.Unkept, e.Thread+" "+step)
		s.learn(step, "interrupted")
		return nil
	case err != nil:
		text, is := strings.CutPrefix(err.Error(), refused)
		if !is {
			return err
		}
		if _, err := fmt.Sscan(text, &key, &v.Answer); err != nil {
			return err
		}
		v.Key = key
	}
	s.Seen = append(s.Seen, Seen{e.Thread, step, v.Key, v.Answer})
	s.Sum += v.Answer
	s.learn(step, v.Answer)
	return nil
}

// refused is what the errors of calls begin with that the ledger refuses.
const refused = "refused: "

// write tells the partner what has been learned so far.
func (b *bodies) write(t *durable.Thread, a Args, name string, s *State) error {
	l := Letter{name, s.Chain}
	partner := a.partner()
	_, err := durable.Do(t, "write "+name, func(durable.Call) (bool, error) {
		return true, b.reach(func(f Fleet) error { return f.Signal(partner, name, l.Chain) })
	})
	s.Wrote = append(s.Wrote, l)
	s.learn(name)
	return err
}

// reach tries until the other is there. One that has ended has got what it waited for: this is not the first attempt.
func (b *bodies) reach(do func(f Fleet) error) error {
	f, err := b.fleet.Future.Get()
	if err != nil {
		return err
	}
	for {
		err := do(f)
		switch {
		case err == nil, errors.Is(err, durable.ErrDone):
			return nil
		case !errors.Is(err, ErrAbsent):
			return err
		}
		pause(20 * time.Millisecond)
	}
}

func (b *bodies) read(t *durable.Thread, name string, s *State) error {
	l := Letter{name, durable.Await[uint64](t, name)}
	s.Read = append(s.Read, l)
	s.learn(l)
	return nil
}

// readWithin gives up some times before it is read.
func (b *bodies) readWithin(t *durable.Thread, name string, d time.Duration, s *State) error {
	for range 2 {
		if chain, came := durable.AwaitFor[uint64](t, name, d/4); came {
			l := Letter{name, chain}
			s.Read = append(s.Read, l)
			s.learn(l)
			return nil
		}
		s.learn("not yet")
	}
	return b.read(t, name, s)
}

type childArgs struct {
	Round string
	Pace  time.Duration
}

// childCalls is how many calls a child makes.
const childCalls = 2

func (b *bodies) child(t *durable.Thread, a childArgs) (s State, err error) {
	if err := b.call(t, "first", ByKey, &s); err != nil {
		return s, err
	}
	durable.Sleep(t, a.Round, a.Pace)
	s.learn(durable.Random(t))
	return s, b.call(t, "second", AtLeastOnce, &s)
}
