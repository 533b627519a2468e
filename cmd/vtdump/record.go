package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// recordFormat names the JSON document of what was recorded.
const recordFormat = "vtscope/record/v1"

// recordFlags are what flags of vtdump record ask for.
type recordFlags struct {
	during  time.Duration // 0: until its end
	last    time.Duration // 0: from now on, and all
	maxAge  time.Duration
	maxSize int64
}

// A recordDoc tells what was recorded.
type recordDoc struct {
	Format     string    `json:"format"`
	File       string    `json:"file"`
	PID        int       `json:"pid"`
	Program    string    `json:"program"`
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Events     uint64    `json:"events"`
	Lost       uint64    `json:"lost"`
	Bytes      uint64    `json:"bytes"` // written; the limits may have left fewer
	Ended      bool      `json:"ended"` // the process has
	Incomplete []string  `json:"incomplete,omitempty"`
}

// record writes what a process does to a file, until a signal, its end, or --for.
func (s *settings) record(ctx context.Context, w world, r *flight.Reader) error {
	p := r.Process()
	name := s.exporting.output
	if name == "" {
		name = fmt.Sprintf("%s-%d%s", filepath.Base(p.Program), p.PID, recording.Extension)
	}
	limits := recording.Limits{MaxSize: s.recording.maxSize, MaxAge: max(s.recording.maxAge, s.recording.last)}
	store, err := recording.Create(name, limits)
	if err != nil {
		return hint{err, "-o FILE, another name"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.recording.during == 0 && s.format != "json" && p.Status.Live() {
		fmt.Fprintf(w.stderr, "recording %s (pid %d) to %s until Ctrl-C or its end\n", dump.Printable(p.Program), p.PID, dump.Printable(name))
	}
	report, err := recording.Record(ctx, r, store, recording.Options{For: s.recording.during, Held: s.recording.last > 0 || !p.Status.Live()})
	closed := store.Close()
	if err != nil && report.Events == 0 {
		return errors.Join(fmt.Errorf("%s: %w", name, err), closed)
	}
	if werr := s.tellRecorded(w, name, &report); werr != nil {
		return werr
	}
	if err = errors.Join(err, closed); err != nil {
		return hint{fmt.Errorf("%s: %w", name, err), "what was recorded before can be read: vtdump replay " + name}
	}
	return nil
}

func (s *settings) tellRecorded(w world, name string, report *recording.Report) error {
	in := &report.Info
	doc := recordDoc{
		recordFormat, name, in.PID, in.Program, in.From, in.To, report.Events, report.Lost, report.Bytes, report.Ended, in.Incomplete,
	}
	if s.format == "json" {
		b, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			return err
		}
		return written(w.stdout.Write(append(b, '\n')))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s, %s lost, %s", dump.Printable(name), dump.Count(int(report.Events), "event"), dump.Span(in.To.Sub(in.From)),
		dump.Thousands(int(report.Lost)), dump.Count(int(report.Bytes), "byte"))
	if report.Ended {
		b.WriteString("; the process has ended")
	}
	b.WriteByte('\n')
	for _, why := range in.Incomplete {
		fmt.Fprintf(&b, "  ! %s\n", dump.Printable(why))
	}
	text := b.String()
	if s.ascii {
		text = dump.ASCII(text)
	}
	return written(w.stdout.Write([]byte(text)))
}

// splitMoment splits "run.vtr@12s" into the file and the moment, "" for none. A file whose name has an @ is meant if it is there.
func splitMoment(target string) (path, at string) {
	if _, err := os.Lstat(target); err == nil {
		return target, ""
	}
	if i := strings.LastIndexByte(target, '@'); i >= 0 {
		return target[:i], target[i+1:]
	}
	return target, ""
}

// isRecording reports whether a target is a recording, or a moment of one.
func isRecording(target string) bool {
	path, _ := splitMoment(target)
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 16)
	n, _ := f.Read(b)
	return recording.IsRecording(bytes.TrimRight(b[:n], "\x00"))
}

// openRecording opens the recording of a target, and returns the moment that stands in it.
func (s *settings) openRecording() (f *recording.File, at string, err error) {
	path, at := splitMoment(s.target)
	if f, err = openEvents(path); err != nil {
		try := "a file that vtdump record has written"
		if errors.Is(err, fs.ErrNotExist) {
			try = "vtdump record PID -o " + path
			if filepath.Ext(path) == "" { // the name of a program, or its id
				try = "vtdump record " + path + " -o run.vtr, and then vtdump replay run.vtr"
			}
		}
		return nil, "", hint{err, try}
	}
	return f, at, nil
}
