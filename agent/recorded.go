package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/source"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// statusRecorded is the status of a process that a file tells of.
const statusRecorded = "recorded"

// maxMoments is how many moments of a recording are kept for pages that look at them.
const maxMoments = 8

// A past is a process that a file tells of: a recording, an incident bundle, or what [source.Open] opens.
type past struct {
	path   string
	bundle *incident.Bundle // nil: another file
	file   *recording.File  // nil: another file, or a bundle without a recording
	moment dump.Source      // that another file tells of; nil: it is one of those
	opened io.Closer        // what moment is read from
	info   recording.Info   // of file
	begins time.Duration    // of file

	root *follower // of the end, which has the time line
	once sync.Once // starts to make that

	reading sync.Mutex // held while file, or a moment of it, is read

	mu struct {
		sync.Mutex
		moments []*follower // the newest last
	}
}

// openRecorded opens a file.
func openRecorded(path string, scopes goroutines.ScopeBy) (*past, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var magic [16]byte
	n, _ := io.ReadFull(f, magic[:])
	r := &past{path: path}
	switch {
	case recording.IsRecording(magic[:n]):
		r.file, err = recording.Open(path)
	case bytes.HasPrefix(magic[:n], []byte("PK\x03\x04")):
		if r.bundle, err = incident.Open(path); err != nil {
			break
		}
		if events, none := r.bundle.Events(); none == nil {
			if r.file, err = recording.NewFile(events, events.Size()); err != nil {
				r.bundle.Close()
			}
		}
	case source.Is(path):
		var opened source.Source
		if opened, err = source.Open(path, source.Options{Scopes: scopes}); err == nil {
			r.moment, r.opened = dump.Looked(opened), opened
		} else if !strings.Contains(err.Error(), path) {
			err = fmt.Errorf("%s: %w", path, err)
		}
	default:
		err = fmt.Errorf("%s: no recording, no incident bundle, no core file, and no dump of goroutines or threads", path)
	}
	if err != nil {
		return nil, err
	}
	if r.file != nil {
		r.info, r.begins = r.file.Info(), r.file.Begins()
	}
	return r, nil
}

func (r *past) close() error {
	var errs []error
	if r.file != nil {
		errs = append(errs, r.file.Close())
	}
	if r.bundle != nil {
		errs = append(errs, r.bundle.Close())
	}
	if r.opened != nil {
		errs = append(errs, r.opened.Close())
	}
	return errors.Join(errs...)
}

// process describes the process, which is there no more, whatever became of it.
func (r *past) process() flight.Process {
	if r.bundle != nil {
		p := &r.bundle.Manifest.Process
		return flight.Process{PID: p.PID, Program: p.Program, Exe: p.Exe, GoVersion: p.GoVersion, Start: p.Started, Path: r.path, LastSeen: r.bundle.Manifest.Taken}
	}
	if r.moment != nil {
		return r.moment.Process()
	}
	in := r.file.Info()
	return flight.Process{PID: in.PID, Program: in.Program, Exe: in.Exe, GoVersion: in.GoVersion, Start: in.Started, Path: r.path, LastSeen: in.To}
}

// momentLocked returns what all threads did at a moment, "" for the end. The caller holds r.reading as long as it reads that.
func (r *past) momentLocked(ctx context.Context, at string) (dump.Source, error) {
	switch {
	case r.moment != nil && at == "":
		return r.moment, nil
	case r.moment != nil:
		return nil, refusal{http.StatusConflict, "at: the file tells of one moment alone", "without at"}
	case r.file == nil:
		return nil, refusal{http.StatusConflict, "the bundle has no recording: its threads are known by groups alone", "dump without parameters"}
	}
	when, err := r.file.When(at)
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error(), "at=12s"}
	}
	m, err := r.file.At(ctx, when)
	if err != nil && ctx.Err() == nil {
		err = refusal{http.StatusBadRequest, err.Error(), "at with a time in between, or without it for the end"}
	}
	return m, err
}

