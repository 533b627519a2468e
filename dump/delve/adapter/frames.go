package adapter

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
)

// A frame is what a frame of a stack belongs to: a goroutine, or a group.
type frame struct {
	goroutine int64 // 0: none
	group     *row
}

// mostHidden is how many frames of the runtime are looked at for the program's first.
const mostHidden = 24

// stackTrace answers with the stack of a thread, as Delve has it, without the frames of the switch that it waits in; and with who started it. A group has
// the stack that its threads share.
func (a *Adapter) stackTrace(m *message) {
	s := a.stopping()
	args := decoded[dap.StackTraceArguments](m.Arguments)
	if s == nil {
		a.forward(m, nil)
		return
	}
	if s.isGroup(args.ThreadId) || args.ThreadId == countingID || args.ThreadId == moreID {
		a.groupStack(m, s, args)
		return
	}
	a.mu.Lock()
	internal := a.internal
	a.mu.Unlock()
	s.mu.Lock()
	skip, known := s.hidden[args.ThreadId]
	s.mu.Unlock()
	ask := args
	if internal {
		skip, known = 0, true
	}
	if known {
		ask.StartFrame += skip
	} else if ask.Levels > 0 {
		ask.Levels += ask.StartFrame + mostHidden
		ask.StartFrame = 0
	} else {
		ask.StartFrame = 0
	}
	m.Arguments = merged(m.Arguments, ask)
	seq := m.Seq
	change := func(r *message) {
		if !r.ok() {
			return
		}
		var body struct {
			StackFrames []json.RawMessage `json:"stackFrames"`
			TotalFrames int               `json:"totalFrames"`
		}
		_ = json.Unmarshal(r.Body, &body)
		frames := body.StackFrames
		if !known {
			skip = leading(frames)
			s.mu.Lock()
			s.hidden[args.ThreadId] = skip
			s.mu.Unlock()
			frames = frames[min(skip+args.StartFrame, len(frames)):]
			if args.Levels > 0 {
				frames = frames[:min(args.Levels, len(frames))]
			}
		}
		total := max(body.TotalFrames-skip, 0)
		if args.StartFrame+len(frames) >= total {
			frames = append(frames, a.started(s, int64(args.ThreadId))...)
			total = args.StartFrame + len(frames)
		}
		s.mu.Lock()
		for i, f := range frames {
			read := decoded[dap.StackFrame](f)
			s.frames[read.Id] = frame{goroutine: int64(args.ThreadId)}
			if read.PresentationHint == "" && isInternal(&read) {
				frames[i] = with(f, "presentationHint", "subtle")
			}
		}
		s.mu.Unlock()
		if frames == nil {
			frames = []json.RawMessage{}
		}
		r.Body = with(with(r.Body, "stackFrames", frames), "totalFrames", total)
	}
	_ = a.delve.send(*m, waiting{then: func(r *message) {
		a.do(func() { // who started the goroutine may have to be waited for
			r.RequestSeq = seq
			change(r)
			_ = a.editor.send(*r, waiting{})
		})
	}})
}

// leading returns how many frames of the runtime a stack begins with; 0 if there are no others.
func leading(frames []json.RawMessage) int {
	for i, f := range frames {
		if read := decoded[dap.StackFrame](f); !isInternal(&read) {
			return i
		}
	}
	return 0
}

// ours are the packages of vtscope's runtime, whose frames are shown on request, by the ends of their folders.
var ours = []string{
	"continuation", "durable", "durable/journal", "flight", "flight/profiling", "flight/signals",
	"internal/coro", "internal/panicstack", "internal/poll", "internal/spin",
	"sched", "structured", "structured/errgroup", "structured/internal/flock",
	"vfile", "vgrpc", "vhttp", "vnet", "vslog", "vsync", "vthread",
}

// isInternal reports whether a frame is of Go's runtime or of that of vtscope. Delve names the last part of a package's path alone, so the file's folder
// tells, too.
func isInternal(f *dap.StackFrame) bool {
	of, _, _ := strings.Cut(f.Name, ".")
	if of == "runtime" || of == "iter" {
		return true
	}
	if f.Source == nil { // the compiler has made it, for a method value
		return slices.ContainsFunc(ours, func(p string) bool { return of == p[strings.LastIndex(p, "/")+1:] }) && strings.HasSuffix(f.Name, "-fm")
	}
	folder := filepath.ToSlash(filepath.Dir(f.Source.Path))
	return slices.ContainsFunc(ours, func(p string) bool {
		return of == p[strings.LastIndex(p, "/")+1:] && strings.HasSuffix(folder, "/runtime/"+p)
	})
}

