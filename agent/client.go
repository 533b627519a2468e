package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	readLimit    = 4 << 10                // bytes of a client's message: subscriptions are short
	writeTimeout = 10 * time.Second       // a client that takes nothing for so long is cut off
	pingEvery    = 20 * time.Second       //
	pongTimeout  = 50 * time.Second       // without an answer the connection is dead
	frameGap     = 50 * time.Millisecond  // at least between two frames, however often a client subscribes
	firstWait    = 500 * time.Millisecond // for the first subscription, before the default is shown
	longestName  = 2 << 10                // bytes of a member of a subscription
)

// A client is one websocket. Its writer makes frames when the connection takes them, from the newest view:
// so nothing queues up, and a slow client skips frames instead of receiving old ones.
type client struct {
	agent *Agent
	conn  *websocket.Conn
	subs  chan Subscription // from the reader, only the newest
	bad   chan Problem      // from the reader

	// Of the writer alone.
	want  Subscription
	shown *follower // that want names
	stuck *follower // the agent's choice when want names no process: it stays the same
	held  string    // key of the agent's choice when want names no group: it stays while it has threads
	sent  Frame     // the members as the client has them
	seen  uint64    // version of the view sent last
	next  uint64    // number of the first point that the client lacks
}

// serve talks to a client until it goes away or the agent closes.
func (c *client) serve() {
	ctx, cancel := context.WithCancel(c.agent.ctx)
	defer c.conn.Close()
	defer cancel()
	done := make(chan error, 1)
	if !c.agent.goWhileOpen(func() { done <- c.read(ctx) }) {
		return
	}
	err := c.write(ctx, done)
	c.show(nil)
	c.sayGoodbye(err)
	cancel()
	c.conn.Close() // ends the reader
}

