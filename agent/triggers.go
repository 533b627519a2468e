package agent

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight"
)

// guardProcess watches a process that lives for the rules of the options, if there are any, in a goroutine of its own.
func (a *Agent) guardProcess(path string, open func() (*flight.Reader, error), p flight.Process) {
	if len(a.options.Rules) == 0 || !p.Status.Live() {
		return
	}
	r, err := open()
	if err != nil {
		if !errors.Is(err, flight.ErrNoProcess) { // it has just ended
			a.warnOnce(err.Error())
		}
		return
	}
	watch := func() {
		defer r.Close()
		err := trigger.Watch(a.ctx, r, trigger.Options{Rules: a.options.Rules, Warn: a.warnOnce, Fire: func(fired []trigger.Firing) { a.fire(path, r, fired) }})
		if err != nil && a.ctx.Err() == nil {
			a.warnOnce(fmt.Sprintf("pid %d is not watched any more: %v", p.PID, err))
		}
	}
	if !a.goWhileOpen(watch) {
		r.Close()
	}
}

// fire takes a bundle for rules that came true.
func (a *Agent) fire(path string, r *flight.Reader, fired []trigger.Firing) {
	var all []string
	for _, f := range fired {
		all = append(all, fmt.Sprintf("%s: %s", f.Rule, f.What))
	}
	what := fmt.Sprintf("pid %d: %s", r.Process().PID, strings.Join(all, "; "))
	a.flag(path, Flag{Time: time.Now().UnixMilli(), Kind: FlagIncident, Severity: string(dump.SeverityError), What: strings.Join(all, "; ")})
	bundle, err := a.options.Incidents.Fire(a.ctx, r, fired)
	if a.options.Fired != nil {
		a.options.Fired(r.Process(), fired, bundle)
	}
	switch {
	case a.ctx.Err() != nil:
	case err != nil:
		a.options.Warn(what + "; no bundle: " + err.Error())
	default:
		a.options.Warn(what + "; vtdump open " + bundle)
	}
}

// flag marks something in the time line of a process.
func (a *Agent) flag(path string, x Flag) {
	a.mu.Lock()
	f := a.mu.followers[path]
	a.mu.Unlock()
	if f != nil {
		f.flags.add(x)
	}
}

// A BundleRow tells of a bundle that was taken.
type BundleRow struct {
	ID   string `json:"id"`
	Path string `json:"path"` // on the agent's machine
}

// serveIncident takes a bundle of a process, one at a time.
func (a *Agent) serveIncident(w http.ResponseWriter, q *http.Request, _ *ask) error {
	if a.options.Incidents == nil {
		return refusal{http.StatusNotFound, "vtserve keeps no incidents", "vtserve --incidents DIR"}
	}
	f, err := a.named(q)
	if err != nil {
		return err
	}
	select {
	case a.bundles <- struct{}{}:
		defer func() { <-a.bundles }()
	default:
		return refusal{http.StatusTooManyRequests, "a bundle is being taken", "again in a few seconds"}
	}
	r, err := f.flightReader()
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, end := a.during(q)
	defer end()
	path, err := a.options.Incidents.Take(ctx, r, incident.Cause{What: "asked for over HTTP"})
	if err != nil {
		return refusal{http.StatusInternalServerError, err.Error(), "another directory, or a larger budget"}
	}
	f.flags.add(Flag{Time: time.Now().UnixMilli(), Kind: FlagIncident, Severity: string(dump.SeverityInfo), What: "a bundle was asked for: " + incident.IDOf(path)})
	answer(w, http.StatusCreated, BundleRow{incident.IDOf(path), path})
	return nil
}
