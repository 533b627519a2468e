package incident

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// TakeOptions say what goes into a bundle. Zero values mean the defaults.
type TakeOptions struct {
	// Events writes a recording of what the process did last, and says what it lacks. Default: of what its rings still hold. A [Tail] has more.
	Events func(ctx context.Context, r *flight.Reader, to io.Writer) (incomplete []string, err error)
	// CPU is for how long a profile of the processor is taken, if the program offers one. Default: 2 seconds; negative: none.
	CPU time.Duration
	// Over is how far apart the two looks are that findings compare, at least. Default: 1 second.
	Over time.Duration
	// Profile rewrites a profile that the program took of itself, to hide what must not be kept. Default: it is kept as it came. With an error it is not kept.
	Profile func(profile []byte) ([]byte, error)
	// Without are names of parts to leave out.
	Without []string
}

const (
	eventsPart = "events"
	eventsFile = "events.vtr"
)

// errGone is why a process that does not exist any more offers nothing.
var errGone = errors.New("the process is gone")

// A taker takes the parts of one bundle.
type taker struct {
	ctx     context.Context
	reader  *flight.Reader
	options TakeOptions
	look    *dump.Look
	began   time.Time
	silent  error // why the process is not asked any more
}

// A partRow is a row of the table of parts. take returns the contents of files, in the order of the names.
type partRow struct {
	name, about string
	files       []string
	take        func(t *taker) (files [][]byte, incomplete []string, err error)
}

// parts are what bundles consist of, in the order in which they are taken: profiles lie between the two looks that findings compare. Events are taken
// before all of these, because rings forget, and after the snapshot.
var parts = []partRow{
	{"snapshot", "what all threads did", []string{"snapshot.json", "snapshot.txt"}, (*taker).snapshot},
	{"waits", "who waited for whom", []string{"waits.json", "waits.txt"}, (*taker).waits},
	{"schedulers", "what its schedulers told, and where threads were pinned", []string{"schedulers.json", "schedulers.txt"}, (*taker).schedulers},
	{"goroutine", "Go's profile of goroutines", []string{"goroutine.pb.gz"}, profile("goroutine")},
	{"heap", "Go's profile of the heap", []string{"heap.pb.gz"}, profile("heap")},
	{"cpu", "Go's profile of the processor", []string{"cpu.pb.gz"}, (*taker).cpu},
	{"findings", "what the checks found", []string{"findings.json", "findings.txt"}, (*taker).findings},
	{"figures", "how many events of each kind there were, and what was lost", []string{"figures.json", "figures.txt"}, (*taker).figures},
	{"settings", "what its recorder recorded", []string{"settings.txt"}, (*taker).settings},
	{"build", "of what it was built", []string{"build.txt"}, (*taker).build},
}

