package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
)

const (
	marksEvery  = time.Second // between two looks whether somebody else has changed the file
	longestMark = 1 << 10     // bytes of a mark with its note
)

// groupMarks are the marks of [Options.Marks]. The file is the truth: vtdump mark may change it meanwhile. Its methods may be called from any goroutine.
type groupMarks struct {
	path string       // "": none are kept
	warn func(string) // told once what is wrong with the file

	mu struct {
		sync.Mutex
		marks  *dump.Marks // never changed, only replaced; nil: none was read yet
		looked time.Time
		time   time.Time // of the file, when it was read
		size   int64
		number uint64 // of marks: each one that differs has another
	}
}

// open reads the file the first time. That there is none is fine.
func (m *groupMarks) open(path string, warn func(string)) error {
	m.path, m.warn = path, warn
	if path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readLocked()
}

// readLocked reads the file if it has changed. With an error the marks stay as they were.
func (m *groupMarks) readLocked() error {
	m.mu.looked = time.Now()
	info, err := os.Stat(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if m.mu.marks == nil || m.mu.marks.Len() > 0 {
			m.replaceLocked(&dump.Marks{}, time.Time{}, 0)
		}
		return nil
	case err != nil:
		return fmt.Errorf("marks: %w", err)
	case m.mu.marks != nil && info.ModTime().Equal(m.mu.time) && info.Size() == m.mu.size:
		return nil
	}
	text, err := plainfile.Read(m.path, dump.MaxMarks)
	if err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	marks, err := dump.ParseMarks(string(text))
	if err != nil {
		return fmt.Errorf("marks: %s: %w", m.path, err)
	}
	m.replaceLocked(marks, info.ModTime(), info.Size())
	return nil
}

func (m *groupMarks) replaceLocked(marks *dump.Marks, at time.Time, size int64) {
	m.mu.marks, m.mu.time, m.mu.size = marks, at, size
	m.mu.number++
}

// now returns the marks, which nobody may change, and their number.
func (m *groupMarks) now() (*dump.Marks, uint64) {
	if m.path == "" {
		return &dump.Marks{}, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.mu.looked) >= marksEvery {
		if err := m.readLocked(); err != nil {
			m.warn(err.Error())
		}
	}
	return m.mu.marks, m.mu.number
}

// version is another number after each change of the marks.
func (m *groupMarks) version() uint64 {
	_, n := m.now()
	return n
}

// set marks a group of a snapshot, by its stack without line numbers.
func (m *groupMarks) set(s *dump.Snapshot, group int, mark dump.Mark, note string) (dump.MarkedGroup, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.readLocked(); err != nil {
		return dump.MarkedGroup{}, err
	}
	marks, err := dump.ParseMarks(m.mu.marks.String()) // a copy
	if err != nil {
		return dump.MarkedGroup{}, err
	}
	line := marks.Remark(s, group, dump.SameFunctions, mark, note)
	if err := writeMarks(m.path, marks.String()); err != nil {
		return line, fmt.Errorf("marks: %w", err)
	}
	info, err := os.Stat(m.path)
	if err != nil {
		return line, fmt.Errorf("marks: %w", err)
	}
	m.replaceLocked(marks, info.ModTime(), info.Size())
	return line, nil
}

// writeMarks replaces a file whole: who reads it meanwhile has the old one or the new one.
func writeMarks(path, text string) error {
	return plainfile.Replace(path, plainfile.ModeOf(path, 0o644), func(to io.Writer) error { _, err := io.WriteString(to, text); return err })
}

// note tells of rows what their groups are marked.
func (m *groupMarks) note(s *dump.Snapshot, rows []GroupRow) {
	marks, _ := m.now()
	if s == nil || marks.Len() == 0 || len(rows) == 0 {
		return
	}
	of := marks.Of(s)
	for i := range rows {
		at := slices.IndexFunc(s.Groups, func(g dump.Group) bool { return g.Key == rows[i].Key })
		if at < 0 {
			continue
		}
		if g, ok := of(&s.Groups[at]); ok {
			rows[i].Mark, rows[i].Note = string(g.Mark), g.Note
		}
	}
}

// A MarkRow is what a group is marked now.
type MarkRow struct {
	Group string `json:"group"` // key
	Mark  string `json:"mark"`  // good, suspicious or none
	About string `json:"about"` // the path and the innermost calls: it holds for all groups with these, in every process
	Note  string `json:"note"`
	File  string `json:"file"`
}

// serveMark marks a group.
func (a *Agent) serveMark(w http.ResponseWriter, r *http.Request, _ *ask) error {
	if a.marks.path == "" {
		return refusal{http.StatusNotFound, "vtserve keeps no marks", "vtserve --marks FILE"}
	}
	f, err := a.named(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestMark))
	if err != nil {
		return refusal{http.StatusRequestEntityTooLarge, "the mark cannot be read: " + err.Error(), fmt.Sprintf("at most %d bytes", longestMark)}
	}
	word, note, _ := strings.Cut(string(text), "#")
	mark := dump.Mark(strings.TrimSpace(word))
	if mark != dump.Good && mark != dump.Suspicious && mark != dump.NoMark {
		return refusal{http.StatusBadRequest, fmt.Sprintf("%q is no mark", short(string(mark))), "good, suspicious or none, and maybe # and a note"}
	}
	s := f.view().snapshot
	if s == nil {
		return refusal{http.StatusServiceUnavailable, "the first snapshot is on its way", "again in a moment"}
	}
	key, err := s.GroupKey(r.PathValue("group"))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(s.Groups, func(g dump.Group) bool { return g.Key == key })
	line, err := a.marks.set(s, at, mark, strings.TrimSpace(note))
	if err != nil {
		return err
	}
	f.hurry() // pages show it with the next snapshot at the latest
	answer(w, http.StatusOK, MarkRow{key, string(mark), line.About, line.Note, a.marks.path})
	return nil
}
