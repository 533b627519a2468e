package adapter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// findingName is the exception that is a finding. It is no breakpoint: the process is looked at while it runs.
const findingName = "vtscope.finding"

// findingLabel is what editors show.
const findingLabel = "Finding"

// usualCheck is that of findings if the user names none.
const usualCheck = "deadlock"

// A choice is what checks are made, and how.
type choice struct {
	names   []string
	options dump.CheckOptions
}

// choose adds what a condition says: names of checks, with a threshold if the usual one will not do, such as pinned=100.
func (c *choice) choose(text string) error {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		words = []string{usualCheck}
	}
	for _, word := range words {
		name, _, threshold := strings.Cut(word, "=")
		if !slices.Contains(dump.CheckNames(), name) {
			return fmt.Errorf("%q is no check of vtdump findings: %s", name, strings.Join(dump.CheckNames(), ", "))
		}
		if threshold {
			if err := c.options.Set(word); err != nil {
				return err
			}
		}
		c.names = append(c.names, name)
	}
	return nil
}

const (
	// watchEvery is how often the process is looked at, and
	watchEvery = time.Second
	// watchShare how much longer the pause between looks is than a look takes, at least.
	watchShare = 20
)

// watch looks at the process while it runs, and stops it when a check has found something that it has not found before. It ends with ctx.
func (a *Adapter) watch(ctx context.Context, checks choice) {
	told := map[string]bool{}
	var before [2]*dump.Look // of threads, and of goroutines
	for wait := watchEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if !a.running() {
			before = [2]*dump.Look{} // what was found in between is of two looks of a process that ran
			continue
		}
		began := time.Now()
		found := a.process.findings(ctx, checks, &before)
		wait = max(watchEvery, watchShare*time.Since(began))
		for i := range found {
			f := &found[i]
			if told[f.Key] || !a.running() {
				continue
			}
			told[f.Key] = true
			a.mu.Lock()
			a.found = f
			a.mu.Unlock()
			a.halt(message{Type: "request", Command: "pause", Arguments: encoded(dap.PauseArguments{ThreadId: 1})}, func(*message) {})
			break
		}
	}
}

// findings returns what checks find in a process that runs.
func (p *process) findings(ctx context.Context, checks choice, before *[2]*dump.Look) (all []dump.Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open() != nil {
		return nil // it has not begun
	}
	o := checks.options
	o.Off = slices.DeleteFunc(slices.Clone(dump.CheckNames()), func(name string) bool { return slices.Contains(checks.names, name) })
	sources := []dump.Source{nil, p.all}
	if p.threads != nil {
		sources[0] = p.threads
	}
	for i, src := range sources {
		if src == nil {
			continue
		}
		now, err := dump.LookOptions{For: checks.names}.Take(ctx, src)
		if err != nil {
			continue
		}
		f, err := dump.Check(now, before[i], o)
		before[i] = now
		if err == nil {
			all = append(all, f.Findings...)
		}
	}
	return all
}

// atFinding makes a stop that the adapter has asked for one of what was found.
func (a *Adapter) atFinding(s *stop, l *looking, body *dap.StoppedEventBody) bool {
	a.mu.Lock()
	f := a.found
	a.found = nil
	a.mu.Unlock()
	if f == nil || body.Reason != "pause" {
		return false
	}
	body.Reason, body.Description, body.Text = "exception", findingLabel+": "+f.Check, f.What
	v := l.wait(s.ctx, patienceAtPause)
	if v == nil {
		return true
	}
	for _, e := range f.Examples {
		if g := v.goroutines[flight.ThreadID(e.Thread)]; g != 0 {
			s.goroutine, body.ThreadId = g, int(g)
			a.look(s, true)
			break
		}
	}
	return true
}
