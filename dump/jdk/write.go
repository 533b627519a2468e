package jdk

import (
	"context"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Extras names what [JSON] adds of our own, and its version.
const Extras = "vtscope/jdk/v1"

// Options say how to write. The zero value is usable.
type Options struct {
	// Filter leaves out the threads that it does not match. Containers stay.
	Filter *filter.Filter
	// Version is that of the JSON form: 1 is of JDK 21 to 26, 2 of JDK 27. 0 means 2.
	Version int
	// Bare leaves out the members x-vtscope.
	Bare bool
}

const (
	flushAt   = 256 << 10
	maxFrames = 32 << 20 // bytes of stacks that are kept as text
	timeStays = 256      // threads for which one look at the clock will do
)

// A printer writes a dump. What it writes goes through b.
type printer struct {
	w       io.Writer
	b       []byte
	l       *dump.Listing
	o       Options
	frames  map[flight.StackID][]byte // text of a stack
	cut     map[flight.StackID]bool   // of them those that lack outer frames
	kept    int                       // bytes of frames
	render  func(to []byte, s *flight.Stack) []byte
	holders map[flight.Blocker]flight.ThreadID
	named   map[flight.Blocker]string
	owned   map[flight.ThreadID][]flight.Blocker
	time    []byte
	left    int // threads for which time stays
	fixed   time.Time
}

func newPrinter(ctx context.Context, w io.Writer, src dump.Source, o Options) (*printer, error) {
	l, err := dump.List(ctx, src, dump.Options{Filter: o.Filter})
	if err != nil {
		return nil, err
	}
	p := &printer{
		w: w, b: make([]byte, 0, flushAt+64<<10), l: l, o: o, frames: map[flight.StackID][]byte{}, cut: map[flight.StackID]bool{}, holders: map[flight.Blocker]flight.ThreadID{},
		named: map[flight.Blocker]string{},
	}
	rows, _ := src.Blockers() // who holds what is not known then
	for i := range rows {
		r := &rows[i]
		if r.Name != "" {
			p.named[r.Blocker] = r.Name
		}
		if known := r.Known(); r.Held == 1 && len(known) == 1 && known[0].Party.Thread() != 0 {
			p.holders[r.Blocker] = known[0].Party.Thread()
		}
	}
	p.owned = dump.HeldLocks(rows)
	if m, ok := src.(dump.Moment); ok {
		p.fixed = m.At()
	} else if process := src.Process(); !process.Status.Live() {
		p.fixed = process.LastSeen
	}
	p.tick()
	return p, nil
}

// tick looks at the clock.
func (p *printer) tick() {
	t := p.fixed
	if t.IsZero() {
		t = time.Now()
	}
	p.time, p.left = t.UTC().AppendFormat(p.time[:0], "2006-01-02T15:04:05.000000000Z"), timeStays
}

func (p *printer) flush(atLeast int) error {
	if len(p.b) < atLeast {
		return nil
	}
	_, err := p.w.Write(p.b)
	p.b = p.b[:0]
	return err
}

// stack returns the text of a stack.
func (p *printer) stack(id flight.StackID) []byte {
	if text, ok := p.frames[id]; ok {
		return text
	}
	var s flight.Stack
	if id != 0 {
		var err error
		if s, err = p.l.Source.Stack(id); err != nil {
			s.Frames = []flight.Frame{{Func: "stack " + strconv.Itoa(int(id)) + ": " + err.Error()}}
		}
	}
	text := p.render(nil, &s)
	if p.kept += len(text); p.kept > maxFrames {
		clear(p.frames)
		clear(p.cut)
		p.kept = len(text)
	}
	if s.Truncated {
		p.cut[id] = true
	}
	p.frames[id] = text
	return text
}

// JSON writes all threads of a source as a thread dump of the JDK, each by itself, in the containers that are their scopes. Its memory does not grow with the
// threads. What is missing stands in the extras of the document. The error is that of ctx, of w, or of a source that cannot be read at all.
func JSON(ctx context.Context, w io.Writer, src dump.Source, o Options) error {
	p, err := newPrinter(ctx, w, src, o)
	if err != nil {
		return err
	}
	p.render = appendFrames
	process := src.Process()
	p.text("{\n  \"threadDump\": {\n")
	if o.Version != 1 {
		p.text("    \"formatVersion\": 2,\n")
	}
	p.text("    \"processId\": ")
	p.number(uint64(max(process.PID, 0)))
	p.text(",\n    \"time\": \"")
	p.b = append(p.b, p.time...)
	p.text("\",\n    \"runtimeVersion\": ")
	p.quote(process.GoVersion)
	p.text(",\n    \"threadContainers\": [")
	j := jsonPrinter{printer: p}
	if err := p.l.ByScope(ctx, j.scope, j.thread); err != nil {
		return err
	}
	j.endScope()
	p.text("\n    ]")
	if !o.Bare {
		p.documentExtras(&process)
	}
	p.text("\n  }\n}\n")
	return p.flush(0)
}

// A jsonPrinter is within the list of containers.
type jsonPrinter struct {
	*printer
	at      int // the scope that is open, if open
	open    bool
	written int // its threads
}

func (p *printer) text(s string) { p.b = append(p.b, s...) }

// maxSafe is the greatest integer that every reader of JSON reads as it is.
const maxSafe = 1<<53 - 1

// number writes an id, as the version has it.
func (p *printer) number(n uint64) {
	if p.o.Version == 1 || n > maxSafe {
		p.b = append(p.b, '"')
		p.b = strconv.AppendUint(p.b, n, 10)
		p.b = append(p.b, '"')
		return
	}
	p.b = strconv.AppendUint(p.b, n, 10)
}

func (p *printer) quote(s string) { p.b = appendString(p.b, s) }

// appendString writes a string with the escapes of the JDK.
func appendString(to []byte, s string) []byte {
	to = append(to, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			to = utf8.AppendRune(to, r) // what is no UTF-8 becomes U+FFFD
			i += n
			continue
		}
		i++
		if esc := escapes[c]; esc != 0 {
			to = append(to, '\\', esc)
		} else if c < ' ' {
			const hex = "0123456789abcdef"
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			to = append(to, c)
		}
	}
	return append(to, '"')
}

var escapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendFrames writes the member stack.
func appendFrames(to []byte, s *flight.Stack) []byte {
	to = append(to, `            "stack": [`...)
	var line []byte
	for i := range s.Frames {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, "\n              "...)
		line = appendFrame(line[:0], &s.Frames[i])
		to = appendString(to, string(line))
	}
	to = append(to, "\n            ]"...)
	return to
}

// appendFrame writes a call as the JDK writes one: function(file:line).
func appendFrame(to []byte, f *flight.Frame) []byte {
	name := f.Func
	if name == "" {
		name = "0x" + strconv.FormatUint(f.PC, 16)
	}
	to = append(to, name...)
	to = append(to, '(')
	if f.File == "" {
		to = append(to, "Unknown Source"...)
	} else {
		to = append(to, baseName(f.File)...)
		if f.Line > 0 {
			to = append(to, ':')
			to = strconv.AppendInt(to, int64(f.Line), 10)
		}
	}
	return append(to, ')')
}

// baseName takes the directories off a path of any system.
func baseName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' || path[i] == '\\' {
			return path[i+1:]
		}
	}
	return path
}

// container writes the name of a scope, which no other scope has.
func (p *printer) container(at int) {
	s := &p.l.Scopes[at]
	if at == 0 {
		p.text(`"<root>"`)
		return
	}
	name := []byte(s.Name)
	if len(name) > 0 {
		name = append(name, '/')
	}
	if s.ID != 0 {
		name = strconv.AppendUint(append(name, scopeClass+"@"...), uint64(s.ID), 16)
	} else {
		name = strconv.AppendUint(append(name, labelClass+"@"...), uint64(at), 16)
	}
	p.quote(string(name))
}

