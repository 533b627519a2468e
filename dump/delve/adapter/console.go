package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A command is what one types into the debug console after vt, and what a client asks for with the request vtscope/NAME.
type command struct {
	name, arguments, about string
	// take takes the document of a source; nil: the command has none.
	take taker
	// do does what has no document. The text that it returns is shown.
	do func(a *Adapter, argument string) (string, error)
}

// commands are all of them, in the order of the help. They are set in init: help lists them.
var commands []command

func init() {
	commands = []command{
		{name: "threads", arguments: "[FILTER]", about: "groups of threads and goroutines by scope, state and stack", take: takeSnapshot},
		{name: "scopes", arguments: "[FILTER]", about: "the tree of scopes, with how many threads are in each", take: takeScopes},
		{name: "waits", about: "who waits for whom", take: takeWaits},
		{name: "findings", about: "what is wrong", take: takeFindings},
		{name: "thread", arguments: "#ID|GOROUTINE", about: "all that is known of one", do: (*Adapter).tellThread},
		{name: "pin", arguments: "#ID|GOROUTINE", about: "give it a row of its own in the list of threads", do: func(a *Adapter, which string) (string, error) { return a.pin(which, true) }},
		{name: "unpin", arguments: "#ID|GOROUTINE", about: "take it out of there", do: func(a *Adapter, which string) (string, error) { return a.pin(which, false) }},
		{name: "internal", arguments: "on|off", about: "show the runtime's frames and goroutines", do: (*Adapter).showInternal},
		{name: "help", about: "this list", do: func(*Adapter, string) (string, error) { return help(), nil }},
	}
}

func help() string {
	var b strings.Builder
	for i := range commands {
		c := &commands[i]
		fmt.Fprintf(&b, "vt %-28s %s\n", strings.TrimSpace(c.name+" "+c.arguments), c.about)
	}
	b.WriteString("#5123 is a thread of vtscope, 18 a goroutine. docs/filter.md tells what a FILTER is.\n")
	return b.String()
}

// commandOf returns a command by its name, nil if there is none.
func commandOf(name string) *command {
	for i := range commands {
		if c := &commands[i]; c.name == name {
			return c
		}
	}
	return nil
}

// evaluate answers what begins with vt, which no expression of Go does, and leaves all else to Delve. A frame of the adapter's own is none in which
// Delve could evaluate.
func (a *Adapter) evaluate(m *message) {
	args := decoded[dap.EvaluateArguments](m.Arguments)
	words := strings.Fields(args.Expression)
	if len(words) == 0 || words[0] != "vt" || len(words) == 1 && args.Context != "repl" {
		if args.FrameId >= firstID {
			m.Arguments = with(m.Arguments, "frameId", 0)
		}
		a.forward(m, nil)
		return
	}
	name := "help"
	if len(words) > 1 {
		name = words[1]
	}
	c := commandOf(name)
	if c == nil {
		a.refuse(m, fmt.Errorf("vt has no %q; try: vt help", name))
		return
	}
	_, argument, _ := strings.Cut(strings.TrimSpace(args.Expression), name)
	a.do(func() {
		result, err := a.run(c, strings.TrimSpace(argument))
		if err != nil {
			a.refuse(m, err)
			return
		}
		a.answer(m, dap.EvaluateResponseBody{Result: strings.TrimRight(result, "\n")})
	})
}

// run does a command, and returns what it prints.
func (a *Adapter) run(c *command, argument string) (string, error) {
	if c.take == nil {
		return c.do(a, argument)
	}
	var b bytes.Buffer
	err := a.each(c.take, argument, func(d document) error {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		return d.text(&b)
	})
	return b.String(), err
}

// custom answers the requests that only clients have which know vtscope: vtscope/threads and so on. The body has the documents of vtdump, as JSON.
func (a *Adapter) custom(m *message) bool {
	name, ours := strings.CutPrefix(m.Command, "vtscope/")
	if !ours {
		return false
	}
	c := commandOf(name)
	if c == nil {
		a.refuse(m, fmt.Errorf("there is no request %q", m.Command))
		return true
	}
	argument := decoded[struct {
		Argument string `json:"argument"`
	}](m.Arguments).Argument
	a.do(func() {
		body := struct {
			Documents []json.RawMessage `json:"documents,omitempty"`
			Text      string            `json:"text,omitempty"`
		}{}
		var err error
		if c.take == nil {
			body.Text, err = c.do(a, argument)
		} else {
			err = a.each(c.take, argument, func(d document) error {
				var b bytes.Buffer
				err := d.json(&b)
				body.Documents = append(body.Documents, bytes.TrimSpace(b.Bytes()))
				return err
			})
		}
		if err != nil {
			a.refuse(m, err)
			return
		}
		a.answer(m, body)
	})
	return true
}

// A document is what a report says of a source.
type document struct {
	document any
	json     func(io.Writer) error
	text     func(io.Writer) error
	err      error
}

// A taker takes a document.
type taker func(ctx context.Context, src dump.Source, argument string) document

// shown is how documents are printed in a console.
var shown = dump.TextOptions{Width: 120}

func takeSnapshot(ctx context.Context, src dump.Source, argument string) document {
	f, err := filter.Parse(argument)
	if err != nil {
		return document{err: pointed(err)}
	}
	s, err := dump.Take(ctx, src, dump.Options{Filter: f})
	return document{s, func(w io.Writer) error { return dump.JSON(w, s) }, func(w io.Writer) error { return dump.Text(w, s, shown) }, err}
}

