package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
)

// A rewinder is what a client looks at that looks at the past. Only its writer uses it.
type rewinder struct {
	of   *follower
	at   int64 // 0: it looks at now
	view *view // of that moment, held as long as the client looks at it, whether it is still kept or not; nil: there is none
	why  string

	reading chan readMoment // of a recording, while it is being read; has room for the one that is under way
	cancel  context.CancelFunc
}

type readMoment struct {
	view *view
	err  error
}

// firstMoment is how long a frame waits for a moment of a recording before it says that it is being read.
const firstMoment = 300 * time.Millisecond

// look returns the view of a moment, and what to tell of it. Busy tells that the moment is still being read.
func (w *rewinder) look(ctx context.Context, f *follower, now *view, at int64) (v *view, m *Moment, busy bool) {
	if f != w.of || at != w.at {
		w.stop()
		before := w.view
		*w = rewinder{of: f, at: at}
		switch {
		case at == 0:
		case f.past != nil:
			w.view = before // meanwhile
			if before != nil && before.from.past != f.past {
				w.view = nil
			}
			w.read(ctx, f)
		default:
			w.find(f)
		}
	}
	if w.reading != nil {
		wait := time.NewTimer(firstMoment)
		defer wait.Stop()
		select {
		case r := <-w.reading:
			w.took(r)
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	info := f.moments(w.at)
	m = &info
	if w.at == 0 {
		return now, m, false
	}
	m.At, m.Missing, m.Busy = w.at, w.why, w.reading != nil
	switch {
	case w.view != nil:
		m.Shown = w.view.moment()
		info := f.moments(m.Shown)
		m.Back, m.Forth = info.Back, info.Forth
		return w.view, m, m.Busy
	case m.Busy:
		return now.nothing("This moment is being read from the recording."), m, true
	}
	return now.nothing(w.why), m, false
}

// find takes the newest kept view that is not after the moment.
func (w *rewinder) find(f *follower) {
	if kept := f.keeper.find(w.at); kept != nil {
		v := *kept
		v.shelf = &shelf{}
		v.before = f.keeper.compared(v.snapshot, func(v *view) *dump.Snapshot { return v.snapshot })
		v.befores = map[string]*dump.Snapshot{}
		for by, s := range v.filtered {
			v.befores[by] = f.keeper.compared(s, func(v *view) *dump.Snapshot { return v.filtered[by] })
		}
		w.view = &v
		return
	}
	w.why = f.noMoment(time.UnixMilli(w.at))
}

// noMoment says why nothing is kept of a moment.
func (f *follower) noMoment(at time.Time) string {
	m := f.keeper.around(0)
	if m.Kept == 0 {
		return "No moment of this process is kept."
	}
	return fmt.Sprintf("Nothing is kept of %s: the oldest moment that is kept is %s.", clockText(at), clockText(time.UnixMilli(m.Oldest)))
}

func clockText(t time.Time) string { return t.Format("15:04:05") }

// keptView returns what is kept of the moment that a request asks for.
func (f *follower) keptView(q *ask) (*view, error) {
	at, err := f.when(q.at, time.Now())
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error(), "at=-30s"}
	}
	if at.After(time.Now().Add(time.Second)) {
		return nil, refusal{http.StatusBadRequest, "at: " + clockText(at) + " is yet to come", "at=-30s; of a recording any moment: vtserve run.vtr"}
	}
	v := f.keeper.find(at.UnixMilli())
	if v == nil {
		return nil, refusal{http.StatusNotFound, f.noMoment(at), "a later one; or a recording: vtserve run.vtr"}
	}
	return v, nil
}

// keptSnapshot returns a copy of the snapshot that is kept of the moment that a request asks for.
func (f *follower) keptSnapshot(q *ask) (*dump.Snapshot, error) {
	v, err := f.keptView(q)
	if err != nil {
		return nil, err
	}
	snap := v.snapshot
	switch {
	case len(q.by) > 0 || q.growth > 0 || q.given["similar"] || q.given["templates"]:
		return nil, refusal{http.StatusConflict, "at: of a process the usual groups of threads are kept alone: no by, growth, similar and templates", "without them; or a recording: vtserve run.vtr"}
	case !q.options.Filter.Empty():
		if snap = v.filtered[q.options.Filter.String()]; snap == nil {
			return nil, refusal{http.StatusConflict, "at: this moment was not kept with this filter: nobody used it then", "without filter and scope; or a recording: vtserve run.vtr"}
		}
	}
	c := *snap
	return &c, nil
}

// when returns the moment that a text says: -30s before now, or the end; 12s after the process began; a time, or Unix milliseconds.
func (f *follower) when(text string, now time.Time) (time.Time, error) {
	v := f.view()
	if v.row.Gone > 0 {
		now = time.UnixMilli(v.row.Gone)
	}
	if d, err := time.ParseDuration(text); err == nil {
		if strings.HasPrefix(text, "-") {
			return now.Add(d), nil
		}
		return v.process.Start.Add(d), nil
	}
	if t, ok := recording.UnixMilli(text); ok {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	local := now.Local()
	for _, form := range []string{"15:04:05.999999999", "15:04"} {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		t = time.Date(local.Year(), local.Month(), local.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.Local)
		if t.After(local.Add(time.Minute)) { // it was yesterday
			t = t.AddDate(0, 0, -1)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("at=%s: no moment: want -30s before now, 12s after the process began, a time such as %s, or Unix milliseconds", short(text), clockText(local))
}

// read begins to read a moment of a recording.
func (w *rewinder) read(ctx context.Context, f *follower) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.reading = make(chan readMoment, 1)
	reading, at := w.reading, time.UnixMilli(w.at)
	if !f.agent.goWhileOpen(func() {
		v, err := f.viewAt(ctx, at)
		reading <- readMoment{v, err}
	}) {
		w.reading = nil
	}
}

func (w *rewinder) took(r readMoment) {
	w.stop()
	if w.view, w.why = r.view, ""; r.err != nil {
		w.view, w.why = nil, "This moment cannot be shown: "+r.err.Error()+"."
	}
}

func (w *rewinder) stop() {
	if w.cancel != nil {
		w.cancel()
	}
	w.cancel, w.reading = nil, nil
}

// moments tells which moments of a process can be shown, and those next to one.
func (f *follower) moments(at int64) Moment {
	if f.past == nil {
		return f.keeper.around(at)
	}
	return f.past.around(at, f.root().view().history)
}

// moment is the time of what a view shows, in Unix milliseconds; 0: nothing.
func (v *view) moment() int64 {
	switch {
	case v.snapshot == nil:
		return 0
	case v.from.past != nil:
		return v.snapshot.AsOf.UnixMilli()
	}
	return v.snapshot.Taken.UnixMilli()
}

// nothing is a view of the same process that shows nothing, and says why.
func (v *view) nothing(why string) *view {
	return &view{
		from: v.from, version: v.version, row: v.row, process: v.process, seen: noSurvey(), every: v.every,
		made: v.made, missing: why, kept: true, shelf: &shelf{},
	}
}
