package delve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/vtscope/vtscope/dump/locals"
	"github.com/vtscope/vtscope/runtime/flight"
)

// longestValue is where the text of a value is cut.
const longestValue = 4 << 10

// tell reads the frames of a goroutine, and their variables.
func (s *source) tell(ctx context.Context, q locals.Question, g *goroutine) (*locals.Answer, error) {
	memory := &view{ctx: ctx, from: s.memory, low: g.sp, stack: g.stack}
	target, f := s.target, s.frozen
	f.memory = memory
	f.thread.pc, f.thread.sp, f.thread.bp, f.thread.lr = g.pc, g.sp, g.bp, g.lr
	target.ClearCaches()
	of, err := proc.GetG(f.thread)
	if err != nil {
		return nil, fmt.Errorf("delve: goroutine %d: %w", g.id, err)
	}
	of.Thread = nil // it is on none: its registers are those that it has left
	frames, err := proc.GoroutineStacktrace(target, of, q.Frames-1, proc.StacktraceSimple)
	if err != nil {
		return nil, fmt.Errorf("delve: frames of goroutine %d: %w", g.id, err)
	}
	for i := range frames {
		if fn := frames[i].Call.Fn; fn != nil && fn.Name == "runtime.asyncPreempt" {
			return nil, &locals.Problem{Kind: "runs", Text: "it runs, and was interrupted in the middle: its variables are in registers"}
		}
	}
	a := &locals.Answer{Goroutine: g.id}
	config := proc.LoadConfig{FollowPointers: true, MaxVariableRecurse: q.Depth, MaxStringLen: q.Text, MaxArrayValues: q.Elements, MaxStructFields: q.Elements}
	for i := range frames {
		frame := &frames[i]
		if frame.Err != nil {
			a.Incomplete = append(a.Incomplete, fmt.Sprintf("frames from %d on: %v", i, frame.Err))
			break
		}
		a.Frames = append(a.Frames, frameOf(frame))
		if told := &a.Frames[len(a.Frames)-1]; !strings.HasPrefix(told.Function, "runtime.") {
			variablesOf(told, proc.FrameToScope(target, memory, of, 0, frames[i:]...), config)
		}
	}
	if n := len(frames); n > 0 && !frames[n-1].Bottom && n >= q.Frames {
		a.Incomplete = append(a.Incomplete, fmt.Sprintf("only the innermost %d frames", n))
	}
	if memory.over {
		a.Incomplete = append(a.Incomplete, "variables that are linked with too much to be read in time")
	}
	return a, nil
}

func frameOf(frame *proc.Stackframe) locals.Frame {
	name := "?"
	if fn := frame.Call.Fn; fn != nil {
		name = fn.Name
	}
	known, _ := flight.NewFrame(name, frame.Call.File, max(frame.Call.Line, 0), frame.Current.PC, frame.Inlined)
	return locals.Frame{
		Function: known.Func, File: known.File, Line: known.Line, PC: known.PC, Inlined: known.Inlined, Internal: known.Internal,
		Optimized: frame.Call.Fn != nil && frame.Call.Fn.Optimized(),
	}
}

// variablesOf reads the variables of a frame.
func variablesOf(to *locals.Frame, scope *proc.EvalScope, config proc.LoadConfig) {
	arguments, err := scope.FunctionArguments(config)
	var others []*proc.Variable
	if err == nil {
		others, err = scope.LocalVariables(config)
	}
	all := slices.Concat(arguments, others)
	to.Arguments, to.Locals = told(arguments, all), told(others, all)
	if err != nil {
		to.Missing = err.Error()
	}
}

// told tells some of all the variables of a frame.
func told(variables, all []*proc.Variable) []locals.Variable {
	var out []locals.Variable
	for _, v := range variables {
		if v.Name == "" || v.Unreadable != nil && strings.HasPrefix(v.Name, "~") || moved(v, all) {
			continue // a result without a name, which has none yet; or where an argument was before
		}
		shown := api.ConvertVar(v)
		t := locals.Variable{
			Name: v.Name, Type: shown.Type, Line: int(v.DeclLine),
			Result: v.Flags&proc.VariableReturnArgument != 0, Shadowed: v.Flags&proc.VariableShadowed != 0,
		}
		switch {
		case v.Unreadable != nil:
			t.Missing = reason(v.Unreadable)
		case inPart(shown.LocationExpr):
			t.Missing = optimizedInPart
		default:
			t.Value = cut(shown.SinglelineString())
		}
		out = append(out, t)
	}
	return out
}

// moved reports whether v is where a variable was before: arguments that may be used after their function has returned are moved to the heap, and
// Delve tells both places.
func moved(v *proc.Variable, all []*proc.Variable) bool {
	return v.Flags&proc.VariableEscaped == 0 && slices.ContainsFunc(all, func(other *proc.Variable) bool {
		return other.Name == v.Name && other.DeclLine == v.DeclLine && other.Flags&proc.VariableEscaped != 0
	})
}

const optimizedInPart = "in part " + locals.OptimizedAway

// inPart reports whether the place of a variable has pieces that are nowhere. Delve takes them as zero: a slice would look empty whose length was not kept.
func inPart(place string) bool {
	const piece = "DW_OP_piece"
	from := true // a piece that begins here is nowhere
	for _, word := range strings.Fields(place) {
		switch {
		case word == piece && from:
			return true
		case word == piece:
			from = true
		case strings.HasPrefix(word, "DW_OP_"):
			from = false
		}
	}
	return false
}

// reason says why a variable has no value.
func reason(err error) string {
	text := err.Error()
	for _, lost := range []string{"could not find loclist entry", "no location attribute", "empty OP stack", "from register", "read out of bounds"} {
		if strings.Contains(text, lost) {
			return locals.OptimizedAway
		}
	}
	return cut(text)
}

// cut bounds the text of a value.
func cut(s string) string {
	if len(s) <= longestValue {
		return s
	}
	s = s[:longestValue]
	for !utf8.ValidString(s) && len(s) > longestValue-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}
