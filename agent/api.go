package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A refusal is an answer that is an error.
type refusal struct {
	status    int
	what, try string
}

func (e refusal) Error() string { return e.what }

// wrongValue is about a parameter's value.
func wrongValue(p *param, v string, err error) error {
	try := p.name + ": " + p.about
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) && wrong.Try != "" {
		try = wrong.Try
	}
	return refusal{http.StatusBadRequest, fmt.Sprintf("%s=%s: %v", p.name, short(v), err), try}
}

// tell answers with an error.
func (a *Agent) tell(w http.ResponseWriter, r *http.Request, err error) {
	var no refusal
	switch {
	case r.Context().Err() != nil || a.ctx.Err() != nil:
		refuse(w, http.StatusServiceUnavailable, errAgentClosed.Error(), "again when it runs")
	case errors.As(err, &no):
		refuse(w, no.status, no.what, no.try)
	case errors.As(err, new(dump.NoThreadError)):
		refuse(w, http.StatusNotFound, err.Error(), "dump?filter=…, for those there are")
	case errors.As(err, new(dump.NoGroupError)):
		refuse(w, http.StatusNotFound, err.Error(), "dump, where each group has its key; or 1, the largest")
	case errors.Is(err, flight.ErrPermission):
		refuse(w, http.StatusForbidden, err.Error(), "vtserve as the user who runs the program")
	case errors.Is(err, flight.ErrNoProcess):
		refuse(w, http.StatusGone, err.Error(), "dump without parameters, for the last snapshot")
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusGone, "the process has ended, and its flight file is gone: of its end the last snapshot is kept, and nothing beyond it", "dump without parameters, for that snapshot")
	default:
		refuse(w, http.StatusInternalServerError, err.Error(), "again in a moment")
	}
}

// foundHeader tells of what may be text how many deadlocks or findings are in it.
const foundHeader = "Vtscope-Found"

// named returns the follower that a request names.
func (a *Agent) named(r *http.Request) (*follower, error) {
	name := r.PathValue("pid")
	if f := a.find(name); f != nil {
		return f, nil
	}
	return nil, refusal{http.StatusNotFound, fmt.Sprintf("vtserve knows no process %s", short(name)), "GET /api/v1/processes"}
}

// A turn is the right to read a process for the HTTP interface: one request at a time has it. Its methods are called by one goroutine.
type turn struct {
	agent *Agent
	taken bool
}

