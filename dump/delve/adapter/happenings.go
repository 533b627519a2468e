package adapter

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump/filter"
)

// A happening is something of a thread's life that the user can stop at, as editors let one choose exceptions. It is a breakpoint in vtscope's runtime.
type happening struct {
	name, label, about string
	function           string
	condition          *condition // which threads; nil: all
}

// happenings are those that can be chosen.
var happenings = []happening{
	{name: "vtscope.start", label: "Thread starts", about: "stop when a thread of vtscope begins", function: "github.com/vtscope/vtscope/runtime/vthread.(*body).Run"},
	{name: "vtscope.end", label: "Thread ends", about: "stop when a thread of vtscope has returned, panicked or called Goexit", function: "github.com/vtscope/vtscope/runtime/vthread.(*body).End"},
	{name: "vtscope.park", label: "Thread parks", about: "stop before a thread of vtscope gives up its carrier", function: "github.com/vtscope/vtscope/runtime/sched.(*Task).Leave"},
	{name: "vtscope.pin", label: "Thread is pinned", about: "stop when a thread of vtscope waits and has to keep its carrier", function: "github.com/vtscope/vtscope/runtime/sched.(*Task).parkInPlace"},
	{name: "vtscope.cancel", label: "Scope is cancelled", about: "stop where a scope is cancelled", function: "github.com/vtscope/vtscope/runtime/structured/internal/flock.(*Flock).Canceled"},
}

// happeningFilters are what an editor shows beside Delve's own panics.
func happeningFilters() (all []dap.ExceptionBreakpointsFilter) {
	for _, h := range happenings {
		all = append(all, dap.ExceptionBreakpointsFilter{
			Filter: h.name, Label: h.label, Description: h.about,
			SupportsCondition: true, ConditionDescription: `which threads: scope="checkout", name~worker`,
		})
	}
	return append(all, dap.ExceptionBreakpointsFilter{
		Filter: findingName, Label: findingLabel, Description: "stop when a check of vtdump findings finds something while the process runs",
		SupportsCondition: true, ConditionDescription: "which checks: deadlock (the default), pinned=100, leak, lock-convoy …",
	})
}

// setExceptionBreakpoints takes what the user wants to stop at, and passes on what is Delve's.
func (a *Adapter) setExceptionBreakpoints(m *message) {
	args := decoded[dap.SetExceptionBreakpointsArguments](m.Arguments)
	var theirs []string
	var chosen []*happening
	var results []dap.Breakpoint
	var checks choice
	choose := func(name, which string) {
		if name == findingName {
			if err := checks.choose(which); err != nil {
				results = append(results, dap.Breakpoint{Message: err.Error()})
				return
			}
			results = append(results, dap.Breakpoint{Verified: true})
			return
		}
		for i := range happenings {
			if happenings[i].name != name {
				continue
			}
			h := happenings[i]
			f, err := filter.Parse(threadIsID.ReplaceAllString(which, "${1}id"))
			if err != nil {
				results = append(results, dap.Breakpoint{Message: err.Error()})
				return
			}
			if which != "" {
				h.condition = &condition{filter: f, text: which, of: map[int64]int{}}
			}
			chosen = append(chosen, &h)
			results = append(results, dap.Breakpoint{Verified: true})
			return
		}
		theirs = append(theirs, name)
		results = append(results, dap.Breakpoint{Verified: true})
	}
	for _, name := range args.Filters {
		choose(name, "")
	}
	for _, o := range args.FilterOptions {
		choose(o.FilterId, o.Condition)
	}
	a.mu.Lock()
	before := len(a.happenings)
	a.happenings = chosen
	if a.unwatch != nil {
		a.unwatch()
		a.unwatch = nil
	}
	if len(checks.names) > 0 {
		ctx, cancel := context.WithCancel(a.ctx)
		a.unwatch = cancel
		a.do(func() { a.watch(ctx, checks) })
	}
	a.mu.Unlock()
	if before+len(chosen) > 0 {
		a.setFunctions(nil)
	}
	if theirs == nil {
		theirs = []string{}
	}
	m.Arguments = without(with(m.Arguments, "filters", theirs), "filterOptions")
	a.forward(m, func(r *message) {
		if r.ok() && len(results) > len(theirs) {
			r.Body = merged(r.Body, dap.SetExceptionBreakpointsResponseBody{Breakpoints: results})
		}
	})
}

// setFunctionBreakpoints sets those of the editor, beside those that happenings are.
func (a *Adapter) setFunctionBreakpoints(m *message) {
	a.mu.Lock()
	a.functions = decoded[struct {
		Breakpoints []json.RawMessage `json:"breakpoints"`
	}](m.Arguments).Breakpoints
	a.mu.Unlock()
	a.setFunctions(m)
}

// setFunctions sets the function breakpoints of the editor and those of happenings. m is the editor's request, nil if it has made none.
func (a *Adapter) setFunctions(m *message) {
	a.mu.Lock()
	functions, chosen := a.functions, a.happenings
	a.mu.Unlock()
	out, conditions, wrong := rewritten(functions)
	for _, h := range chosen {
		out = append(out, encoded(dap.FunctionBreakpoint{Name: h.function}))
	}
	if out == nil {
		out = []json.RawMessage{}
	}
	request := struct {
		Breakpoints []json.RawMessage `json:"breakpoints"`
	}{out}
	take := func(r *message) {
		if !r.ok() {
			return
		}
		set := decoded[dap.SetFunctionBreakpointsResponseBody](r.Body).Breakpoints
		n := min(len(functions), len(set))
		a.mu.Lock()
		clear(a.own)
		for i, b := range set[n:] {
			if b.Verified && i < len(chosen) {
				a.own[b.Id] = chosen[i]
			}
		}
		a.mu.Unlock()
		for i, b := range set[n:] {
			if !b.Verified && i < len(chosen) {
				a.say("%s: %v", chosen[i].label, errors.Join(errNoRuntime, errors.New(b.Message)))
			}
		}
		r.Body = a.note("functions", with(r.Body, "breakpoints", set[:n]), conditions, wrong)
	}
	if m == nil {
		a.ask("setFunctionBreakpoints", request, take)
		return
	}
	m.Arguments = merged(m.Arguments, request)
	a.forward(m, take)
}

// errNoRuntime says why nothing happens.
var errNoRuntime = errors.New("the program has no threads of vtscope")
