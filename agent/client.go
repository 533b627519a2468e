package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

const (
	readLimit    = 12 << 10               // bytes of a client's message: subscriptions are short
	pingEvery    = 20 * time.Second       //
	pongTimeout  = 50 * time.Second       // without an answer the connection is dead
	frameGap     = 50 * time.Millisecond  // at least between two frames, however often a client subscribes
	firstWait    = 500 * time.Millisecond // for the first subscription, before the default is shown
	longestSeen  = 256                    // bytes of a message that tells which frame has come
	mostUnseen   = 2                      // frames that may be on their way to a client that tells which have come
	longestName  = 2 << 10                // bytes of a member of a subscription
	mostMarks    = 8                      // moments that a client may have marked
	markEvery    = 10 * time.Second       // they are told to the keeper again
	pieceOfWrite = 4 << 10                // bytes of a message that are written under one deadline
	compressFrom = 1 << 10                // bytes of a message that is worth compressing, for clients of other machines
)

// writeTimeout is how long a client may take nothing: then it is cut off. It changes in tests only.
var writeTimeout = 10 * time.Second

// A client is one websocket. Its writer makes frames when the connection takes them, from the newest view:
// so nothing queues up, and a slow client skips frames instead of receiving old ones.
type client struct {
	agent  *Agent
	caller access.Caller
	conn   *websocket.Conn
	subs   chan Subscription // from the reader, only the newest
	bad    chan Problem      // from the reader
	came   chan uint64       // from the reader, the newest frame that the client has seen

	// Of the writer alone.
	want   Subscription
	filter *filter.Filter // that want names
	panels []*panel       // that want names
	survey bool           // one of them is made of surveys
	shown  *follower      // that want names
	using  *filter.Filter // the filter, as long as shown.filters counts this client for it
	looks  bool           // shown.surveyed counts this client
	stuck  *follower      // the agent's choice when want names no process: it stays the same
	marked time.Time      // when the moments that want names were marked last
	rewind rewinder       // what it looks at that looks at the past
	held   string         // key of the agent's choice when want names no group: it stays while it has threads
	sent   map[string]*part
	seq    uint64 // of the frame sent last
	tells  bool   // the client tells which frames have come
	told   uint64 // the newest of them
	at     time.Time
	lost   uint64
	seen   uint64 // version of the view sent last
	next   uint64 // number of the first point that the client lacks
}

// serve talks to a client until it goes away or the agent closes.
func (c *client) serve() {
	ctx, cancel := context.WithCancel(c.agent.ctx)
	defer c.conn.Close()
	c.sent = map[string]*part{}
	c.use(Subscription{}, nil)
	defer cancel()
	done := make(chan error, 1)
	if !c.agent.goWhileOpen(func() { done <- c.read(ctx) }) {
		return
	}
	c.agent.meter.clients.Add(1)
	err := c.write(ctx, done)
	c.countMissed(err)
	c.show(nil)
	c.rewind.stop()
	c.agent.meter.clients.Add(-1)
	c.sayGoodbye(err)
	cancel()
	c.conn.Close() // ends the reader
}

// countMissed counts the frames that a client did not get that was cut off because it took nothing.
func (c *client) countMissed(err error) {
	if ne := (net.Error)(nil); c.shown != nil && c.seen != 0 && errors.As(err, &ne) && ne.Timeout() {
		c.agent.meter.lostFrames.Add(c.shown.view().version - c.seen)
	}
}