// read takes the client's messages. It is the only reader of the connection.
func (c *client) read(ctx context.Context) error {
	c.conn.SetReadLimit(readLimit)
	alive := func() { c.conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	alive()
	c.conn.SetPongHandler(func(string) error { alive(); return nil })
	for {
		kind, data, err := c.conn.ReadMessage()
		if err != nil {
			return err
		}
		alive()
		sub, problem := parse(kind, data)
		if problem != nil {
			select {
			case c.bad <- *problem:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		for sent := false; !sent; {
			select {
			case c.subs <- sub:
				sent = true
			case <-c.subs: // one that nobody took yet is outdated
			}
		}
	}
}

// parse reads a client's message.
func parse(kind int, data []byte) (Subscription, *Problem) {
	problem := func(format string, args ...any) (Subscription, *Problem) {
		return Subscription{}, &Problem{
			TypeError, fmt.Sprintf(format, args...), `{"type":"subscribe","process":"","scope":"","group":""}`,
		}
	}
	if kind != websocket.TextMessage {
		return problem("a message is JSON in a text frame")
	}
	var s Subscription
	if err := json.Unmarshal(data, &s); err != nil {
		return problem("a message is not JSON of the right form: %v", err)
	}
	if s.Type != TypeSubscribe {
		return problem("no message of a client has the type %q", short(s.Type))
	}
	for _, m := range []struct{ member, value string }{{"process", s.Process}, {"scope", s.Scope}, {"group", s.Group}} {
		if len(m.value) > longestName {
			return problem("%s is %d bytes long, more than %d", m.member, len(m.value), longestName)
		}
	}
	return s, nil
}

func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

var errAgentClosed = errors.New("vtserve ends")

// write sends the configuration and then frames. It is the only writer of the connection.
func (c *client) write(ctx context.Context, readerDone <-chan error) error {
	if err := c.send(c.agent.config()); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	next := time.NewTimer(firstWait)
	defer next.Stop()
	var wake <-chan struct{}
	var due <-chan time.Time = next.C
	for {
		frame := false
		select {
		case <-c.agent.ctx.Done():
			return errAgentClosed
		case <-ctx.Done():
			return ctx.Err()
		case err := <-readerDone:
			return err
		case <-ping.C:
			if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)); err != nil {
				return err
			}
		case p := <-c.bad:
			if err := c.send(p); err != nil {
				return err
			}
		case s := <-c.subs:
			c.subscribe(s)
			frame = true
		case <-wake:
			frame = true
		case <-due: // nothing happened: say so
			frame = true
		}
		if !frame {
			continue
		}
		if err := c.pause(ctx); err != nil {
			return err
		}
		var err error
		if wake, err = c.frame(); err != nil {
			return err
		}
		next.Reset(2 * c.agent.options.Interval)
		due = next.C
	}
}

// pause waits until frameGap has passed since the frame before.
func (c *client) pause(ctx context.Context) error {
	wait := time.Until(time.UnixMilli(c.sent.Time).Add(frameGap))
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// subscribe changes what the client looks at.
func (c *client) subscribe(s Subscription) {
	if s.Process != c.want.Process || s.Scope != c.want.Scope {
		c.held = ""
	}
	c.want = s
}

// show makes f the process that the client looks at.
func (c *client) show(f *follower) {
	if f == c.shown {
		return
	}
	if c.shown != nil {
		c.shown.leave()
	}
	c.shown, c.seen, c.next = f, 0, 0
	if f != nil {
		f.enter()
		c.next = ^uint64(0) // no number of a point: all of them, with reset
	}
}

// frame sends one frame, and returns a channel that is closed when there is something new.
func (c *client) frame() (<-chan struct{}, error) {
	f := c.agent.find(c.want.Process)
	if c.want.Process == "" {
		if c.stuck == nil || c.agent.find(c.stuck.key) == nil {
			c.stuck = c.agent.choose()
		}
		f = c.stuck
	}
	c.show(f)
	now := time.Now()
	whole := Frame{Type: TypeFrame, Seq: c.sent.Seq + 1, Time: now.UnixMilli(), Lost: c.sent.Lost}
	rows := []ProcessRow{}
	for _, v := range c.agent.views() {
		rows = append(rows, v.row)
	}
	whole.Processes = &rows
	var wake <-chan struct{}
	next := c.next
	if f == nil {
		whole.Process = &Process{Missing: c.missing(rows), Counts: make([]int, flight.StateCount), Snapshot: Taken{Incomplete: []string{}}}
		whole.Scopes = &Scopes{Rows: []ScopeRow{}}
		whole.Groups = &Groups{Rows: []GroupRow{}}
		whole.Stack = &Stack{Frames: []FrameRow{}, Examples: []ThreadRow{}}
		whole.Carriers = &Carriers{Rows: []CarrierRow{}}
		whole.Schedulers = &Schedulers{Rows: []SchedulerRow{}}
		none := noSurvey()
		whole.PinSites, whole.Delays, whole.Warnings = none.pins, none.delays, none.warnings
	} else {
		var v *view
		v, wake = f.watch()
		if c.seen != 0 && v.version > c.seen+1 {
			whole.Lost += v.version - c.seen - 1
		}
		c.seen = v.version
		whole.Process = v.header(c.agent.meter.cost(), c.agent.options.Interval)
		whole.Scopes = v.tree()
		whole.Groups = v.groups(c.want.Scope, c.want.Group)
		whole.Stack = c.stack(v, whole.Groups)
		whole.Carriers = v.carriers(v.asOf(now))
		whole.Schedulers = v.schedulers()
		whole.PinSites, whole.Delays, whole.Warnings = v.seen.pins, v.seen.delays, v.seen.warnings
		var points []point
		var reset bool
		points, next, reset = v.history.since(c.next)
		if len(points) > 0 || reset {
			whole.Points = newPoints(points, reset)
		}
	}
	message := whole
	c.omitSame(&message)
	if err := c.send(message); err != nil {
		return nil, err
	}
	c.sent, c.next = whole, next
	return wake, nil
}

// stack is the group that the client wants in full. If it wants none, it is the largest one of when it began
// to look, as long as that has threads: the largest may be another each second.
func (c *client) stack(v *view, groups *Groups) *Stack {
	if c.want.Group != "" {
		return v.stack(c.want.Group, groups)
	}
	s := v.stack(c.held, groups)
	if s.Row == nil && c.held != "" {
		s = v.stack("", groups)
	}
	c.held = s.Group
	return s
}

// missing says why there is nothing to show.
func (c *client) missing(rows []ProcessRow) string {
	switch {
	case c.want.Process != "":
		return fmt.Sprintf("vtserve knows no process %s (any more).", c.want.Process)
	case len(c.agent.options.PIDs) > 0:
		return "None of the processes that vtserve was asked to follow records, so far."
	}
	return "No program that uses vtscope runs, so far. It will show up here by itself."
}

// omitSame leaves out what the client has already.
func (c *client) omitSame(f *Frame) {
	if reflect.DeepEqual(f.Processes, c.sent.Processes) {
		f.Processes = nil
	}
	if reflect.DeepEqual(f.Process, c.sent.Process) {
		f.Process = nil
	}
	if reflect.DeepEqual(f.Scopes, c.sent.Scopes) {
		f.Scopes = nil
	}
	if reflect.DeepEqual(f.Groups, c.sent.Groups) {
		f.Groups = nil
	}
	if reflect.DeepEqual(f.Stack, c.sent.Stack) {
		f.Stack = nil
	}
	if reflect.DeepEqual(f.Carriers, c.sent.Carriers) {
		f.Carriers = nil
	}
	if reflect.DeepEqual(f.Schedulers, c.sent.Schedulers) {
		f.Schedulers = nil
	}
	if reflect.DeepEqual(f.PinSites, c.sent.PinSites) {
		f.PinSites = nil
	}
	if reflect.DeepEqual(f.Delays, c.sent.Delays) {
		f.Delays = nil
	}
	if reflect.DeepEqual(f.Warnings, c.sent.Warnings) {
		f.Warnings = nil
	}
}

func (c *client) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := c.conn.WriteMessage(websocket.TextMessage, data); err != nil {
		return err
	}
	c.agent.meter.sent.Add(uint64(len(data)))
	return nil
}

// sayGoodbye tells the client why the connection ends, if it listens.
func (c *client) sayGoodbye(err error) {
	code, text := websocket.CloseNormalClosure, ""
	switch {
	case errors.Is(err, errAgentClosed):
		code, text = websocket.CloseGoingAway, err.Error()
	case errors.Is(err, websocket.ErrReadLimit):
		code, text = websocket.CloseMessageTooBig, fmt.Sprintf("a message is at most %d bytes", readLimit)
	}
	c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
}

// config is the first message to each client.
func (a *Agent) config() Config {
	c := Config{
		Type: TypeConfig, Protocol: Protocol, Agent: About{os.Getpid(), a.started.UnixMilli()},
		IntervalMS: int(a.options.Interval.Milliseconds()), Points: a.options.Points, Limits: limits,
	}
	for _, s := range flight.States {
		c.States = append(c.States, Term{s.Name, s.About})
	}
	for _, r := range flight.Reasons {
		c.Reasons = append(c.Reasons, Term{r.Name, r.About})
	}
	for _, k := range flight.Kinds {
		c.Kinds = append(c.Kinds, Term{k.Name, k.About})
	}
	for _, f := range flight.Figures {
		c.Figures = append(c.Figures, FigureTerm{f.Name, f.About, f.Total, flight.FieldUses[f.Unit].Name})
	}
	for i := range flight.HistogramBuckets {
		c.Buckets = append(c.Buckets, int64(flight.BucketEnd(i)))
	}
	return c
}
