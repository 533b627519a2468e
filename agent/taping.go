package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/tracing/jfr"
	"github.com/vtscope/vtscope/tracing/perfetto"
)

// A tapeForm is a way in which events are written. The names are those of vtdump export --format.
type tapeForm struct {
	name   string
	ending string // of a file
	about  string
	write  func(ctx context.Context, w io.Writer, src recording.Source) error // nil: it is the recording itself
}

// tapeForms are those of a recording, the one without conversion first.
var tapeForms = []tapeForm{
	{"vtr", recording.Extension, "a recording, for vtdump, vtserve and vtscope's page", nil},
	{"jfr", ".jfr", "for jfr, JDK Mission Control and other readers of JDK Flight Recorder", func(ctx context.Context, w io.Writer, src recording.Source) error {
		_, err := jfr.Write(ctx, w, src, jfr.Options{})
		return err
	}},
	{"perfetto", ".pftrace", "for ui.perfetto.dev and Perfetto's trace processor", func(ctx context.Context, w io.Writer, src recording.Source) error {
		_, err := perfetto.Write(ctx, w, src, perfetto.Options{})
		return err
	}},
}

func tapeNames() (names []string) {
	for i := range tapeForms {
		names = append(names, tapeForms[i].name)
	}
	return names
}

// What is converted is kept in a file meanwhile.
const (
	longestConverted = 5 * time.Minute
	largestConverted = 1 << 30 // bytes; of more the newest stay
)

func setTape(q *ask, v string) error {
	i := slices.IndexFunc(tapeForms, func(f tapeForm) bool { return f.name == v })
	if i < 0 {
		return fmt.Errorf("want one of %s", strings.Join(tapeNames(), ", "))
	}
	q.tape = &tapeForms[i]
	return nil
}

// serveRecording records a process for a while: the answer is the recording.
func (a *Agent) serveRecording(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	during := cmp.Or(q.during, usualRecord)
	form := cmp.Or(q.tape, &tapeForms[0])
	if form.write != nil && during > longestConverted {
		return refusal{http.StatusBadRequest, fmt.Sprintf("as=%s: at most %v", form.name, longestConverted), "as=vtr, and then vtdump export"}
	}
	select {
	case a.recordings <- struct{}{}:
		defer func() { <-a.recordings }()
	default:
		return refusal{http.StatusTooManyRequests, "a process is being recorded for somebody", "when that has ended"}
	}
	reader, err := f.flightReader()
	if err != nil {
		return err
	}
	defer reader.Close()
	ctx, end := a.during(r)
	defer end()
	p := reader.Process()
	o := recording.Options{For: during, Held: q.held || !p.Status.Live(), Every: time.Second}
	out := begin(w, mediaBinary, fmt.Sprintf("%d%s", p.PID, form.ending))
	if form.write == nil {
		out.flush = true
		_, err = recording.Record(ctx, reader, out, o)
		return out.end(err)
	}
	return out.end(converted(ctx, out, form, func(to io.Writer) error {
		_, err := recording.Record(ctx, reader, to, o)
		return err
	}))
}

// converted keeps a recording in a file until it is written in another form.
func converted(ctx context.Context, w io.Writer, form *tapeForm, record func(io.Writer) error) (err error) {
	dir, err := os.MkdirTemp("", "vtscope-recording-") // of this user alone
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "run"+recording.Extension)
	store, err := recording.Create(path, recording.Limits{MaxSize: largestConverted})
	if err != nil {
		return err
	}
	if err := errors.Join(record(store), store.Close()); err != nil {
		return err
	}
	file, err := recording.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return form.write(ctx, w, file)
}

// serveTape writes what a recording or a bundle that is shown holds of events.
func (a *Agent) serveTape(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	if f.past == nil {
		return refusal{http.StatusConflict, "this is a process, and no recording", "POST, which records it"}
	}
	past, err := openRecorded(f.past.path, f.agent.options.Scopes) // one of its own: those who look at the page need not wait
	if err != nil {
		return err
	}
	defer past.close()
	if past.file == nil {
		return refusal{http.StatusNotFound, "the bundle has no recording", "dump"}
	}
	ctx, end := a.during(r)
	defer end()
	form := cmp.Or(q.tape, &tapeForms[0])
	name := strings.TrimSuffix(f.key, filepath.Ext(f.key)) + form.ending
	out := begin(w, mediaBinary, name)
	if form.write != nil {
		return out.end(form.write(ctx, out, past.file))
	}
	return out.end(past.copyEvents(out))
}

// copyEvents writes the recording as it is.
func (r *past) copyEvents(w io.Writer) error {
	if r.bundle != nil {
		events, err := r.bundle.Events()
		if err == nil {
			_, err = io.Copy(w, events)
		}
		return err
	}
	return r.file.Copy(w)
}