// PartNames returns the names of all parts that a bundle may have.
func PartNames() []string {
	names := []string{eventsPart}
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// Take takes a bundle and returns its path. What cannot be had is named in it; an error means that there is no bundle: the process cannot be read, or the
// directory cannot be written. It takes some seconds. It does not ask [Store.Allow].
func (s *Store) Take(ctx context.Context, r *flight.Reader, causes ...Cause) (path string, err error) {
	if len(causes) == 0 || len(causes) > maxCauses {
		return "", fmt.Errorf("incident: %d causes: want 1 to %d", len(causes), maxCauses)
	}
	s.taking.Lock()
	defer s.taking.Unlock()
	t := &taker{ctx: ctx, reader: r, options: s.options.Take, began: time.Now()}
	t.options.CPU, t.options.Over = cmp.Or(t.options.CPU, 2*time.Second), cmp.Or(t.options.Over, time.Second)
	for _, name := range t.options.Without {
		if !slices.Contains(PartNames(), name) {
			return "", fmt.Errorf("incident: no part %q: want some of %s", name, strings.Join(PartNames(), ", "))
		}
	}
	if t.look, err = dump.TakeLook(ctx, r); err != nil {
		return "", fmt.Errorf("incident: %w", err)
	}
	m := &Manifest{Format: Format, Process: t.look.Snapshot.Process, Taken: t.began.UTC(), Causes: causes, Parts: []Part{}, Missing: []Missing{}}
	m.ID = newID(t.began, &m.Process)
	m.Host, _ = os.Hostname()
	for i := range m.Causes {
		if m.Causes[i].Fired.IsZero() {
			m.Causes[i].Fired = m.Taken
		}
	}
	if path, err = s.take(t, m); err != nil {
		return "", fmt.Errorf("incident: take %s: %w", m.ID, err)
	}
	return path, nil
}

func (s *Store) take(t *taker, m *Manifest) (path string, err error) {
	w, err := newWriter(s.options.Dir, m, s.makeRoom)
	if err != nil {
		return "", err
	}
	defer func() { w.discard() }()
	events, eventsErr := t.events(w)
	if eventsErr != nil { // what is written of them must go
		m.Missing = append(m.Missing, Missing{eventsPart, eventsErr.Error()})
		w.discard()
		if w, err = newWriter(s.options.Dir, m, s.makeRoom); err != nil {
			return "", err
		}
	}
	others, missing, err := t.others()
	if err != nil {
		return "", err
	}
	m.Missing = append(m.Missing, missing...)
	path, err = t.finish(w, m, events, others)
	if err == nil || events == nil {
		return path, err
	}
	// Rather a bundle without events than none.
	w.discard()
	if w, err = newWriter(s.options.Dir, m, s.makeRoom); err != nil {
		return "", err
	}
	m.Missing = append(m.Missing, Missing{eventsPart, "there was no room for them and the rest"})
	return t.finish(w, m, nil, others)
}

// taken is a part with what its files hold.
type taken struct {
	Part
	contents [][]byte
}

func (t *taker) finish(w *writer, m *Manifest, events *Part, others []taken) (path string, err error) {
	m.Parts = m.Parts[:0]
	if events != nil {
		m.Parts = append(m.Parts, *events)
	}
	for i := range others {
		o := others[i]
		o.Files = nil
		for j, content := range o.contents {
			f, err := w.add(others[i].Files[j].Name, func(to io.Writer) error { _, err := to.Write(content); return err })
			if err != nil {
				return "", err
			}
			o.Files = append(o.Files, f)
		}
		m.Parts = append(m.Parts, o.Part)
	}
	m.Took = time.Since(t.began)
	return w.finish(m)
}

// events records what happened last. An error is why there is none of it.
func (t *taker) events(w *writer) (*Part, error) {
	switch {
	case slices.Contains(t.options.Without, eventsPart):
		return nil, errors.New("not wanted")
	case t.options.Events == nil:
		t.options.Events = held
	}
	p := &Part{Name: eventsPart, About: "what happened last"}
	f, err := w.add(eventsFile, func(to io.Writer) (err error) {
		p.Incomplete, err = t.options.Events(t.ctx, t.reader, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Files = []File{f}
	p.Incomplete = few(p.Incomplete)
	return p, nil
}

// others takes all parts but the events. An error is that of the context.
func (t *taker) others() (all []taken, missing []Missing, err error) {
	for i := range parts {
		row := &parts[i]
		if slices.Contains(t.options.Without, row.name) {
			missing = append(missing, Missing{row.name, "not wanted"})
			continue
		}
		contents, incomplete, err := row.take(t)
		if ctxErr := t.ctx.Err(); ctxErr != nil {
			return nil, nil, ctxErr
		}
		if err != nil {
			missing = append(missing, Missing{row.name, err.Error()})
			continue
		}
		p := taken{Part{Name: row.name, About: row.about, Incomplete: few(incomplete)}, contents}
		for _, name := range row.files {
			p.Files = append(p.Files, File{Name: name})
		}
		all = append(all, p)
	}
	return all, missing, nil
}

func few(sentences []string) []string { return sentences[:min(len(sentences), maxIncompletes)] }

// document renders a document of package dump for programs and for people.
func document[T any](d T, asJSON func(io.Writer, T) error, asText func(io.Writer, T, dump.TextOptions) error) ([][]byte, error) {
	var j, t bytes.Buffer
	err := errors.Join(asJSON(&j, d), asText(&t, d, dump.TextOptions{}))
	return [][]byte{j.Bytes(), t.Bytes()}, err
}

func (t *taker) snapshot() ([][]byte, []string, error) {
	all, err := document(t.look.Snapshot, dump.JSON, dump.Text)
	return all, t.look.Snapshot.Incomplete, err
}

func (t *taker) waits() ([][]byte, []string, error) {
	all, err := document(t.look.Waits, dump.WaitsJSON, dump.WaitsText)
	return all, t.look.Waits.Incomplete, err
}

func (t *taker) schedulers() ([][]byte, []string, error) {
	s, err := dump.TakeSchedulers(t.ctx, t.reader)
	if err != nil {
		return nil, nil, err
	}
	all, err := document(s, dump.SchedulersJSON, dump.SchedulersText)
	return all, s.Incomplete, err
}

// findings looks once more, and compares.
func (t *taker) findings() ([][]byte, []string, error) {
	now, before := t.look, (*dump.Look)(nil)
	if t.look.Snapshot.Process.Status == dump.StatusRunning {
		select {
		case <-time.After(t.options.Over - time.Since(t.look.Snapshot.Taken)):
		case <-t.ctx.Done():
			return nil, nil, t.ctx.Err()
		}
		again, err := dump.TakeLook(t.ctx, t.reader)
		if err != nil {
			return nil, nil, err
		}
		now, before = again, t.look
	}
	f, err := dump.Check(now, before, dump.CheckOptions{})
	if err != nil {
		return nil, nil, err
	}
	all, err := document(f, dump.FindingsJSON, dump.FindingsText)
	return all, f.Incomplete, err
}

func (t *taker) settings() ([][]byte, []string, error) {
	s, err := t.reader.Settings()
	if err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return nil, nil, err
	}
	if !s.Known {
		return nil, nil, errors.New("its flight file does not tell them")
	}
	return [][]byte{[]byte(s.String())}, nil, nil
}

// build reads what Go has put into the executable: of the running process, even if the file was replaced.
func (t *taker) build() ([][]byte, []string, error) {
	p := t.reader.Process()
	paths := []string{p.Exe}
	if p.Status.Live() {
		paths = []string{"/proc/" + strconv.Itoa(p.PID) + "/exe", p.Exe}
	}
	var err error
	for _, path := range paths {
		info, e := buildinfo.ReadFile(path)
		if e == nil {
			return [][]byte{fmt.Appendf(nil, "program %s\nexecutable %s\n%s", p.Program, p.Exe, info)}, nil, nil
		}
		err = e
	}
	return nil, nil, err
}

func profile(name string) func(t *taker) ([][]byte, []string, error) {
	return func(t *taker) ([][]byte, []string, error) { return t.ask(name, 0) }
}

func (t *taker) cpu() ([][]byte, []string, error) {
	if t.options.CPU < 0 {
		return nil, nil, errors.New("not wanted")
	}
	return t.ask("cpu", t.options.CPU)
}

// ask has the process take a profile, for a time if that is one of a time. A process that did not
// answer once is not asked again.
func (t *taker) ask(name string, d time.Duration) ([][]byte, []string, error) {
	switch {
	case !t.reader.Process().Status.Live():
		return nil, nil, errGone
	case t.silent != nil:
		return nil, nil, fmt.Errorf("not asked: %w", t.silent)
	}
	body, err := control.Profile(t.ctx, t.reader.Process().Path, name, d)
	if errors.Is(err, control.ErrSilent) {
		t.silent = fmt.Errorf("asked for %s before, it was silent", name)
	}
	switch {
	case errors.Is(err, control.ErrUnknown):
		return nil, nil, errors.New("the program does not import runtime/flight/profiling")
	case err != nil:
		return nil, nil, err
	}
	if t.options.Profile != nil {
		if body, err = t.options.Profile(body); err != nil {
			return nil, nil, fmt.Errorf("rewrite: %w", err)
		}
	}
	return [][]byte{body}, nil, nil
}