// snapshot returns that of a moment. Of a bundle without a moment it is the one in it.
func (r *past) snapshot(ctx context.Context, at string, groups int) (*dump.Snapshot, error) {
	if r.bundle != nil && at == "" {
		if text, err := r.bundle.JSON("snapshot"); err == nil {
			return dump.ParseJSON(text)
		}
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	m, err := r.momentLocked(ctx, at)
	if err != nil {
		return nil, err
	}
	return dump.Take(ctx, m, dump.Options{MaxGroups: groups})
}

// findings are those that a bundle has; nil: none are known.
func (r *past) findings() *dump.Findings {
	if r.bundle == nil {
		return nil
	}
	text, err := r.bundle.JSON("findings")
	if err != nil || text == nil {
		return nil
	}
	var d dump.Findings
	if json.Unmarshal(text, &d) != nil || d.Format != dump.FindingsFormat {
		return nil
	}
	return &d
}

// document returns a page of a bundle as it was taken.
func (r *past) document(part, format string) ([]byte, error) {
	if r.bundle == nil {
		return nil, refusal{http.StatusConflict, "a recording tells what threads did, and not its " + part, "dump?at=12s; or an incident bundle, which has them"}
	}
	text, err := r.bundle.Text(part)
	if format == "json" {
		text, err = r.bundle.JSON(part)
	}
	if err == nil && text == nil {
		err = fmt.Errorf("the bundle has no %s as %s", part, format)
	}
	if err != nil {
		return nil, refusal{http.StatusNotFound, err.Error(), "format=text"}
	}
	return text, nil
}

// addRecorded makes the process of a file one of those that are shown.
func (a *Agent) addRecorded(path string) error {
	r, err := openRecorded(path, a.options.Scopes)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	name := strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '.' || c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return c
		}
		return '_' // what paths of the interface do not have
	}, filepath.Base(path))
	key := name
	for n := 2; a.find(key) != nil; n++ {
		key = fmt.Sprintf("%s-%d", name, n)
	}
	f, err := a.newRecorded(a.ctx, r, key, "")
	if err != nil {
		return errors.Join(fmt.Errorf("agent: %s: %w", path, err), r.close())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closed {
		return errors.Join(errAgentClosed, r.close())
	}
	a.mu.followers["recorded:"+key] = f
	r.root = f
	return nil
}

// newRecorded makes a follower that follows nothing: what there is to know of a moment it knows from the beginning.
func (a *Agent) newRecorded(ctx context.Context, r *past, key, at string) (*follower, error) {
	var s *dump.Snapshot
	var l *dump.Look // of a moment, which is judged here
	var err error
	if r.moment != nil && at == "" {
		r.reading.Lock()
		l, err = dump.LookOptions{Snapshot: dump.Options{MaxGroups: a.maxGroups()}}.Take(ctx, r.moment)
		r.reading.Unlock()
		if err == nil {
			s = l.Snapshot
		}
	} else {
		s, err = r.snapshot(ctx, at, a.maxGroups())
	}
	if err != nil {
		return nil, err
	}
	p := r.process()
	f := &follower{
		agent: a, path: r.path, key: key, past: r, at: at,
		open: func() (*flight.Reader, error) {
			return nil, refusal{http.StatusConflict, "this is a file, and no process", "dump, or a process that runs"}
		},
		kick: make(chan struct{}, 1), results: make(chan result, 1), history: timeline{most: a.options.Points}, seen: noSurvey(), latest: s,
		lookout: lookout{options: a.options.Checks},
	}
	f.mu.wake = make(chan struct{})
	switch {
	case l != nil:
		if err := f.lookout.add(l, false); err != nil {
			return nil, err
		}
	case at == "":
		f.lookout.found = r.findings()
	}
	if r.file == nil {
		f.history.note = "There is no time line: the file tells of one moment alone."
	}
	v := f.newView(p)
	v.version = 1
	v.row.Status, v.row.Gone, v.row.Threads = statusRecorded, s.AsOf.UnixMilli(), s.Threads
	v.process.LastSeen = s.AsOf
	f.mu.view = v
	return f, nil
}