// read takes the client's messages. It is the only reader of the connection.
func (c *client) read(ctx context.Context) error {
	c.conn.SetReadLimit(readLimit)
	alive := func() { c.conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	alive()
	c.conn.SetPongHandler(func(string) error { alive(); return nil })
	for {
		kind, data, err := c.readMessage()
		if err != nil {
			return err
		}
		alive()
		if seq, is := parseSeen(data); is {
			put(c.came, seq, greatest)
			continue
		}
		sub, problem := parse(kind, data)
		if problem != nil {
			select {
			case c.bad <- *problem:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		newest(c.subs, sub)
	}
}

// newest puts a value into a channel of one, in place of one that nobody has taken yet. There is no other sender.
func newest[T any](to chan T, value T) {
	put(to, value, func(_, value T) T { return value })
}

func greatest(a, b uint64) uint64 { return max(a, b) }

// put puts a value into a channel of one, merged with one that nobody has taken yet. There is no other sender.
func put[T any](to chan T, value T, merge func(old, value T) T) {
	for {
		select {
		case to <- value:
			return
		case old := <-to:
			value = merge(old, value)
		}
	}
}

// parseSeen reads which frame has come, if that is what a client's message tells.
func parseSeen(data []byte) (seq uint64, is bool) {
	var s Seen
	if len(data) > longestSeen || json.Unmarshal(data, &s) != nil || s.Type != TypeSeen {
		return 0, false
	}
	return s.Seq, true
}

// readMessage reads a whole message. The connection's own limit is for what comes compressed as it came.
func (c *client) readMessage() (kind int, data []byte, err error) {
	kind, r, err := c.conn.NextReader()
	if err != nil {
		return 0, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, readLimit+1))
	if err == nil && len(data) > readLimit {
		err = websocket.ErrReadLimit
	}
	return kind, data, err
}

// parse reads a client's message.
func parse(kind int, data []byte) (Subscription, *Problem) {
	refused := func(format string, args ...any) (Subscription, *Problem) {
		return Subscription{}, &Problem{
			Type: TypeError, Error: fmt.Sprintf(format, args...), Try: `{"type":"subscribe","process":"","scope":"","group":""}`,
		}
	}
	if kind != websocket.TextMessage {
		return refused("a message is JSON in a text frame")
	}
	var s Subscription
	if err := json.Unmarshal(data, &s); err != nil {
		return refused("a message is not JSON of the right form: %v", err)
	}
	if s.Type != TypeSubscribe {
		return refused("no message of a client has the type %q", short(s.Type))
	}
	for _, m := range []struct{ member, value string }{{"process", s.Process}, {"scope", s.Scope}, {"group", s.Group}, {"func", s.Func}} {
		if len(m.value) > longestName {
			return refused("%s is %d bytes long, more than %d", m.member, len(m.value), longestName)
		}
	}
	if len(s.Marks) > mostMarks {
		return refused("%d moments are marked, more than %d", len(s.Marks), mostMarks)
	}
	if problem := s.checkTree(); problem != "" {
		return refused("%s", problem)
	}
	for _, name := range s.Panels {
		if !slices.Contains(panelNames(), name) {
			return refused("there is no panel %q, only %s", short(name), strings.Join(panelNames(), ", "))
		}
	}
	if _, ok := groupOrders[s.GroupOrder]; !ok {
		return refused("groups have no order %q, only change and wait, and by count without one", short(s.GroupOrder))
	}
	if _, err := filter.Parse(s.Filter); err != nil {
		return Subscription{}, wrongFilter(err)
	}
	return s, nil
}

// wrongFilter tells where a filter is wrong.
func wrongFilter(err error) *Problem {
	p := &Problem{Type: TypeError, Error: err.Error(), Try: "docs/filter.md"}
	if e := (*filter.Error)(nil); errors.As(err, &e) {
		p.Filter, p.At = e.Text, utf8.RuneCountInString(e.Text[:e.At])
		p.Length = utf8.RuneCountInString(e.Text[e.At:min(e.At+e.Len, len(e.Text))])
		p.Try = cmp.Or(e.Try, p.Try)
	}
	return p
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
	if err := c.send(c.agent.config(c.caller)); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	next := time.NewTimer(firstWait)
	defer next.Stop()
	var wake <-chan struct{}
	var due <-chan time.Time = next.C
	owes := false // a frame, as soon as one of those on their way has come
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
		case seq := <-c.came:
			c.tells, c.told = true, max(c.told, min(seq, c.seq))
			frame = owes
		case <-wake:
			frame = true
		case <-due: // nothing happened: say so
			frame = true
		}
		if !frame {
			continue
		}
		if owes = c.tells && c.seq-c.told >= mostUnseen; owes {
			wake, due = nil, nil
			continue
		}
		if err := c.pause(ctx); err != nil {
			return err
		}
		var err error
		if wake, err = c.frame(ctx); err != nil {
			return err
		}
		next.Reset(2 * c.agent.options.Interval)
		due = next.C
	}
}

// pause waits until frameGap has passed since the frame before.
func (c *client) pause(ctx context.Context) error {
	wait := time.Until(c.at.Add(frameGap))
	if wait <= 0 {
		return nil
	}
	return pause(ctx, wait)
}

// subscribe changes what the client looks at.
func (c *client) subscribe(s Subscription) {
	if s.Process != c.want.Process || s.Scope != c.want.Scope || s.Filter != c.want.Filter {
		c.held = ""
	}
	if s.Process != c.want.Process {
		clear(c.sent) // the client has forgotten it
		c.next = allPoints
	}
	by, _ := filter.Parse(s.Filter) // parse has found it right
	c.use(s, by)
	for i := range panels {
		if !slices.Contains(c.panels, &panels[i]) {
			delete(c.sent, panels[i].name) // it may be outdated when the client wants it again
		}
	}
}

