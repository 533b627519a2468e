package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// The documents of a group, a thread and its events, and of who waits for whom: what a page shows when one is chosen.

func (a *Agent) serveGroup(w http.ResponseWriter, r *http.Request, q *ask) error {
	if f, err := a.named(r); err == nil && f.past == nil && q.at != "" {
		snap, err := f.keptSnapshot(q)
		if err != nil {
			return err
		}
		key, err := snap.GroupKey(r.PathValue("group"))
		if err != nil {
			return err
		}
		g, err := dump.GroupOf(snap, key)
		if err != nil {
			return err
		}
		return document(w, q, func(to io.Writer) error { return dump.GroupJSON(to, g) }, func(to io.Writer) error { return dump.GroupText(to, g, q.text) })
	}
	return a.withSource(w, r, q, func(ctx context.Context, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		g, err := takeGroup(ctx, src, r.PathValue("group"), q.options)
		return func(to io.Writer) error { return dump.GroupJSON(to, g) }, func(to io.Writer) error { return dump.GroupText(to, g, q.text) }, err
	})
}

// takeGroup reads the group that a word stands for. A whole key stands for a group also while no thread is in it, or none that the filter matches.
func takeGroup(ctx context.Context, src dump.Source, word string, o dump.Options) (*dump.GroupReport, error) {
	if len(word) == dump.KeyLength {
		// Of a whole key there is nothing to look up.
		g, err := dump.TakeGroup(ctx, src, word, o)
		if errors.As(err, new(dump.NoGroupError)) {
			return dump.EmptyGroup(src, word, o), nil
		}
		return g, err
	}
	snap, err := dump.Take(ctx, src, o)
	if err != nil {
		return nil, err
	}
	key, err := snap.GroupKey(word)
	if err != nil {
		return nil, err
	}
	g, err := dump.TakeGroup(ctx, src, key, o)
	if errors.As(err, new(dump.NoGroupError)) {
		return dump.GroupOf(snap, key) // its threads have moved on in between
	}
	return g, err
}

// threadOf returns the thread that a request names.
func threadOf(r *http.Request) (flight.ThreadID, error) {
	id, err := strconv.ParseUint(r.PathValue("thread"), 10, 64)
	if err != nil || id == 0 {
		return 0, refusal{http.StatusBadRequest, fmt.Sprintf("%q is no number of a thread", short(r.PathValue("thread"))), "threads/5123"}
	}
	return flight.ThreadID(id), nil
}

func (a *Agent) serveThreadEvents(w http.ResponseWriter, r *http.Request, q *ask) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	most := q.top
	switch most {
	case -1:
		most = dump.UsualEvents
	case 0:
		most = mostEvents
	}
	return a.withSource(w, r, q, func(ctx context.Context, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		e, err := dump.TakeThreadEvents(ctx, src, id, min(most, mostEvents))
		if errors.Is(err, dump.ErrNoEvents) {
			e, err = dump.UnknownThreadEvents(src, id), nil
		}
		if err != nil {
			return nil, nil, err
		}
		// Both at once, so that a page can look at a thread that may end at any moment without asking for one that is not there.
		if e.Thread, err = dump.TakeThread(ctx, src, id); errors.As(err, new(dump.NoThreadError)) {
			e.State, err = "", nil
		}
		return func(to io.Writer) error { return dump.ThreadEventsJSON(to, e) }, func(to io.Writer) error { return dump.ThreadEventsText(to, e, q.text) }, err
	})
}

// mostEvents is how many events of a thread are told at once, however many are asked for.
const mostEvents = 10_000

func (a *Agent) serveThread(w http.ResponseWriter, r *http.Request, q *ask) error {
	id, err := threadOf(r)
	if err != nil {
		return err
	}
	return a.withSource(w, r, q, func(ctx context.Context, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		t, err := dump.TakeThread(ctx, src, id)
		return func(to io.Writer) error { return dump.ThreadJSON(to, t) }, func(to io.Writer) error { return dump.ThreadText(to, t, q.text) }, err
	})
}

func (a *Agent) serveWaits(w http.ResponseWriter, r *http.Request, q *ask) error {
	if f := a.find(r.PathValue("pid")); f != nil && f.past != nil && f.past.moment == nil && (q.options.Filter != nil || q.group != "") {
		return refusal{http.StatusConflict, "this is a file, whose waits are those of all threads", "waits without filter, scope and group"}
	}
	return a.ofPresent(w, r, q, "waits", func(ctx context.Context, _ *turn, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		all, err := takeWaits(ctx, src, q)
		if err == nil && q.top > 0 && q.format == "json" {
			all.KeepTop(q.top)
		}
		if err == nil {
			w.Header().Set(foundHeader, strconv.Itoa(len(all.Deadlocks)))
		}
		return func(to io.Writer) error { return dump.WaitsJSON(to, all) }, func(to io.Writer) error { return dump.WaitsText(to, all, q.text) }, err
	})
}

// takeWaits reads the waits of the threads that are meant: of all without a filter, a scope and a group.
func takeWaits(ctx context.Context, r dump.Source, q *ask) (*dump.Waits, error) {
	r = dump.Looked(r) // once for all that follows
	if q.options.Filter == nil && q.group == "" {
		return dump.TakeWaits(ctx, r)
	}
	key := q.group
	if key != "" && len(key) != dump.KeyLength {
		snap, err := dump.Take(ctx, r, q.options)
		if err == nil {
			key, err = snap.GroupKey(key)
		}
		if err != nil {
			return nil, err
		}
	}
	return dump.TakeWaitsOf(ctx, r, key, q.options)
}
