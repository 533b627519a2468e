package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A condition is what a breakpoint has that Delve cannot judge: which threads it is for.
type condition struct {
	filter *filter.Filter
	text   string
	log    string           // a message for the console instead of a stop; "" stops
	hits   func(n int) bool // whether the n-th hit of a thread counts; nil: all do
	line   int              // of its file
	of     map[int64]int    // hits so far, by goroutine
}

// A breakpointRequest is a breakpoint as the editor asks for it.
type breakpointRequest struct {
	Condition    string `json:"condition,omitempty"`
	HitCondition string `json:"hitCondition,omitempty"`
	LogMessage   string `json:"logMessage,omitempty"`
}

// split takes the part of a condition that says which threads: a filter, and what follows its semicolon is Delve's. What Go can parse is Delve's alone.
func split(text string) (of *filter.Filter, rest string, err error) {
	text = strings.TrimSpace(text)
	asked, forced := strings.CutPrefix(text, "vt ")
	if _, err := parser.ParseExpr(text); text == "" || err == nil && !forced {
		return nil, text, nil
	}
	which, rest, _ := strings.Cut(asked, ";")
	f, err := filter.Parse(threadIsID.ReplaceAllString(which, "${1}id"))
	if err != nil {
		return nil, "", fmt.Errorf("neither an expression of Go nor a filter of threads: %w", err)
	}
	return f, strings.TrimSpace(rest), nil
}

// threadIsID finds where a condition asks for a thread by its number, which filters call its id.
var threadIsID = regexp.MustCompile(`(^|[\s(!-])thread\b`)

// hitCounts reads when hits count, as Delve does: "3" or "==3" is the third; there are ">3", ">=3", "<3", "<=3", "!=3" and "%3", each third, too.
func hitCounts(text string) (func(n int) bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	digits := strings.TrimLeft(text, "<>=!% ")
	operator := strings.TrimSpace(text[:len(text)-len(digits)])
	k, err := strconv.Atoi(digits)
	if err != nil {
		return nil, fmt.Errorf("hit count %q is no number after an operator", text)
	}
	switch operator {
	case "", "==":
		return func(n int) bool { return n == k }, nil
	case ">":
		return func(n int) bool { return n > k }, nil
	case ">=":
		return func(n int) bool { return n >= k }, nil
	case "<":
		return func(n int) bool { return n < k }, nil
	case "<=":
		return func(n int) bool { return n <= k }, nil
	case "!=":
		return func(n int) bool { return n != k }, nil
	case "%":
		if k > 0 {
			return func(n int) bool { return n%k == 0 }, nil
		}
	}
	return nil, fmt.Errorf("hit count %q has an operator that is not known", text)
}

// take takes out of a breakpoint what the adapter judges itself. It returns nil if Delve judges it all.
func (b *breakpointRequest) take() (*condition, error) {
	f, rest, err := split(b.Condition)
	if f == nil || err != nil {
		return nil, err
	}
	c := &condition{filter: f, text: b.Condition, log: b.LogMessage, of: map[int64]int{}}
	if c.hits, err = hitCounts(b.HitCondition); err != nil {
		return nil, err
	}
	b.Condition, b.HitCondition, b.LogMessage = rest, "", ""
	return c, nil
}

// rewritten returns breakpoints as Delve gets them, and what each has that Delve does not get, or why it is wrong.
func rewritten(all []json.RawMessage) (out []json.RawMessage, conditions []*condition, wrong []error) {
	for _, raw := range all {
		b := decoded[breakpointRequest](raw)
		c, err := b.take()
		if c != nil {
			raw = without(raw, "condition", "hitCondition", "logMessage")
			if b.Condition != "" {
				raw = with(raw, "condition", b.Condition)
			}
		}
		out, conditions, wrong = append(out, raw), append(conditions, c), append(wrong, err)
	}
	return out, conditions, wrong
}

// setBreakpoints sets the breakpoints of a file.
func (a *Adapter) setBreakpoints(m *message) {
	args := decoded[struct {
		Source      dap.Source        `json:"source"`
		Breakpoints []json.RawMessage `json:"breakpoints"`
	}](m.Arguments)
	out, conditions, wrong := rewritten(args.Breakpoints)
	if out != nil {
		m.Arguments = with(m.Arguments, "breakpoints", out)
	}
	a.forward(m, func(r *message) {
		if r.ok() {
			r.Body = a.note("file "+args.Source.Path, r.Body, conditions, wrong)
		}
	})
}

// note keeps the conditions of breakpoints by the numbers that Delve has given them, instead of those that were set together before. It returns the body
// for the editor, with what is wrong.
func (a *Adapter) note(of string, body json.RawMessage, conditions []*condition, wrong []error) json.RawMessage {
	set := decoded[dap.SetBreakpointsResponseBody](body).Breakpoints
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.ofSource[of] {
		delete(a.breakpoints, id)
	}
	a.ofSource[of] = nil
	changed := false
	for i := range set {
		if i >= len(conditions) {
			break
		}
		if c := conditions[i]; c != nil && set[i].Verified {
			c.line = set[i].Line
			a.breakpoints[set[i].Id] = c
			a.ofSource[of] = append(a.ofSource[of], set[i].Id)
		}
		if wrong[i] != nil {
			set[i].Verified, set[i].Message, changed = false, wrong[i].Error(), true
		}
	}
	if !changed {
		return body
	}
	return with(body, "breakpoints", set)
}