// viewAt returns what is known of another moment of a recording: the nearest one that it has. Views of the newest moments are kept.
func (f *follower) viewAt(ctx context.Context, at time.Time) (*view, error) {
	r := f.past
	if r.file == nil {
		_, err := r.momentLocked(ctx, at.Format(time.RFC3339Nano))
		return nil, err
	}
	at = r.nearest(at)
	text := at.UTC().Format(time.RFC3339Nano)
	m, err := f.momentOf(ctx, f.fileKey()+"@"+text, text)
	if err != nil {
		return nil, err
	}
	v := *m.view()
	v.row.Key = f.key // it is the same process
	v.shelf = &shelf{}
	return &v, nil
}

// nearest is the moment that a recording has next to a time.
func (r *past) nearest(at time.Time) time.Time {
	first, last := r.reach()
	switch {
	case at.Before(first):
		return first
	case at.After(last):
		return last
	}
	return at
}

// reach is from when to when a recording knows what threads did.
func (r *past) reach() (first, last time.Time) {
	in := r.info
	return in.From.Add(r.begins), in.To
}

// fileKey is the key of the process that the file is, whatever moment f is of.
func (f *follower) fileKey() string {
	key, _, _ := strings.Cut(f.key, "@")
	return key
}

// around tells that any moment of a recording can be shown; those next to one are those of its time line.
func (r *past) around(at int64, line timeline) Moment {
	m := Moment{Back: []int64{}, Forth: []int64{}, Note: line.note}
	if r.file == nil {
		return m
	}
	first, last := r.reach()
	m.Oldest, m.Newest = first.UnixMilli(), last.UnixMilli()
	points, _, _ := line.since(0)
	for i := len(points) - 1; i >= 0 && len(m.Back) < stepsTold; i-- {
		if t := points[i].time; at == 0 || t < at {
			m.Back = append(m.Back, t)
		}
	}
	for i := 0; i < len(points) && at != 0 && len(m.Forth) < stepsTold; i++ {
		if t := points[i].time; t > at {
			m.Forth = append(m.Forth, t)
		}
	}
	return m
}

// root is the follower that has the time line: of a moment of a recording that of the whole.
func (f *follower) root() *follower {
	if f.past != nil && f.past.root != nil {
		return f.past.root
	}
	return f
}

// atMoment returns a follower for another moment of a recording, nil if it has none.
func (f *follower) atMoment(at string) *follower {
	ctx, cancel := context.WithTimeout(f.agent.ctx, 10*time.Second)
	defer cancel()
	m, err := f.momentOf(ctx, f.key+"@"+at, at)
	if err != nil {
		return nil
	}
	return m
}

// momentOf is atMoment with a key, under which it is kept as one of the newest.
func (f *follower) momentOf(ctx context.Context, key, at string) (*follower, error) {
	r := f.past
	r.mu.Lock()
	for _, m := range r.mu.moments {
		if m.key == key {
			r.mu.Unlock()
			return m, nil
		}
	}
	r.mu.Unlock()
	m, err := f.agent.newRecorded(ctx, r, key, at)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.moments = append(r.mu.moments, m); len(r.mu.moments) > maxMoments {
		r.mu.moments = r.mu.moments[1:]
	}
	return m, nil
}

// source opens the threads of a process, or those of a moment of a recording.
func (f *follower) source(ctx context.Context, at string) (dump.Source, func() error, error) {
	if f.past != nil {
		f.past.reading.Lock()
		done := func() error { f.past.reading.Unlock(); return nil }
		m, err := f.past.momentLocked(ctx, cmp.Or(at, f.at))
		if err != nil {
			done()
			return nil, nil, err
		}
		return m, done, nil
	}
	if at != "" {
		return nil, nil, refusal{http.StatusConflict, "at: of a process only its groups of threads are kept, and not each thread", "dump?at=… and groups/1?at=…; or a recording: vtserve run.vtr"}
	}
	if f.asked != nil {
		if why := f.asked.problem(); why != "" {
			return nil, nil, refusal{http.StatusServiceUnavailable, why, "again in " + f.asked.pause().String()}
		}
	}
	src, err := f.openSource()
	if err != nil {
		return nil, nil, err
	}
	return src, src.Close, nil
}