// use takes a subscription that is right.
func (c *client) use(s Subscription, by *filter.Filter) {
	c.want, c.filter, c.panels, c.survey = s, by, nil, false
	c.marked = time.Time{}
	for i := range panels {
		if p := &panels[i]; s.Panels == nil && !p.asked || p.name == "process" || slices.Contains(s.Panels, p.name) {
			c.panels = append(c.panels, p)
			c.survey = c.survey || p.survey
		}
	}
}

// allPoints is no number of a point: all of them are sent, with reset.
const allPoints = ^uint64(0)

// show makes f the process that the client looks at, with the filter and panels that it wants. It reports whether there was room for the filter.
func (c *client) show(f *follower) bool {
	if c.using != nil && (f != c.shown || c.using.String() != c.filter.String()) {
		c.shown.filters.leave(c.using)
		c.using = nil
	}
	if c.looks && (f != c.shown || !c.survey) {
		c.shown.surveyed.Add(-1)
		c.looks = false
	}
	if f != c.shown {
		if c.shown != nil {
			c.shown.leave()
		}
		c.shown, c.seen, c.next = f, 0, 0
		if f != nil {
			f.enter()
			c.next = allPoints
		}
	}
	if f == nil {
		return true
	}
	if c.survey && !c.looks {
		f.surveyed.Add(1)
		c.looks = true
		f.hurry()
	}
	if c.using == nil && !c.filter.Empty() {
		if !f.filters.enter(c.filter) {
			return false
		}
		c.using = c.filter
		f.hurry()
	}
	return true
}

// frame sends one frame, and returns a channel that is closed when there is something new.
func (c *client) frame(ctx context.Context) (<-chan struct{}, error) {
	f := c.agent.find(c.want.Process)
	if c.want.Process == "" {
		if c.stuck == nil || c.agent.find(c.stuck.key) == nil {
			c.stuck = c.agent.choose()
		}
		f = c.stuck
	}
	room := c.show(f)
	var wake <-chan struct{}
	l := &look{agent: c.agent, want: c.want, from: c.next}
	l.cost, l.tells = c.agent.meter.cost()
	rows := c.agent.rows()
	if f == nil {
		c.rewind.stop()
		l.why = c.missing(rows.rows)
	} else {
		root := f.root()
		l.line, wake = root.watch()
		now := l.line
		if root != f {
			now = f.view()
		}
		if c.seen != 0 && l.line.version > c.seen+1 {
			n := l.line.version - c.seen - 1
			c.lost += n
			c.agent.meter.lostFrames.Add(n)
		}
		c.seen = l.line.version
		_, l.next, _ = l.line.history.since(c.next)
		c.mark(root, time.Now())
		var busy bool
		if l.view, l.at, busy = c.rewind.look(ctx, f, now, c.want.At); busy {
			wake = atOnce
		}
		if room || l.view.kept {
			l.shown = l.view.only(ctx, c.filter)
		} else {
			l.shown = l.view.withoutRoom()
		}
		l.want.Filter = c.filter.String()
		l.group = c.group(l.shown)
	}
	now := time.Now()
	w := frameWriter{client: c}
	w.begin(c.seq+1, now, c.lost)
	w.add("processes", rows.part)
	for _, p := range c.panels {
		w.add(p.name, p.part(l))
	}
	if err := c.sendBytes(w.end()); err != nil {
		return nil, err
	}
	c.seq, c.at, c.next = c.seq+1, now, l.next
	if f != nil && !slices.ContainsFunc(c.panels, func(p *panel) bool { return p.name == "points" }) {
		c.next = l.from // they were not sent
	}
	return wake, nil
}

// mark keeps the moments that the client has marked, as long as it looks.
func (c *client) mark(f *follower, now time.Time) {
	if len(c.want.Marks) == 0 || now.Sub(c.marked) < markEvery {
		return
	}
	c.marked = now
	for _, at := range c.want.Marks {
		f.keeper.mark(at, now)
	}
}

// A frameWriter writes what a client does not have yet.
type frameWriter struct {
	client *client
	out    []byte
	deltas []byte
}

func (w *frameWriter) begin(seq uint64, now time.Time, lost uint64) {
	w.out = fmt.Appendf(nil, `{"type":%q,"seq":%d,"time":%d,"lost":%d`, TypeFrame, seq, now.UnixMilli(), lost)
}