// What scopes are called as objects; one without a number of its own is a label.
const (
	scopeClass = "vtscope.Scope"
	labelClass = "vtscope.Label"
)

func (j *jsonPrinter) scope(at int) error {
	j.endScope()
	s := &j.l.Scopes[at]
	if at > 0 {
		j.text(",")
	}
	j.text("\n      {\n        \"container\": ")
	j.container(at)
	j.text(",\n        \"parent\": ")
	if s.Above < 0 {
		j.text("null")
	} else {
		j.container(s.Above)
	}
	j.text(",\n        \"owner\": ")
	if s.Owner == 0 {
		j.text("null")
	} else {
		j.number(uint64(s.Owner))
	}
	j.text(",\n        \"threads\": [")
	j.at, j.open, j.written = at, true, 0
	return j.flush(flushAt)
}

func (j *jsonPrinter) endScope() {
	if !j.open {
		return
	}
	s := &j.l.Scopes[j.at]
	count := j.written
	if j.o.Filter != nil {
		count = max(count, s.Threads)
	}
	j.text("\n        ],\n        \"threadCount\": ")
	j.number(uint64(count))
	if !j.o.Bare {
		j.scopeExtras(s)
	}
	j.text("\n      }")
	j.open = false
}

func (j *jsonPrinter) thread(t *dump.Thread) error {
	if t.State == flight.StateDone {
		return nil
	}
	if j.left--; j.left < 0 {
		j.tick()
	}
	if j.written > 0 {
		j.text(",")
	}
	j.written++
	j.text("\n          {\n            \"tid\": ")
	j.number(uint64(t.ID))
	j.text(",\n            \"time\": \"")
	j.b = append(j.b, j.time...)
	j.text("\",\n            ")
	if virtual(t) {
		j.text("\"virtual\": true,\n            ")
	}
	j.text("\"name\": ")
	j.quote(j.l.Name(t))
	j.text(",\n            \"state\": \"")
	j.text(stateName(t.State, t.Row.Limited))
	j.text("\",\n")
	b := t.Row.Blocker
	switch tieOf(t.State, b) {
	case parkedFor:
		j.text("            \"parkBlocker\": {\n              \"object\": ")
		j.identity(b)
		if owner := j.holders[b]; owner != 0 {
			j.text(",\n              \"owner\": ")
			j.number(uint64(owner))
		}
		j.text("\n            },\n")
	case blockedOn:
		j.text("            \"blockedOn\": ")
		j.identity(b)
		j.text(",\n")
	case waitingOn:
		j.text("            \"waitingOn\": ")
		j.identity(b)
		j.text(",\n")
	}
	j.b = append(j.b, j.stack(t.Stack)...)
	j.monitors(t.ID)
	if t.Carrier != flight.NoCarrier && virtual(t) {
		j.text(",\n            \"carrier\": ")
		j.number(carrierBase + uint64(t.Carrier))
	}
	if !j.o.Bare {
		j.threadExtras(t)
	}
	j.text("\n          }")
	return j.flush(flushAt)
}

// noDepth is the depth of a lock whose frame is not known, as a java.lang.management.MonitorInfo without a frame has one below 0.
const noDepth = "-1"

// monitors writes the locks of a thread.
func (p *printer) monitors(id flight.ThreadID) {
	locks := p.owned[id]
	if len(locks) == 0 {
		return
	}
	p.text(",\n            \"monitorsOwned\": [\n              {\n                \"depth\": " + noDepth + ",\n                \"locks\": [")
	for i, b := range locks {
		if i > 0 {
			p.text(",")
		}
		p.text("\n                  ")
		p.identity(b)
	}
	p.text("\n                ]\n              }\n            ]")
}

func virtual(t *dump.Thread) bool {
	return t.Row.Flags&(flight.RecordOnGoroutine|flight.RecordOnOSThread|flight.RecordAdopted) == 0
}

func (p *printer) identity(b flight.Blocker) {
	p.b = append(p.b, '"')
	p.b = appendIdentity(p.b, b)
	p.b = append(p.b, '"')
}