// started returns frames that tell who started a goroutine, and who started that one, up to the root: they are no calls, and marked so.
func (a *Adapter) started(s *stop, goroutine int64) (frames []json.RawMessage) {
	v := a.look(s, false).wait(s.ctx, a.patience())
	if v == nil {
		return nil // it will be there when the list is told to have changed
	}
	p := v.find(s.ctx, &a.process, goroutine)
	if p == nil {
		return nil
	}
	add := func(name string, place *dump.Place) {
		f := dap.StackFrame{Name: dump.Printable(name), PresentationHint: "label"}
		if place != nil && place.File != "" {
			f.Source, f.Line = a.source(place.File), place.Line
			f.PresentationHint = "subtle"
		}
		s.mu.Lock()
		f.Id = s.next
		s.next++
		s.mu.Unlock()
		frames = append(frames, encoded(f))
	}
	for at := p.scope; at > 0 && at < len(p.scopes); at = p.scopes[at].Above {
		scope := &p.scopes[at]
		if p.thread == 0 {
			add("started by "+scope.Name, nil)
			continue
		}
		text := fmt.Sprintf("forked in scope %q", scope.Name)
		switch owner := p.owners[scope.Owner]; {
		case owner != nil:
			add(text+" by "+owner.called()+", which is here now", owner.place)
		case scope.Owner != 0:
			add(fmt.Sprintf("%s by thread #%d", text, scope.Owner), nil)
		default:
			add(text+" by a goroutine", nil)
		}
	}
	return frames
}

// called is how a person is called in a sentence.
func (p *person) called() string {
	title, _, _ := strings.Cut(p.title(), ": ")
	title, _, _ = strings.Cut(title, " in ")
	return title
}

// source is a file as the editor knows it.
func (a *Adapter) source(file string) *dap.Source {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.replaces {
		if rest, ok := strings.CutPrefix(file, r[0]); ok && r[0] != "" {
			file = r[1] + rest
			break
		}
	}
	return &dap.Source{Name: filepath.Base(file), Path: file}
}

// groupStack answers with the stack that the threads of a group share, and examples of them.
func (a *Adapter) groupStack(m *message, s *stop, args dap.StackTraceArguments) {
	a.mu.Lock()
	internal := a.internal
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rows[args.ThreadId]
	if !ok {
		a.answer(m, dap.StackTraceResponseBody{StackFrames: []dap.StackFrame{}})
		return
	}
	var all []dap.StackFrame
	add := func(f dap.StackFrame) {
		f.Id = s.next
		s.next++
		s.frames[f.Id] = frame{group: &r}
		all = append(all, f)
	}
	if stack := r.stack(); stack != nil {
		for _, f := range stack.Shown(internal) {
			shown := dap.StackFrame{Name: dump.ShortFunc(f.Func), Line: f.Line}
			if f.File != "" {
				shown.Source = a.source(f.File)
			}
			if f.Internal {
				shown.PresentationHint = "subtle"
			}
			add(shown)
		}
	}
	for i := range r.group.Examples {
		e := &r.group.Examples[i]
		what := fmt.Sprintf("for example #%d", e.ID)
		if r.of.Process.Kind == "goroutine" {
			what = fmt.Sprintf("for example goroutine %d", e.ID)
		} else if e.Name != "" {
			what = fmt.Sprintf("for example %s #%d", e.Name, e.ID)
		}
		if e.Wait > 0 {
			what += ", for " + dump.Span(e.Wait)
		}
		add(dap.StackFrame{Name: dump.Printable(fmt.Sprintf("%s: vt pin %s", what, pinOf(&r, e))), PresentationHint: "label"})
	}
	from, to, total := min(max(args.StartFrame, 0), len(all)), len(all), len(all)
	if args.Levels > 0 {
		to = min(to, from+args.Levels)
	}
	if all = all[from:to]; all == nil {
		all = []dap.StackFrame{}
	}
	a.answer(m, dap.StackTraceResponseBody{StackFrames: all, TotalFrames: total})
}

// pinOf is what vt pin knows an example by.
func pinOf(r *row, e *dump.Example) string {
	if r.of.Process.Kind == "goroutine" {
		return fmt.Sprint(e.ID)
	}
	return fmt.Sprintf("#%d", e.ID)
}

// scopes answers with Delve's scopes of variables, and one that tells what vtscope knows.
func (a *Adapter) scopes(m *message) {
	s := a.stopping()
	if s == nil {
		a.forward(m, nil)
		return
	}
	id := decoded[dap.ScopesArguments](m.Arguments).FrameId
	s.mu.Lock()
	f, known := s.frames[id]
	s.mu.Unlock()
	ours := func() dap.Scope {
		return dap.Scope{Name: "vtscope", VariablesReference: s.value(func() ([]variable, error) { return a.about(s, f) }), Expensive: true}
	}
	switch {
	case id >= firstID && known:
		a.answer(m, dap.ScopesResponseBody{Scopes: []dap.Scope{ours()}})
	case id >= firstID:
		a.answer(m, dap.ScopesResponseBody{Scopes: []dap.Scope{}})
	case !known:
		a.forward(m, nil)
	default:
		a.forward(m, func(r *message) {
			all := decoded[struct {
				Scopes []json.RawMessage `json:"scopes"`
			}](r.Body).Scopes // none of a function that the compiler has made, which Delve refuses
			yes := true
			r.Success, r.Message = &yes, ""
			r.Body = encoded(map[string]any{"scopes": append(all, encoded(ours()))})
		})
	}
}

// value returns the reference of variables that are worked out when somebody asks for them.
func (s *stop) value(of func() ([]variable, error)) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.values[s.next] = of
	return s.next
}