// take waits for the turn.
func (t *turn) take(ctx context.Context) error {
	select {
	case t.agent.dumps <- struct{}{}:
		t.taken = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turn) give() {
	if t.taken {
		t.taken = false
		<-t.agent.dumps
	}
}

// pause lets others have their turn for a while.
func (t *turn) pause(ctx context.Context, d time.Duration) error {
	t.give()
	if err := pause(ctx, d); err != nil {
		return err
	}
	return t.take(ctx)
}

// during returns a context that ends with the request and with the agent.
func (a *Agent) during(r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(a.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// flightReader opens the flight file of a process.
func (f *follower) flightReader() (*flight.Reader, error) { return f.open() }

func (a *Agent) serveProcesses(w http.ResponseWriter, _ *http.Request, _ *ask) error {
	answer(w, http.StatusOK, ProcessList{a.allRows()})
	return nil
}

// A ProcessList are the processes that are followed.
type ProcessList struct {
	Processes []ProcessRow `json:"processes"`
}

// A ProcessPage is what is known of one process, and where there is more.
type ProcessPage struct {
	ProcessRow
	Exe       string    `json:"exe"`
	GoVersion string    `json:"goVersion"`
	Problem   string    `json:"problem"` // the last error in reading it; "" if none
	Links     []LinkRow `json:"links"`
}

// A LinkRow is a path of the interface that belongs to a process.
type LinkRow struct {
	Method string `json:"method"`
	Path   string `json:"path"` // relative to the agent's root
	About  string `json:"about"`
}

func (a *Agent) serveProcess(w http.ResponseWriter, r *http.Request, _ *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	v := f.view()
	page := ProcessPage{ProcessRow: v.row, Exe: v.process.Exe, GoVersion: v.process.GoVersion, Problem: v.problem, Links: []LinkRow{}}
	for _, route := range routes {
		path, ok := strings.CutPrefix(route.path, ofProcess+"/")
		if path == "recording" && (route.method == http.MethodGet) != (f.past != nil) {
			continue // of a file it is there, of a process it is to be made
		}
		if ok {
			page.Links = append(page.Links, LinkRow{route.method, "api/v1/processes/" + v.row.Key + "/" + path, route.about})
		}
	}
	answer(w, http.StatusOK, page)
	return nil
}

func (a *Agent) serveDump(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	way, err := formatOf(q.format, len(formats))
	if err != nil {
		return err
	}
	switch {
	case len(q.by) > 0 && way.name != "json" && way.name != "text":
		return refusal{http.StatusBadRequest, "by: " + way.name + " has no such groups", "format=json or format=text"}
	case len(q.by) > 0 && q.growth > 0:
		return refusal{http.StatusBadRequest, "by and growth: only one of them", "without growth"}
	case way.threads != nil && (q.growth > 0 || q.top >= 0):
		return refusal{http.StatusBadRequest, way.name + " has every thread by itself", "without growth and top"}
	}
	if f.past == nil && q.at != "" {
		if way.groups == nil {
			return refusal{http.StatusConflict, "at: " + way.name + " has every thread by itself, and of a process only the groups are kept", "format=json; or a recording: vtserve run.vtr"}
		}
		snap, err := f.keptSnapshot(q)
		if err != nil {
			return err
		}
		return writeGroups(w, way, snap, q)
	}
	ctx, end := a.during(r)
	defer end()
	turn := &turn{agent: a}
	if err := turn.take(ctx); err != nil {
		return err
	}
	defer turn.give()
	if f.past != nil && f.past.bundle != nil && way.groups != nil && f.at == "" && !q.chooses() {
		snap, err := f.past.snapshot(ctx, "", 0)
		if err != nil {
			return err
		}
		return writeGroups(w, way, snap, q)
	}
	src, closer, err := f.source(ctx, q.at)
	if v := f.view(); err != nil && v.row.Gone > 0 && v.snapshot != nil && way.groups != nil && !q.chooses() {
		last := *v.snapshot
		return writeGroups(w, way, &last, q)
	}
	if err != nil {
		return err
	}
	defer closer()
	if f.past == nil {
		f.flags.dumped(time.Now(), way.name)
	}
	switch {
	case way.threads != nil:
		out := begin(w, way.media, way.file)
		return out.end(way.threads(ctx, out, src, q))
	case len(q.by) > 0:
		table, err := dump.TakeTable(ctx, src, q.by, q.options)
		if err != nil {
			return err
		}
		if q.top > 0 && way.name == "json" {
			table.KeepTop(q.top)
		}
		return document(w, q, func(to io.Writer) error { return dump.TableJSON(to, table) }, func(to io.Writer) error { return dump.TableText(to, table, q.text) })
	}
	snap, err := dump.Take(ctx, src, q.options)
	if err != nil {
		return err
	}
	if q.growth > 0 {
		if snap, err = again(ctx, src, snap, q, turn); err != nil {
			return err
		}
	}
	return writeGroups(w, way, snap, q)
}

// chooses reports whether the request wants other threads than all, or other groups than the usual ones.
func (q *ask) chooses() bool {
	return q.options.Filter != nil || q.given["similar"] || q.given["templates"] || q.given["at"] || len(q.by) > 0 || q.growth > 0
}

// again takes another snapshot, and compares it with the first.
func again(ctx context.Context, src dump.Source, first *dump.Snapshot, q *ask, turn *turn) (*dump.Snapshot, error) {
	if first.Process.Status != dump.StatusRunning {
		return nil, refusal{http.StatusConflict, "growth: the process is " + string(first.Process.Status), "without growth"}
	}
	if err := turn.pause(ctx, q.growth); err != nil {
		return nil, err
	}
	snap, err := dump.Take(ctx, src, q.options)
	if err != nil {
		return nil, err
	}
	dump.Compare(first, snap)
	return snap, nil
}

func writeGroups(w http.ResponseWriter, way *format, snap *dump.Snapshot, q *ask) error {
	if q.top > 0 && way.name != "text" && way.name != "markdown" {
		snap.KeepTop(q.top)
	}
	out := begin(w, way.media, way.file)
	return out.end(way.groups(out, snap, q))
}

// withSource answers with a document that is made of threads.
func (a *Agent) withSource(w http.ResponseWriter, r *http.Request, q *ask, take func(context.Context, dump.Source) (toJSON, toText func(io.Writer) error, err error)) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	ctx, end := a.during(r)
	defer end()
	turn := &turn{agent: a}
	if err := turn.take(ctx); err != nil {
		return err
	}
	defer turn.give()
	src, closer, err := f.source(ctx, q.at)
	if err != nil {
		return err
	}
	defer closer()
	toJSON, toText, err := take(ctx, src)
	if err != nil {
		return err
	}
	return document(w, q, toJSON, toText)
}

func (a *Agent) serveSchedulers(w http.ResponseWriter, r *http.Request, q *ask) error {
	return a.withReader(w, r, q, "schedulers", func(ctx context.Context, _ *turn, r *flight.Reader) (toJSON, toText func(io.Writer) error, err error) {
		all, err := dump.TakeSchedulers(ctx, r)
		if err == nil && q.top > 0 && q.format == "json" {
			all.KeepTop(q.top)
		}
		return func(to io.Writer) error { return dump.SchedulersJSON(to, all) }, func(to io.Writer) error { return dump.SchedulersText(to, all, q.text) }, err
	})
}

func (a *Agent) serveFindings(w http.ResponseWriter, r *http.Request, q *ask) error {
	of, err := a.named(r)
	if err != nil {
		return err
	}
	return a.ofPresent(w, r, q, "findings", func(ctx context.Context, turn *turn, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		now, err := dump.TakeLook(ctx, src)
		if err != nil {
			return nil, nil, err
		}
		var before *dump.Look
		switch status := now.Snapshot.Process.Status; {
		case status == dump.StatusRunning:
			before = now
			if err = turn.pause(ctx, cmp.Or(q.growth, usualGrowth)); err == nil {
				now, err = dump.TakeLook(ctx, src)
			}
			if err != nil {
				return nil, nil, err
			}
		case q.growth > 0:
			return nil, nil, refusal{http.StatusConflict, "growth: the process is " + string(status), "without growth"}
		}
		f, err := dump.Check(now, before, q.checks)
		if err == nil {
			of.view().sinceWhen(f)
			w.Header().Set(foundHeader, strconv.Itoa(len(f.Findings)))
		}
		return func(to io.Writer) error { return dump.FindingsJSON(to, f) }, func(to io.Writer) error { return dump.FindingsText(to, f, q.text) }, err
	})
}

// withReader is ofPresent for what a flight file alone has.
func (a *Agent) withReader(w http.ResponseWriter, r *http.Request, q *ask, part string, take func(context.Context, *turn, *flight.Reader) (toJSON, toText func(io.Writer) error, err error)) error {
	return a.ofPresent(w, r, q, part, func(ctx context.Context, turn *turn, src dump.Source) (toJSON, toText func(io.Writer) error, err error) {
		reader := dump.FlightReader(src)
		if reader == nil {
			return nil, nil, errNoRecorder
		}
		return take(ctx, turn, reader)
	})
}

// ofPresent answers with a document that is made of a process as it is now; of a bundle, with the one that is in it.
func (a *Agent) ofPresent(w http.ResponseWriter, r *http.Request, q *ask, part string, take func(context.Context, *turn, dump.Source) (toJSON, toText func(io.Writer) error, err error)) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	if f.past != nil && f.past.moment == nil {
		return f.serveDocument(w, part, q)
	}
	ctx, end := a.during(r)
	defer end()
	src, done, err := f.source(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	turn := &turn{agent: a}
	if err := turn.take(ctx); err != nil {
		return err
	}
	defer turn.give()
	toJSON, toText, err := take(ctx, turn, src)
	if err != nil {
		return err
	}
	return document(w, q, toJSON, toText)
}

// serveDocument answers with a page of a bundle.
func (f *follower) serveDocument(w http.ResponseWriter, part string, q *ask) error {
	if part == "" {
		_, err := f.open()
		return err
	}
	way, err := formatOf(q.format, documentFormats)
	if err != nil {
		return err
	}
	text, err := f.past.document(part, way.name)
	if err != nil {
		return err
	}
	out := begin(w, way.media, "")
	_, err = out.Write(text)
	return out.end(err)
}

// serveChange changes the settings of a recorder as the body says, and answers with what they are then.
func (a *Agent) serveChange(w http.ResponseWriter, r *http.Request, q *ask) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, flight.MaxControlBody))
	if err != nil {
		return refusal{http.StatusRequestEntityTooLarge, "the changes cannot be read: " + err.Error(), fmt.Sprintf("at most %d bytes, as docs/settings.md tells", flight.MaxControlBody)}
	}
	f, err := a.named(r)
	if err != nil {
		return err
	}
	return a.withReader(w, r, q, "", func(ctx context.Context, _ *turn, reader *flight.Reader) (toJSON, toText func(io.Writer) error, err error) {
		now, err := reader.Settings()
		if err != nil && !errors.Is(err, flight.ErrIncomplete) {
			return nil, nil, err
		}
		to, err := flight.ChangeSettings(now.Settings, string(text)) // as the process will say
		if err == nil {
			err = dump.Misspelt(now.Settings, to)
		}
		if err != nil {
			return nil, nil, refusal{http.StatusBadRequest, "settings: " + wrongLine(now.Settings, string(text)) + err.Error(), "lines such as park.stack=off: docs/settings.md"}
		}
		p := reader.Process()
		if f.own != nil {
			to, err := flight.ChangeSettings(f.own.Settings(), string(text))
			if err != nil {
				return nil, nil, err
			}
			f.own.SetSettings(to)
			return settingsOf(reader, q)
		}
		if _, err := control.Ask(ctx, p.Path, "settings", text); err != nil {
			return nil, nil, askRefusal(p, err)
		}
		return settingsOf(reader, q)
	})
}

