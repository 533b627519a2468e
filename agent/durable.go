package agent

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

func durableSorts() (names []string) {
	for i := range dump.DurableSorts {
		names = append(names, dump.DurableSorts[i].Name)
	}
	return names
}

// mostSteps is how many steps of a history are told at once, however many are asked for.
const mostSteps = 10_000

func (a *Agent) serveDurables(w http.ResponseWriter, r *http.Request, q *ask) error {
	o := dump.DurableOptions{Filter: q.options.Filter, Sort: q.sort, Top: orUsual(q.top)}
	return a.askProcess(w, r, q, func(p flight.Process, r *http.Request) (toJSON, toText func(io.Writer) error, err error) {
		doc, err := control.Durables(r.Context(), p, o)
		if doc == nil {
			return nil, nil, err
		}
		return func(to io.Writer) error { return dump.DurablesJSON(to, doc) }, func(to io.Writer) error { return dump.DurablesText(to, doc, q.text) }, nil // what a damaged folder has is told, with why
	})
}

func (a *Agent) serveDurable(w http.ResponseWriter, r *http.Request, q *ask) error {
	l := journal.Look{Last: dump.UsualSteps, Value: dump.UsualValue}
	if q.top >= 0 {
		l.Last = q.top
	}
	if l.Last == 0 || l.Last > mostSteps {
		l.Last = mostSteps
	}
	if q.values {
		l.Value = 0
	}
	return a.askProcess(w, r, q, func(p flight.Process, r *http.Request) (toJSON, toText func(io.Writer) error, err error) {
		doc, err := control.DurableThread(r.Context(), p, r.PathValue("thread"), l)
		if doc == nil {
			return nil, nil, err
		}
		return func(to io.Writer) error { return dump.DurableThreadJSON(to, doc) }, func(to io.Writer) error { return dump.DurableThreadText(to, doc, q.values, q.text) }, nil
	})
}

// askProcess answers with a document of what a process says when it is asked.
func (a *Agent) askProcess(w http.ResponseWriter, r *http.Request, q *ask, take func(flight.Process, *http.Request) (toJSON, toText func(io.Writer) error, err error)) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	if f.past != nil {
		return refusal{http.StatusConflict, "this is a file: durable threads are asked of a process that lives", "vtdump durable DIR, the folder of its store"}
	}
	ctx, end := a.during(r)
	defer end()
	reader, err := f.flightReader()
	if err != nil {
		return err
	}
	p := reader.Process()
	reader.Close()
	toJSON, toText, err := take(p, r.WithContext(ctx))
	switch {
	case err == nil:
		return document(w, q, toJSON, toText)
	case errors.Is(err, control.ErrNoThread):
		return refusal{http.StatusNotFound, fmt.Sprintf("%s: %v", short(r.PathValue("thread")), err), "durable, for a list; one that was joined, or forgotten, is not kept"}
	case errors.Is(err, control.ErrNoKeepers):
		return refusal{http.StatusNotFound, err.Error(), "a keeper of package durable"}
	case errors.Is(err, control.ErrSilent), errors.Is(err, control.ErrNone), errors.Is(err, control.ErrBusy), errors.Is(err, control.ErrLarge):
		return refusal{http.StatusServiceUnavailable, err.Error(), "vtdump durable DIR, the folder of its file store, if it has one"}
	}
	return err
}