// judge says whether the process is to stay stopped at a breakpoint, and the goroutine that the stop is of if it is not the one that Delve tells. Several OS
// threads can be at breakpoints at a time, of which Delve tells one.
func (a *Adapter) judge(body *dap.StoppedEventBody) (goroutine int64, met bool) {
	a.mu.Lock()
	ours := len(a.breakpoints) > 0 || len(a.own) > 0
	a.mu.Unlock()
	if !ours || len(body.HitBreakpointIds) == 0 {
		return 0, true
	}
	id := body.HitBreakpointIds[0]
	a.mu.Lock()
	c, h := a.breakpoints[id], a.own[id]
	a.mu.Unlock()
	if h != nil {
		body.Reason, body.Description, body.Text = "exception", h.label, h.label
		body.HitBreakpointIds = nil
		c = h.condition
	}
	if c == nil {
		return 0, true
	}
	told := int64(body.ThreadId)
	at, all, err := a.atBreakpoints(told)
	if err != nil {
		return 0, true // who cannot be told apart is shown
	}
	for _, g := range all {
		switch {
		case g.pc != at && g.pc != 0:
			if b := a.breakpointAt(g.goroutine); b == nil {
				return g.goroutine, true // another breakpoint, of which Delve tells nothing
			} else if a.meets(b, g.goroutine) {
				return g.goroutine, true
			}
		case a.meets(c, g.goroutine):
			return g.goroutine, true
		}
	}
	return 0, false
}

// meets reports whether a goroutine meets a condition, and the stop is to be shown: what is logged is not.
func (a *Adapter) meets(c *condition, goroutine int64) bool {
	if c.filter != nil {
		match, err := a.process.matches(a.ctx, c.filter, goroutine)
		if err != nil {
			a.say("breakpoint %q: %v", c.text, err)
			return true
		}
		if !match {
			return false
		}
	}
	a.mu.Lock()
	c.of[goroutine]++
	n := c.of[goroutine]
	a.mu.Unlock()
	if c.hits != nil && !c.hits(n) {
		return false
	}
	if c.log != "" {
		a.log(c.log, goroutine)
		return false
	}
	return true
}

// matches reports whether a goroutine, or the thread that runs on it, matches a filter.
func (p *process) matches(ctx context.Context, f *filter.Filter, goroutine int64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return false, err
	}
	if p.threads != nil {
		v := &view{ids: map[int64]flight.ThreadID{}, stacks: map[flight.ThreadID]flight.StackID{}, goroutines: map[flight.ThreadID]int64{}, seen: p.all.Seen}
		r := p.threads.FlightReader()
		if err := v.pair(ctx, r); err != nil {
			return false, err
		}
		if id := v.ids[goroutine]; id != 0 {
			return found(ctx, r, f, id)
		}
	}
	return found(ctx, p.all.Seen, f, flight.ThreadID(goroutine))
}

// found reports whether a source has a thread that matches a filter.
func found(ctx context.Context, src dump.Source, f *filter.Filter, id flight.ThreadID) (bool, error) {
	only, err := filter.Parse(fmt.Sprintf("id=%d", id))
	if err != nil {
		return false, err
	}
	if only, err = filter.All(only, f); err != nil {
		return false, err
	}
	l, err := dump.List(ctx, src, dump.Options{Filter: only})
	return err == nil && l.Threads > 0, err
}

// An arrival is a goroutine whose OS thread is at a breakpoint.
type arrival struct {
	goroutine int64
	pc        uint64
}

// atBreakpoints returns the goroutines whose OS threads are at a breakpoint, and where the one is that Delve tells of, the first of them.
func (a *Adapter) atBreakpoints(told int64) (at uint64, all []arrival, err error) {
	a.process.mu.Lock()
	defer a.process.mu.Unlock()
	if err := a.process.open(); err != nil {
		return 0, nil, err
	}
	for tid, g := range a.process.all.See().Executing() {
		pc, err := trapped(a.process.pid, tid)
		switch {
		case err != nil:
			return 0, nil, err
		case int64(g) == told:
			at = pc
			all = slices.Insert(all, 0, arrival{told, pc})
		case pc != 0:
			all = append(all, arrival{int64(g), pc})
		}
	}
	if len(all) == 0 || all[0].goroutine != told {
		return 0, nil, errors.New("adapter: the goroutine that stopped is on no OS thread")
	}
	return at, all, nil
}

// breakpointAt returns the condition of the breakpoint that a goroutine is at, by its line; nil if it has none.
func (a *Adapter) breakpointAt(goroutine int64) *condition {
	frames := a.topFrames(goroutine, 1)
	if len(frames) == 0 || frames[0].Source == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.ofSource["file "+frames[0].Source.Path] {
		if c := a.breakpoints[id]; c != nil && c.line == frames[0].Line {
			return c
		}
	}
	return nil
}

// log prints a message of a log point. What is in braces is evaluated in the goroutine's innermost frame.
func (a *Adapter) log(message string, goroutine int64) {
	frameID := 0
	if frames := a.topFrames(goroutine, 1); len(frames) > 0 {
		frameID = frames[0].Id
	}
	text := inBraces.ReplaceAllStringFunc(message, func(in string) string {
		r, err := a.asked("evaluate", dap.EvaluateArguments{Expression: strings.Trim(in, "{}"), FrameId: frameID, Context: "watch"})
		if err != nil {
			return "{" + err.Error() + "}"
		}
		return decoded[dap.EvaluateResponseBody](r.Body).Result
	})
	a.say("goroutine %d: %s", goroutine, text)
}

var inBraces = regexp.MustCompile(`\{[^{}]+\}`)
