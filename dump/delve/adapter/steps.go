package adapter

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/runtime/flight"
)

// setInstructionBreakpoints notes those of the editor, since each request replaces all.
func (a *Adapter) setInstructionBreakpoints(m *message) {
	a.mu.Lock()
	a.instructions = decoded[struct {
		Breakpoints []json.RawMessage `json:"breakpoints"`
	}](m.Arguments).Breakpoints
	a.mu.Unlock()
	a.forward(m, nil)
}

// stepped looks whether a step has left the body of a thread for the runtime that called it. Then the process goes on to the join of its scope, if its owner waits
// there, and stepped returns true.
func (a *Adapter) stepped(s *stop, l *looking) bool {
	if !a.process.recorded.Load() {
		return false
	}
	if top := a.topFrames(s.goroutine, 1); len(top) == 0 || !isInternal(&top[0]) {
		return false
	}
	for _, f := range a.topFrames(s.goroutine, mostHidden) {
		if !isInternal(&f) {
			return false // it is in the runtime for the program
		}
	}
	v := l.wait(s.ctx, patienceAtPause)
	if v == nil {
		return false
	}
	p := v.people[s.goroutine]
	if p == nil || p.thread == 0 || p.scope >= len(p.scopes) {
		return false
	}
	owner := p.owners[p.scopes[p.scope].Owner]
	if owner == nil || owner.reason != flight.ReasonScopeJoin {
		return false
	}
	for _, f := range a.topFrames(owner.goroutine, mostHidden) {
		if !isInternal(&f) {
			return a.goToJoin(owner.goroutine, f.InstructionPointerReference)
		}
	}
	return false
}

// topFrames returns the innermost frames of a goroutine.
func (a *Adapter) topFrames(goroutine int64, n int) []dap.StackFrame {
	r, err := a.asked("stackTrace", dap.StackTraceArguments{ThreadId: int(goroutine), Levels: n})
	if err != nil {
		return nil
	}
	return decoded[dap.StackTraceResponseBody](r.Body).StackFrames
}

// goToJoin lets the process run until a goroutine comes to an address.
func (a *Adapter) goToJoin(owner int64, address string) bool {
	a.mu.Lock()
	theirs := a.instructions
	a.mu.Unlock()
	ours := dap.InstructionBreakpoint{InstructionReference: address, Condition: fmt.Sprintf("runtime.curg.goid == %d", owner)}
	r, err := a.asked("setInstructionBreakpoints", map[string]any{"breakpoints": append(theirs[:len(theirs):len(theirs)], encoded(ours))})
	if err != nil {
		return false
	}
	set := decoded[dap.SetInstructionBreakpointsResponseBody](r.Body).Breakpoints
	if len(set) != len(theirs)+1 || !set[len(theirs)].Verified {
		return false
	}
	a.mu.Lock()
	a.joining = set[len(theirs)].Id
	a.goesOn = true
	a.mu.Unlock()
	a.ask("continue", dap.ContinueArguments{ThreadId: int(owner)}, func(*message) {})
	return true
}

// joined ends a step that was to end at a join, at whatever the process has stopped, and reports whether it did there.
func (a *Adapter) joined(body *dap.StoppedEventBody) bool {
	a.mu.Lock()
	ours, theirs := a.joining, a.instructions
	a.joining = 0
	a.mu.Unlock()
	if ours == 0 {
		return false
	}
	if theirs == nil {
		theirs = []json.RawMessage{}
	}
	a.ask("setInstructionBreakpoints", map[string]any{"breakpoints": theirs}, func(*message) {})
	if len(body.HitBreakpointIds) == 0 || body.HitBreakpointIds[0] != ours {
		return false
	}
	body.Reason, body.HitBreakpointIds = "step", nil
	body.Description = "the thread has ended: this is where its scope is joined"
	return true
}
