package jdk

import (
	"context"
	"io"
	"strconv"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Text writes all threads of a source as a thread dump of the JDK in its plain form, scope by scope; the form does not tell of scopes. What has no place in a
// line, such as its end in a name, becomes "·". Else it is as [JSON].
func Text(ctx context.Context, w io.Writer, src dump.Source, o Options) error {
	p, err := newPrinter(ctx, w, src, o)
	if err != nil {
		return err
	}
	p.render = func(to []byte, s *flight.Stack) []byte {
		for i := range s.Frames {
			to = append(to, "    at "...)
			to = append(to, dump.Printable(string(appendFrame(nil, &s.Frames[i])))...)
			to = append(to, '\n')
		}
		return to
	}
	process := src.Process()
	p.text(strconv.Itoa(process.PID) + "\n")
	p.b = append(p.b, p.time...)
	p.text("\n" + dump.Printable(process.GoVersion) + "\n\n")
	if err := p.l.ByScope(ctx, func(int) error { return nil }, p.textThread); err != nil {
		return err
	}
	return p.flush(0)
}

func (p *printer) textThread(t *dump.Thread) error {
	if t.State == flight.StateDone {
		return nil
	}
	if p.left--; p.left < 0 {
		p.tick()
	}
	p.b = strconv.AppendUint(append(p.b, '#'), uint64(t.ID), 10)
	p.text(` "`)
	p.text(dump.Printable(p.l.Name(t)))
	p.text(`" `)
	if virtual(t) {
		p.text("virtual ")
	}
	p.text(stateName(t.State, t.Row.Limited))
	p.b = append(append(append(p.b, ' '), p.time...), '\n')
	stack := p.stack(t.Stack)
	first := 0
	for first < len(stack) && stack[first] != '\n' {
		first++
	}
	first = min(first+1, len(stack))
	p.b = append(p.b, stack[:first]...)
	if b := t.Row.Blocker; tieOf(t.State, b) != free {
		p.text([...]string{parkedFor: "    - parking to wait for <", blockedOn: "    - waiting to lock <", waitingOn: "    - waiting on <"}[tieOf(t.State, b)])
		p.b = append(appendIdentity(p.b, b), '>')
		if owner := p.holders[b]; owner != 0 && tieOf(t.State, b) == parkedFor {
			p.text(", owner #")
			p.b = strconv.AppendUint(p.b, uint64(owner), 10)
		}
		p.text("\n")
	}
	p.b = append(p.b, stack[first:]...)
	for _, b := range p.owned[t.ID] { // after all frames: the one that took it is not known
		p.text("    - locked <")
		p.b = append(appendIdentity(p.b, b), ">\n"...)
	}
	p.text("\n")
	return p.flush(flushAt)
}
