package dump

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// ThreadDurable is what is known of a thread that is a durable one.
type ThreadDurable struct {
	ID      string             `json:"id"`
	Body    string             `json:"body"`
	Steps   uint64             `json:"steps"`             // of its journal, with those that checkpoints have replaced
	Errors  uint32             `json:"errors,omitempty"`  // steps of its journal that are an error
	Replays bool               `json:"replays,omitempty"` // it is given what it had learned, and does nothing new
	Wait    *ThreadDurableWait `json:"wait,omitempty"`    // what it waits for; absent: for nothing, or for what its thread waits for
}

// ThreadDurableWait is what a durable thread waits for.
type ThreadDurableWait struct {
	Kind  string    `json:"kind"` // signal, time, permit, child, or call: it calls something outside
	Name  string    `json:"name,omitempty"`
	Child uint32    `json:"child,omitempty"` // the number of the child
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"` // absent: without a limit
}

func durableOf(row *flight.DurableRow) *ThreadDurable {
	d := &ThreadDurable{ID: row.ID, Body: row.Body, Steps: row.Steps, Errors: row.Errors, Replays: row.Replays}
	if row.Wait != flight.DurableRuns {
		d.Wait = &ThreadDurableWait{Kind: row.Wait.String(), Name: row.Name, Child: row.Child, Since: row.Since, Until: row.Until}
	}
	return d
}

// durables are the durable threads of a source, by thread.
type durables []flight.DurableRow

// durablesOf returns none for sources that know of none.
func durablesOf(src Source) (durables, error) {
	r, ok := src.(interface {
		Durables() ([]flight.DurableRow, error)
	})
	if !ok {
		return nil, nil
	}
	rows, err := r.Durables()
	return rows, err
}

// of returns nil for a thread that is no durable one.
func (all durables) of(id flight.ThreadID) *flight.DurableRow {
	if i, ok := slices.BinarySearchFunc(all, id, func(d flight.DurableRow, id flight.ThreadID) int { return cmp.Compare(d.Thread, id) }); ok {
		return &all[i]
	}
	return nil
}

// durable prints what a durable thread is.
func (p *threadPage) durable() {
	d := p.r.Durable
	if d == nil {
		return
	}
	s := p.quote(d.ID) + " of body " + p.clean(d.Body) + ", " + Count(d.Steps, "step")
	if d.Errors > 0 {
		s += ", " + Count(uint64(d.Errors), "error")
	}
	if d.Replays {
		s += ", replays"
	}
	p.line("durable", s)
	w := d.Wait
	if w == nil {
		return
	}
	label := "  waits for"
	s = w.Kind
	if w.Kind == flight.DurableCall.String() {
		label, s = "  calls", ""
	}
	if w.Name != "" {
		if s != "" {
			s += " "
		}
		s += p.quote(w.Name)
	}
	if w.Child > 0 {
		s = "child " + strconv.FormatUint(uint64(w.Child), 10)
	}
	if !w.Until.IsZero() {
		s += " until " + w.Until.Local().Format("2006-01-02 15:04:05")
	}
	if !w.Since.IsZero() {
		s += ", since " + w.Since.Local().Format("2006-01-02 15:04:05") + " (" + p.words(max(p.r.AsOf.Sub(w.Since), 0)) + ")"
	}
	p.line(label, s)
}

// stepsText says how long the journal of an example is, "" if it has none.
func stepsText(e *Example) string {
	if e.Steps == 0 {
		return ""
	}
	return " (" + Count(e.Steps, "step") + ")"
}
