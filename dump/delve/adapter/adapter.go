package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump"
)

// Options say how [Serve] works. The zero value is usable.
type Options struct {
	// Elsewhere says that Delve may debug a process of another machine, whose memory cannot be read here: then the list of threads is Delve's.
	Elsewhere bool
	// OwnOutput has what the program prints sent to the editor, unless the editor says how it wants it: Delve's own output is in use.
	OwnOutput bool
}

// Serve passes messages between an editor and Delve until one of them ends the conversation, and closes both
// then. ctx ends it, too. The error is nil if a side closed its connection.
func Serve(ctx context.Context, editor, delve io.ReadWriteCloser, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &Adapter{
		ctx: ctx, options: o, editor: newSide(editor), delve: newSide(delve),
		groupIDs: map[string]int{}, breakpoints: map[int]*condition{}, ofSource: map[string][]int{}, own: map[int]*happening{},
	}
	both := sync.OnceFunc(func() { editor.Close(); delve.Close() })
	stop := context.AfterFunc(ctx, both)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- a.pass(editor, a.fromEditor) }()
	go func() { ended <- a.pass(delve, a.fromDelve) }()
	err := <-ended
	both()
	err = errors.Join(err, <-ended)
	cancel()
	a.tasks.Wait()
	a.process.close()
	return err
}

// An Adapter is one conversation.
type Adapter struct {
	ctx     context.Context
	options Options
	editor  *side
	delve   *side
	tasks   sync.WaitGroup
	process process

	order   sync.Mutex // of messages from Delve
	holding bool       // somebody handles a stop
	held    []*message // that came behind it

	mu       sync.Mutex
	stop     *stop   // nil: the process runs, or there is none yet
	events   []int64 // goroutines that had an event of the debugger, the newest last
	pinned   []int64
	internal bool           // show the runtime's frames and goroutines
	groupIDs map[string]int // ids that groups have as threads, by their keys
	reloads  bool           // the editor can be told that the list of threads has changed
	replaces [][2]string    // prefixes of paths of the program, and what the editor knows them as

	breakpoints  map[int]*condition // by Delve's number
	ofSource     map[string][]int   // of them, the numbers of each file and of functions
	functions    []json.RawMessage  // function breakpoints of the editor
	instructions []json.RawMessage  // its breakpoints at instructions
	joining      int                // Delve's number of the breakpoint at a join that a step goes to; 0: none does
	happenings   []*happening       // that the user wants to stop at
	own          map[int]*happening // by the number of Delve's breakpoint
	found        *dump.Finding      // why the adapter has the process stopped
	unwatch      context.CancelFunc // ends the watch for findings; nil: there is none
	pausing      bool               // the editor has asked for a pause
	goesOn       bool               // the editor was not told of the newest stop
}

// pass reads messages until there are no more.
func (a *Adapter) pass(from io.Reader, take func(*message)) error {
	r := bufio.NewReader(from)
	for {
		m, err := read(r)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil && a.ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		take(m)
	}
}

// do calls f on a goroutine of its own: f may wait for Delve.
func (a *Adapter) do(f func()) { a.tasks.Go(f) }

// forward passes a request of the editor on to Delve. with changes the response on its way back; nil leaves it as it is.
func (a *Adapter) forward(m *message, with func(*message)) {
	seq := m.Seq
	then := func(r *message) {
		r.RequestSeq = seq
		if with != nil {
			with(r)
		}
		_ = a.editor.send(*r, waiting{})
	}
	_ = a.delve.send(*m, waiting{then: then}) // an error ends the reading side, too
}

// ask sends Delve a request of the adapter's own. then is called by who reads from Delve, and must not wait for it.
func (a *Adapter) ask(command string, arguments any, then func(*message)) {
	_ = a.delve.send(message{Type: "request", Command: command, Arguments: encoded(arguments)}, waiting{then, true})
}