// wrongLine says which line of changes is the first that is wrong; nothing if that depends on all of them.
func wrongLine(s flight.Settings, text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		to, err := flight.ChangeSettings(s, strings.Join(lines[:i+1], "\n"))
		if err == nil {
			err = dump.Misspelt(s, to)
		}
		if err != nil {
			return fmt.Sprintf("line %d: ", i+1)
		}
	}
	return ""
}

// askRefusal tells why a process was not asked.
func askRefusal(p flight.Process, err error) error {
	switch {
	case !p.Status.Live():
		return refusal{http.StatusConflict, "the process is " + p.Status.String(), "without changes"}
	case errors.Is(err, control.ErrPermission):
		return refusal{http.StatusForbidden, err.Error(), "vtserve as the user who runs the program"}
	case errors.Is(err, control.ErrSilent):
		return refusal{http.StatusGatewayTimeout, err.Error(), "in a moment: it may do later what it was asked"}
	case errors.Is(err, control.ErrLarge):
		return refusal{http.StatusBadGateway, err.Error(), "docs/security.md, for the limits of answers"}
	case errors.Is(err, control.ErrBusy):
		return refusal{http.StatusTooManyRequests, err.Error(), "in a moment"}
	case errors.Is(err, control.ErrFailed):
		return refusal{http.StatusBadRequest, err.Error(), "docs/settings.md"}
	}
	return refusal{http.StatusConflict, err.Error(), "build the program with a newer vtscope, or set VTSCOPE_DIR as it has it"}
}