func (w *frameWriter) add(name string, p *part) {
	old := w.client.sent[name]
	if p == nil || p.same(old) {
		return
	}
	w.client.sent[name] = p
	if name == "points" { // each is sent once
		delete(w.client.sent, name)
	}
	if w.client.want.Deltas {
		if d := p.from(old); d != nil {
			if w.deltas == nil {
				w.deltas = []byte{'{'}
			}
			w.deltas = append(appendName(w.deltas, name), d...)
			return
		}
	}
	w.out = append(appendName(w.out, name), p.json...)
}

func (w *frameWriter) end() []byte {
	if w.deltas != nil {
		w.out = append(append(appendName(w.out, "deltas"), w.deltas...), '}')
	}
	return append(w.out, '}')
}

// group is the key of the group that the client wants in full. If it wants none, it is the largest one of when it began
// to look, as long as that has threads: the largest may be another each second.
func (c *client) group(v *view) string {
	if c.want.Group != "" {
		return c.want.Group
	}
	if !v.hasGroup(c.held) {
		c.held = v.largestGroup(c.want.Scope)
	}
	return c.held
}

// atOnce is a channel that is closed: there is something new at once.
var atOnce = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// missing says why there is nothing to show.
func (c *client) missing(rows []ProcessRow) string {
	switch {
	case c.want.Process != "":
		return fmt.Sprintf("vtserve knows no process %s (any more).", c.want.Process)
	case c.agent.options.self:
		return "The recorder of this program is off, or has not begun: it runs with VTSCOPE=off, or has no threads."
	case len(c.agent.options.PIDs) > 0:
		return "None of the processes that vtserve was asked to follow can be seen, so far."
	}
	if c.agent.options.Goroutines {
		return "No Go program runs that can be seen, so far. It will show up here by itself."
	}
	return "No program that uses vtscope runs, so far. It will show up here by itself. vtserve --goroutines shows all other Go programs, and vtserve PID one of them."
}

func (c *client) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.sendBytes(data)
}

func (c *client) sendBytes(data []byte) error {
	c.conn.EnableWriteCompression(len(data) >= compressFrom) // nothing happens if it was not agreed on
	c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	w, err := c.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	// Each piece has a deadline of its own: who takes a large frame slowly takes something.
	for piece := range slices.Chunk(data, pieceOfWrite) {
		c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.agent.meter.sent.Add(uint64(len(data)))
	return nil
}

// sayGoodbye tells the client why the connection ends, if it listens.
func (c *client) sayGoodbye(err error) {
	code, text := websocket.CloseNormalClosure, ""
	switch {
	case errors.Is(err, errAgentClosed), c.agent.ctx.Err() != nil: // of two reasons at once this one is told
		code, text = websocket.CloseGoingAway, errAgentClosed.Error()
	case errors.Is(err, websocket.ErrReadLimit):
		code, text = websocket.CloseMessageTooBig, fmt.Sprintf("a message is at most %d bytes", readLimit)
	}
	c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
}

// config is the first message to each client.
func (a *Agent) config(to access.Caller) Config {
	c := Config{
		Type: TypeConfig, Protocol: Protocol, Agent: About{os.Getpid(), a.started.UnixMilli()},
		IntervalMS: int(a.options.Interval.Milliseconds()), Points: a.options.Points, Limits: limits, Orders: orderTerms(), Panels: panelNames(),
		Caller: CallerTerm{to.Name, to.Role.String()}, Incidents: a.options.Incidents != nil, Programs: a.whyNoPrograms() == nil, Marks: a.options.Marks != "", TraceURL: a.options.TraceURL,
	}
	for i := range filter.Fields {
		f := &filter.Fields[i]
		c.Filter = append(c.Filter, FilterTerm{f.Name, f.About, f.Operators(), append([]string{}, f.Values...), f.Example()})
	}
	for i := range dump.Checks {
		x := &dump.Checks[i]
		c.Checks = append(c.Checks, CheckTerm{x.Name, x.About, x.Remedy})
	}
	for _, s := range flight.States {
		c.States = append(c.States, Term{s.Name, s.About})
	}
	for _, r := range flight.Reasons {
		c.Reasons = append(c.Reasons, Term{r.Name, r.About})
	}
	c.Kinds = kindTerms()
	for _, f := range flight.Figures {
		c.Figures = append(c.Figures, FigureTerm{f.Name, f.About, f.Total, flight.FieldUses[f.Unit].Name})
	}
	for i := range flight.HistogramBuckets {
		c.Buckets = append(c.Buckets, int64(flight.BucketEnd(i)))
	}
	return c
}