// asked is ask for those who wait for the answer: they run on a goroutine of their own.
func (a *Adapter) asked(command string, arguments any) (*message, error) {
	answer := make(chan *message, 1)
	a.ask(command, arguments, func(r *message) { answer <- r })
	select {
	case r := <-answer:
		if !r.ok() {
			return r, fmt.Errorf("delve: %s: %s", command, reasonOf(r))
		}
		return r, nil
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}

// reasonOf returns why a request failed.
func reasonOf(r *message) string {
	body := decoded[dap.ErrorResponseBody](r.Body)
	if body.Error != nil && body.Error.Format != "" {
		return body.Error.Format
	}
	return r.Message
}

// answer responds to a request of the editor.
func (a *Adapter) answer(m *message, body any) {
	yes := true
	_ = a.editor.send(message{Type: "response", Command: m.Command, RequestSeq: m.Seq, Success: &yes, Body: encoded(body)}, waiting{})
}

// refuse responds with an error, which the editor shows where it was asked.
func (a *Adapter) refuse(m *message, err error) {
	no := false
	body := dap.ErrorResponseBody{Error: &dap.ErrorMessage{Id: problem, Format: err.Error()}}
	_ = a.editor.send(message{Type: "response", Command: m.Command, RequestSeq: m.Seq, Success: &no, Message: err.Error(), Body: encoded(body)}, waiting{})
}

// problem is the number of the adapter's errors: Delve's are below.
const problem = 10001

// tell sends the editor an event.
func (a *Adapter) tell(event string, body any) {
	_ = a.editor.send(message{Type: "event", Event: event, Body: encoded(body)}, waiting{})
}

// say prints a line in the console of the editor.
func (a *Adapter) say(format string, arguments ...any) {
	a.tell("output", dap.OutputEventBody{Category: "console", Output: fmt.Sprintf(format, arguments...) + "\n"})
}

// changed tells the editor that the list of threads has, if it can be told.
func (a *Adapter) changed() {
	a.mu.Lock()
	reloads := a.reloads
	a.mu.Unlock()
	if reloads {
		a.tell("invalidated", dap.InvalidatedEventBody{Areas: []dap.InvalidatedAreas{"threads"}})
	}
}

// fromEditor takes a request. Those that are not in this list are Delve's.
func (a *Adapter) fromEditor(m *message) {
	switch m.Command {
	case "initialize":
		a.initialize(m)
	case "launch", "attach":
		a.begin(m)
	case "threads":
		a.threads(m)
	case "stackTrace":
		a.stackTrace(m)
	case "scopes":
		a.scopes(m)
	case "variables":
		a.variables(m)
	case "evaluate":
		a.evaluate(m)
	case "setBreakpoints":
		a.setBreakpoints(m)
	case "setFunctionBreakpoints":
		a.setFunctionBreakpoints(m)
	case "setInstructionBreakpoints":
		a.setInstructionBreakpoints(m)
	case "setExceptionBreakpoints":
		a.setExceptionBreakpoints(m)
	case "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue":
		a.resume(m)
	case "pause":
		a.pause(m)
	default:
		if !a.custom(m) {
			a.forward(m, nil)
		}
	}
}

// fromDelve takes a response or an event. While somebody finds out what to say of a stop, what comes behind it has to wait, but for the answers to what the
// adapter asks itself.
func (a *Adapter) fromDelve(m *message) {
	a.order.Lock()
	if a.holding && !(m.Type == "response" && a.delve.isOwn(m.RequestSeq)) {
		a.held = append(a.held, m)
		a.order.Unlock()
		return
	}
	if m.Event != "stopped" {
		a.order.Unlock()
		a.deliver(m)
		return
	}
	a.holding = true
	a.order.Unlock()
	a.do(func() {
		for next := m; next != nil; next = a.release() {
			a.deliver(next)
		}
	})
}

// release returns the next message that had to wait; nil, and nothing waits any more, if there is none.
func (a *Adapter) release() *message {
	a.order.Lock()
	defer a.order.Unlock()
	if len(a.held) == 0 {
		a.holding = false
		return nil
	}
	m := a.held[0]
	a.held = a.held[1:]
	return m
}

// deliver does with a message of Delve's what is to be done.
func (a *Adapter) deliver(m *message) {
	if m.Type == "response" {
		if w := a.delve.take(m.RequestSeq); w.then != nil {
			w.then(m)
			return
		}
	}
	if m.Type == "event" {
		switch m.Event {
		case "initialized": // after a launch, an attach, and a restart
			if !a.options.Elsewhere {
				a.ask("evaluate", dap.EvaluateArguments{Expression: "dlv target list", Context: "repl"}, a.targets)
			}
		case "stopped":
			a.stopped(m)
			return
		case "terminated", "exited":
			a.runs()
		case "output":
			if a.untold() && strings.HasPrefix(decoded[dap.OutputEventBody](m.Body).Output, "Step interrupted by a breakpoint") {
				return // it goes on
			}
		}
	}
	_ = a.editor.send(*m, waiting{})
}

// running reports whether the process runs, as far as is known here.
func (a *Adapter) running() bool {
	a.order.Lock()
	defer a.order.Unlock()
	return !a.holding && a.stopping() == nil
}

// untold reports whether the editor was not told of the newest stop.
func (a *Adapter) untold() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.goesOn
}