func takeScopes(ctx context.Context, src dump.Source, argument string) document {
	f, err := filter.Parse(argument)
	if err != nil {
		return document{err: pointed(err)}
	}
	by, err := dump.ParseBy("scope")
	if err != nil {
		return document{err: err}
	}
	t, err := dump.TakeTable(ctx, src, by, dump.Options{Filter: f})
	return document{t, func(w io.Writer) error { return dump.TableJSON(w, t) }, func(w io.Writer) error { return dump.TableText(w, t, shown) }, err}
}

func takeWaits(ctx context.Context, src dump.Source, _ string) document {
	d, err := dump.TakeWaits(ctx, src)
	return document{d, func(w io.Writer) error { return dump.WaitsJSON(w, d) }, func(w io.Writer) error { return dump.WaitsText(w, d, shown) }, err}
}

func takeFindings(ctx context.Context, src dump.Source, _ string) document {
	look, err := dump.TakeLook(ctx, src)
	if err != nil {
		return document{err: err}
	}
	f, err := dump.Check(look, nil, dump.CheckOptions{})
	return document{f, func(w io.Writer) error { return dump.FindingsJSON(w, f) }, func(w io.Writer) error { return dump.FindingsText(w, f, shown) }, err}
}

// pointed is an error of a filter, with the place below it.
func pointed(err error) error {
	if e := (*filter.Error)(nil); errors.As(err, &e) {
		return fmt.Errorf("%w\n%s", err, e.Point())
	}
	return err
}

// documents takes a document of each source that a view has.
func (a *Adapter) documents(ctx context.Context, v *view, take taker) (all []document) {
	a.process.mu.Lock()
	defer a.process.mu.Unlock()
	if len(v.ids) > 0 && a.process.threads != nil {
		all = append(all, take(ctx, a.process.threads, ""))
	}
	return append(all, take(ctx, v.plain, ""))
}

// errRuns says that something needs a process that is stopped.
var errRuns = errors.New("the process runs: stop it first, or see: vtdump PID")

// view waits until it is known what threads there are.
func (a *Adapter) view() (*stop, *view, error) {
	s := a.stopping()
	if s == nil {
		return nil, nil, errRuns
	}
	l := a.look(s, false)
	v := l.wait(s.ctx, patienceForValues)
	switch {
	case s.ctx.Err() != nil:
		return nil, nil, errRuns
	case v != nil:
		return s, v, nil
	}
	select {
	case <-l.done:
		return nil, nil, l.err
	default:
		return nil, nil, fmt.Errorf("the look at the process takes longer than %s", patienceForValues)
	}
}

// each visits the documents of threads and of goroutines.
func (a *Adapter) each(take taker, argument string, visit func(document) error) error {
	s, v, err := a.view()
	if err != nil {
		return err
	}
	for _, d := range a.documents(s.ctx, v, func(ctx context.Context, src dump.Source, _ string) document { return take(ctx, src, argument) }) {
		if d.err != nil {
			return d.err
		}
		if err := visit(d); err != nil {
			return err
		}
	}
	return nil
}

// which returns the goroutine that somebody means, by its number or as "#" and that of its thread.
func (v *view) which(text string) (int64, error) {
	number, isThread := strings.CutPrefix(text, "#")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no thread, such as #5123, nor a goroutine, such as 18", text)
	}
	if !isThread {
		return n, nil
	}
	g := v.goroutines[flight.ThreadID(n)]
	if g == 0 {
		return 0, fmt.Errorf("thread #%d has no goroutine: it has not begun, or it has ended", n)
	}
	return g, nil
}

// tellThread prints all that is known of one thread or goroutine.
func (a *Adapter) tellThread(which string) (string, error) {
	s, v, err := a.view()
	if err != nil {
		return "", err
	}
	g, err := v.which(which)
	if err != nil {
		return "", err
	}
	r, err := a.report(s.ctx, v, g)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = dump.ThreadText(&b, r, shown)
	return b.String(), err
}

// pin gives a goroutine a row of its own in the list of threads, or takes it out.
func (a *Adapter) pin(which string, in bool) (string, error) {
	s, v, err := a.view()
	if err != nil {
		return "", err
	}
	g, err := v.which(which)
	if err != nil {
		return "", err
	}
	if p := v.find(s.ctx, &a.process, g); in && p == nil {
		return "", fmt.Errorf("there is no goroutine %d", g)
	}
	a.mu.Lock()
	a.pinned = slices.DeleteFunc(a.pinned, func(x int64) bool { return x == g })
	if in {
		a.pinned = append(a.pinned, g)
	} else {
		a.events = slices.DeleteFunc(a.events, func(x int64) bool { return x == g })
	}
	a.mu.Unlock()
	a.reload(s)
	if in {
		return fmt.Sprintf("goroutine %d has a row of its own", g), nil
	}
	return fmt.Sprintf("goroutine %d is with the others again", g), nil
}

// reload has the editor read the list of threads again.
func (a *Adapter) reload(s *stop) {
	a.look(s, true)
	a.changed()
}

// showInternal shows the runtime's own frames and goroutines, or hides them.
func (a *Adapter) showInternal(how string) (string, error) {
	if how != "on" && how != "off" {
		return "", fmt.Errorf("vt internal on, or vt internal off")
	}
	a.mu.Lock()
	a.internal = how == "on"
	a.mu.Unlock()
	if s := a.stopping(); s != nil {
		s.mu.Lock()
		clear(s.hidden)
		s.mu.Unlock()
		a.reload(s)
	}
	return "the runtime's frames and goroutines are " + map[bool]string{true: "shown", false: "hidden"}[how == "on"], nil
}
