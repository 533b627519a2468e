package jdk

import (
	"strconv"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// extrasMember is the member of threads, containers and the document that holds what the JDK does not know. Numbers in it are numbers in both versions.
const extrasMember = "x-vtscope"

// The extras, as they are read. What is 0, empty or false is not written.
type (
	threadExtras struct {
		State     string        // of [flight.States]
		Reason    string        // of [flight.Reasons]
		Wait      time.Duration // wait_ns
		NoWait    bool          // wait_unknown
		Blocker   string        // such as: mutex "db"
		Owner     uint64        // of the blocker
		Limited   bool
		Kind      string // goroutine or os-thread; "": virtual
		Waker     uint64
		Mounts    uint32
		Pins      uint32
		Scheduler flight.SchedulerID
		Truncated bool // outer frames are missing
	}
	scopeExtras struct {
		Name     string
		Policy   string
		Limit    uint32
		Queued   uint32
		Deadline time.Time
	}
	documentExtras struct {
		Format     string
		Program    string
		Exe        string
		UID        int
		Started    time.Time
		Status     string
		Incomplete []string
	}
)

// A list writes the members of an object on one line.
type list struct {
	p    *printer
	some bool
}

func (p *printer) extras(indent string) list {
	p.text(",\n" + indent + `"` + extrasMember + `": {`)
	return list{p: p}
}

func (l *list) name(s string) {
	if l.some {
		l.p.text(", ")
	}
	l.some = true
	l.p.b = append(l.p.b, '"')
	l.p.text(s)
	l.p.text(`": `)
}

func (l *list) text(name, value string) {
	if value != "" {
		l.name(name)
		l.p.quote(value)
	}
}

func (l *list) number(name string, n uint64) {
	if n != 0 {
		l.name(name)
		if n > maxSafe {
			l.p.quote(strconv.FormatUint(n, 10))
			return
		}
		l.p.b = strconv.AppendUint(l.p.b, n, 10)
	}
}

func (l *list) yes(name string, is bool) {
	if is {
		l.name(name)
		l.p.text("true")
	}
}

func (l *list) time(name string, t time.Time) {
	if !t.IsZero() {
		l.text(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (l *list) end() { l.p.text("}") }

func (p *printer) threadExtras(t *dump.Thread) {
	l := p.extras("            ")
	l.name("state")
	p.b = append(p.b, '"')
	p.text(t.State.String())
	p.b = append(p.b, '"')
	if t.Reason != flight.ReasonNone {
		l.name("reason")
		p.b = append(p.b, '"')
		p.text(t.Reason.String())
		p.b = append(p.b, '"')
	}
	l.number("wait_ns", uint64(max(t.Wait, 0)))
	l.yes("wait_unknown", t.Since == 0)
	if b := t.Row.Blocker; tieOf(t.State, b) != free {
		if name := p.named[b]; name != "" {
			l.text("blocker", flight.BlockerKinds[b.Kind()].Name+" "+strconv.Quote(name))
		}
		l.number("owner", uint64(p.holders[b]))
	}
	l.yes("limited", t.Row.Limited)
	switch {
	case t.Row.Flags&flight.RecordOnOSThread != 0:
		l.text("kind", "os-thread")
	case t.Row.Flags&flight.RecordOnGoroutine != 0:
		l.text("kind", "goroutine")
	case t.Row.Flags&flight.RecordAdopted != 0:
		l.text("kind", "adopted")
	}
	l.number("waker", uint64(t.Row.Waker))
	l.number("mounts", uint64(t.Row.Mounts))
	l.number("pins", uint64(t.Row.Pins))
	l.number("scheduler", uint64(t.Row.Scheduler))
	if p.cut[t.Stack] {
		l.yes("truncated", true)
	}
	l.end()
}

func (p *printer) scopeExtras(s *dump.ListedScope) {
	l := p.extras("        ")
	l.text("name", s.Name)
	l.number("id", uint64(s.ID))
	l.text("policy", s.Policy)
	l.number("limit", uint64(s.Limit))
	l.number("queued", uint64(s.Queued))
	if s.Deadline != 0 {
		l.time("deadline", p.l.Source.Time(s.Deadline))
	}
	l.end()
}

func (p *printer) documentExtras(process *flight.Process) {
	l := p.extras("    ")
	l.text("format", Extras)
	l.text("program", process.Program)
	l.text("exe", process.Exe)
	l.number("uid", uint64(max(process.UID, 0)))
	l.time("started", process.Start)
	l.text("status", process.Status.String())
	l.text("filter", p.o.Filter.String())
	l.number("threads", uint64(p.l.Threads))
	if missing := p.l.Incomplete(); len(missing) > 0 {
		l.name("incomplete")
		for i, s := range missing {
			p.text(map[bool]string{true: "[", false: ", "}[i == 0])
			p.quote(s)
		}
		p.text("]")
	}
	l.end()
}
