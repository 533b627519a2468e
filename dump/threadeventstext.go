package dump

import (
	"fmt"
	"io"
)

// ThreadEventsText prints events for a person, the newest last. Of o, Top has had its say when they were taken.
func ThreadEventsText(w io.Writer, e *ThreadEvents, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &threadPage{&ThreadReport{}, o, glyphs, lines}
	p.text(bold, p.process(&e.Process))
	p.text(plain, "  events of thread ")
	p.text(bold, p.party(&Party{Thread: e.ID, Name: e.Name}))
	if e.State == "" {
		p.text(warn, ", which has ended, or never was")
	}
	p.endLine()
	p.trust(&e.Process, max(e.Taken.Sub(e.AsOf), 0), e.Took, e.Complete)
	p.endLine()
	p.missing(e.Incomplete)
	p.endLine()
	p.events(e)
	_, err := w.Write(p.b.Bytes())
	return err
}

// eventTime is how events tell when they were.
const eventTime = "15:04:05.000000"

func (p *threadPage) events(e *ThreadEvents) {
	if e.Earlier > 0 {
		p.text(dim, p.ellipsis+" "+Count(e.Earlier, "earlier event")+" left out")
		p.endLine()
	}
	told := false
	for i := range e.Events {
		row := &e.Events[i]
		if !told && !row.Time.Before(e.Whole) {
			told = true
			p.whole(e)
		}
		p.text(plain, row.Time.Local().Format(eventTime))
		at := "-"
		if row.Carrier != nil {
			at = number(uint64(*row.Carrier))
		}
		name := row.Kind
		if row.Event != "" {
			name = row.Event
		}
		p.text(dim, fmt.Sprintf("  %4s  ", at))
		p.text(plain, fmt.Sprintf("%-14s", p.clean(name)))
		if row.By != nil {
			p.text(plain, "  by "+p.party(row.By))
		}
		if row.For > 0 {
			p.text(plain, "  for "+p.words(row.For))
		}
		for _, f := range row.Fields {
			p.text(dim, "  "+p.clean(f.Name))
			p.text(plain, " "+p.clean(f.Text))
		}
		if row.Stack >= 0 {
			if x := placeOfFrames(e.Stacks[row.Stack].Frames); x != nil {
				p.text(plain, "  ")
				p.text(dim, p.place(x))
			}
		}
		p.endLine()
	}
	if !told {
		p.whole(e)
	}
	if len(e.Events) == 0 {
		p.text(plain, "no event of it is still known")
		p.endLine()
	}
}

// whole tells from where on none is missing, if some are before.
func (p *threadPage) whole(e *ThreadEvents) {
	if e.Whole.After(e.Process.Started) {
		why := " some are overwritten"
		if e.Process.Status == StatusRecorded {
			why = " the recording does not have all"
		}
		p.text(dim, p.ellipsis+" before "+e.Whole.Local().Format(eventTime)+why)
		p.endLine()
	}
}

// placeOfFrames returns the innermost call that is the program's own, else the innermost.
func placeOfFrames(frames []Frame) *Place {
	for i := range frames {
		if !frames[i].Internal {
			return &Place{Frame: frames[i]}
		}
	}
	if len(frames) > 0 {
		return &Place{Frame: frames[0]}
	}
	return nil
}