// document answers with one document, in one of the two formats that all have.
func document(w http.ResponseWriter, q *ask, toJSON, toText func(io.Writer) error) error {
	way, err := formatOf(q.format, documentFormats)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	write := toJSON
	if way.name == "text" {
		write = toText
	}
	if err := write(&b); err != nil {
		return err
	}
	out := begin(w, way.media, "")
	_, err = out.Write(b.Bytes())
	return out.end(err)
}

// An output is the body of an answer whose status is not sent before its first byte, so that what fails at once can be told.
type output struct {
	w           http.ResponseWriter
	media, file string
	flush       bool // after each write
	begun       bool
}

func begin(w http.ResponseWriter, media, file string) *output {
	return &output{w: w, media: media, file: file}
}

func (o *output) Write(b []byte) (int, error) {
	if !o.begun {
		o.begun = true
		h := o.w.Header()
		h.Set("Content-Type", o.media)
		h.Set("Cache-Control", "no-store")
		if o.file != "" {
			h.Set("Content-Disposition", `attachment; filename="`+o.file+`"`)
		}
	}
	n, err := o.w.Write(b)
	if o.flush && err == nil {
		err = http.NewResponseController(o.w).Flush()
	}
	return n, err
}

// end returns the error, to be told, if nothing was sent so far. Else it breaks the connection, so that nobody takes the answer for whole.
func (o *output) end(err error) error {
	if err != nil && o.begun {
		panic(http.ErrAbortHandler)
	}
	if err == nil && !o.begun {
		_, err = o.Write(nil)
	}
	return err
}
