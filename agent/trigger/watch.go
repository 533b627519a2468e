package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say what [Watch] looks for.
type Options struct {
	Rules    []Rule        // at least one
	Interval time.Duration // between two looks; longer where a look takes more than a tenth of it. Default: 1 second, at least 50 ms
	// Fire is called with the rules that come true at a look and were not true at the look before.
	Fire func([]Firing)
	// Warn is told what cannot be seen, once for each thing. Default: nobody.
	Warn func(string)
}

// A Firing is a rule that has come true.
type Firing struct {
	Rule     Rule
	At       time.Time
	What     string // a sentence without a full stop
	Evidence []string
}

// A condition is a rule with what it has seen.
type condition struct {
	rule  Rule
	info  *RuleInfo
	since time.Time // it has been true since; zero: it is not
	fired bool      // it has been told

	counts []counted                                  // of doubled
	looks  []*dump.Look                               // of those that are true by a check
	told   map[flight.SchedulerID]flight.SchedulerRow // of queueDelay: what schedulers told last
	delays map[flight.SchedulerID]string              // of queueDelay: of those whose last delays were too long
}

type counted struct {
	at time.Time
	n  int
}

const (
	lookShare = 10 // a look is followed by the next after so many times as long as it took
	minEvery  = 50 * time.Millisecond
)

// Watch looks at a process until it is gone, then once more, and returns nil; or until ctx ends, and returns its error. Fire may take its time: it is then
// later that the next look is taken.
func Watch(ctx context.Context, r *flight.Reader, o Options) error {
	conditions, k, err := o.prepare(r)
	if err != nil {
		return err
	}
	warned := map[string]bool{}
	warn := func(format string, args ...any) {
		what := fmt.Sprintf(format, args...)
		if o.Warn != nil && !warned[what] && len(warned) < 100 {
			warned[what] = true
			o.Warn(what)
		}
	}
	for {
		began := time.Now()
		l, err := k.take(ctx, began)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("trigger: %w", err)
		}
		if l.lost > 0 {
			warn("some events were overwritten before they were looked at: rules about pins, monopolies and events may have missed some")
		}
		took := time.Since(began)
		var fired []Firing
		for _, c := range conditions {
			if f, ok := c.judge(l); ok {
				fired = append(fired, f)
			}
		}
		if len(fired) > 0 {
			o.Fire(fired)
		}
		if l.gone {
			return nil
		}
		pause := max(o.Interval-time.Since(began), lookShare*took-took)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *Options) prepare(r *flight.Reader) ([]*condition, *looker, error) {
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	switch {
	case len(o.Rules) == 0:
		return nil, nil, errors.New("trigger: no rules")
	case o.Interval < minEvery:
		return nil, nil, fmt.Errorf("trigger: interval %v: want at least %v", o.Interval, minEvery)
	case o.Fire == nil:
		return nil, nil, errors.New("trigger: nobody to tell")
	}
	k := &looker{reader: r, rings: map[int]ringSeen{}}
	var all []*condition
	for _, rule := range o.Rules {
		info := infoOf(rule.Name)
		if info == nil {
			return nil, nil, fmt.Errorf("trigger: no rule %q", rule.Name)
		}
		all = append(all, &condition{rule: rule, info: info, told: map[flight.SchedulerID]flight.SchedulerRow{}, delays: map[flight.SchedulerID]string{}})
		k.needs |= info.needs
		switch {
		case info.of != "":
			k.checks = append(k.checks, info.of)
		case rule.Name == "finding":
			k.checks = append(k.checks, rule.Of)
		}
		switch rule.Name {
		case "pin":
			k.kinds = append(k.kinds, flight.EventPinned)
		case "event", "signal":
			k.kinds = append(k.kinds, flight.EventMark, flight.EventSpanEnd)
		}
	}
	return all, k, nil
}

// judge reports whether the rule comes true with this look.
func (c *condition) judge(l *look) (Firing, bool) {
	if l.gone && c.info.needs&needEnd == 0 && l.process.Status == flight.StatusEnded {
		return Firing{}, false // what ends is in nobody's way
	}
	v, is := c.info.check(c, l)
	if !is {
		c.since, c.fired = time.Time{}, false
		return Firing{}, false
	}
	if c.since.IsZero() {
		c.since = l.at
	}
	if c.fired || l.at.Sub(c.since) < c.rule.For {
		return Firing{}, false
	}
	c.fired = true
	if c.rule.For > 0 {
		v.what += fmt.Sprintf("; this has been so for %s", dump.Span(l.at.Sub(c.since)))
	}
	return Firing{Rule: c.rule, At: l.at, What: v.what, Evidence: v.evidence}, true
}