// initialize notes what the editor can do, and tells what the adapter adds.
func (a *Adapter) initialize(m *message) {
	a.mu.Lock()
	a.reloads = decoded[dap.InitializeRequestArguments](m.Arguments).SupportsInvalidatedEvent
	a.mu.Unlock()
	a.forward(m, func(r *message) {
		if !r.ok() {
			return
		}
		filters := decoded[dap.Capabilities](r.Body).ExceptionBreakpointFilters
		r.Body = with(r.Body, "exceptionBreakpointFilters", append(filters, happeningFilters()...))
		r.Body = with(r.Body, "supportsExceptionFilterOptions", true)
	})
}

// begin notes how the program is debugged.
func (a *Adapter) begin(m *message) {
	var of struct {
		Mode           string `json:"mode"`
		Program        string `json:"program"`
		CoreFilePath   string `json:"coreFilePath"`
		OutputMode     string `json:"outputMode"`
		SubstitutePath []struct {
			From string `json:"from"`
			To   string `json:"to"`
		} `json:"substitutePath"`
	}
	_ = json.Unmarshal(m.Arguments, &of)
	a.mu.Lock()
	for _, s := range of.SubstitutePath {
		a.replaces = append(a.replaces, [2]string{s.To, s.From})
	}
	a.mu.Unlock()
	if m.Command == "launch" && a.options.OwnOutput && of.OutputMode == "" {
		m.Arguments = with(m.Arguments, "outputMode", "remote")
	}
	if of.Mode == "core" {
		a.process.isCore(of.CoreFilePath, of.Program)
	}
	a.forward(m, nil)
}

// targets notes which process Delve debugs: it marks it with an asterisk. A core file is none.
func (a *Adapter) targets(r *message) {
	for line := range strings.Lines(decoded[dap.EvaluateResponseBody](r.Body).Result) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "*" {
			continue
		}
		if pid, err := strconv.Atoi(fields[1]); err == nil {
			a.process.is(pid)
		}
	}
}

// runs forgets what was told of a stop.
func (a *Adapter) runs() {
	a.mu.Lock()
	s := a.stop
	a.stop = nil
	a.mu.Unlock()
	if s != nil {
		s.cancel()
	}
}

// resume passes on a request that has the process run. A group is no thread that can step: the one that stopped does.
func (a *Adapter) resume(m *message) {
	a.mu.Lock()
	s := a.stop
	a.mu.Unlock()
	if s != nil && s.isGroup(decoded[dap.ContinueArguments](m.Arguments).ThreadId) {
		m.Arguments = with(m.Arguments, "threadId", s.goroutine)
	}
	a.forward(m, func(r *message) {
		if r.ok() {
			a.mu.Lock()
			same := a.stop == s
			a.mu.Unlock()
			if same {
				a.runs()
			}
		}
	})
}

// pause passes on a pause.
func (a *Adapter) pause(m *message) {
	a.mu.Lock()
	a.pausing = true
	a.mu.Unlock()
	seq := m.Seq
	a.halt(*m, func(r *message) {
		r.RequestSeq = seq
		_ = a.editor.send(*r, waiting{})
	})
}

// halt has Delve stop the process. then is called with the response. Delve 1.27 takes a pause for the end of a download of debug information until the process has stopped once since it was launched or
// attached to, if there is a library without any, and does not even answer: a request behind it that is answered tells. To set breakpoints stops the
// process for a moment, and then it pauses.
func (a *Adapter) halt(m message, then func(*message)) {
	var answered atomic.Bool
	once := func(r *message) {
		answered.Store(true)
		then(r)
	}
	_ = a.delve.send(m, waiting{then: once})
	behind := message{Type: "request", Command: "loadedSources", Arguments: encoded(struct{}{})} // which Delve refuses at once
	_ = a.delve.send(behind, waiting{then: func(*message) {                                      // in its turn, as the pause is
		if !answered.Load() {
			a.setFunctions(nil)
			_ = a.delve.send(m, waiting{then: once})
		}
	}})
}

// stopping returns the stop that the process is at, or nil.
func (a *Adapter) stopping() *stop {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stop
}

// meet notes that a goroutine had an event.
func (a *Adapter) meet(goroutine int64) {
	const most = 64
	a.mu.Lock()
	defer a.mu.Unlock()
	if goroutine <= 0 {
		return
	}
	a.events = append(slices.DeleteFunc(a.events, func(g int64) bool { return g == goroutine }), goroutine)
	a.events = a.events[max(0, len(a.events)-most):]
}
