package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// serveDiff answers with what changed between two moments.
func (a *Agent) serveDiff(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	old := f
	switch {
	case q.of != "":
		if old = a.find(q.of); old == nil {
			return refusal{http.StatusNotFound, fmt.Sprintf("vtserve knows no process %s", short(q.of)), "GET /api/v1/processes"}
		}
	case q.from == "":
		return refusal{http.StatusBadRequest, "a diff is from a moment, or of two processes", "from=-1m, or of= and another process"}
	}
	ctx, end := a.during(r)
	defer end()
	before, err := old.snapshotOf(ctx, "from", q.from)
	if err != nil {
		return err
	}
	after, err := f.snapshotOf(ctx, "to", q.to)
	if err != nil {
		return err
	}
	turn := &turn{agent: a}
	if err := turn.take(ctx); err != nil {
		return err
	}
	defer turn.give()
	d := dump.DiffOf(before, after, dump.DiffOptions{Similar: q.options.Similar, Templates: q.options.Templates, Least: q.least})
	if q.top > 0 && q.format == "json" {
		d.KeepTop(q.top)
	}
	return document(w, q, func(to io.Writer) error { return dump.DiffJSON(to, d) }, func(to io.Writer) error { return dump.DiffText(to, d, q.text) })
}

// snapshotOf returns the snapshot of a moment that a parameter names, "" for now or the end. Nobody may change it.
func (f *follower) snapshotOf(ctx context.Context, param, at string) (*dump.Snapshot, error) {
	if at == "" {
		if s := f.view().snapshot; s != nil {
			return s, nil
		}
		return nil, refusal{http.StatusServiceUnavailable, "the first snapshot is on its way", "again in a moment"}
	}
	if f.past != nil {
		if f.past.file == nil {
			return nil, refusal{http.StatusConflict, param + ": the bundle has no recording, only its one moment", "without " + param}
		}
		when, err := f.past.file.When(at)
		if err != nil {
			return nil, refusal{http.StatusBadRequest, param + ": " + err.Error(), param + "=12s"}
		}
		v, err := f.viewAt(ctx, f.past.info.From.Add(when))
		if err != nil {
			return nil, err
		}
		return v.snapshot, nil
	}
	when, err := f.when(at, time.Now())
	if err != nil {
		return nil, refusal{http.StatusBadRequest, param + ": " + err.Error(), param + "=-30s"}
	}
	v := f.keeper.find(when.UnixMilli())
	if v == nil {
		return nil, refusal{http.StatusNotFound, param + ": " + f.noMoment(when), "a later one; or two files: vtdump diff before.json after.json"}
	}
	return v.snapshot, nil
}
