package dump

import (
	"slices"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Label is a label of the profiler that a thread has from the program, as its builder's Labels or from the thread that made it.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// A Trace says which trace of the program's own a thread belongs to, as its labels tell.
type Trace struct {
	ID   string `json:"id"`
	Span string `json:"span,omitempty"` // within it; "": not told
	Key  string `json:"key"`            // of the label that tells
}

// labelSource is what sources are that know labels of threads.
type labelSource interface {
	Labels() ([]flight.LabelRow, error)
}

// traceOf finds the labels that name a trace and a span, however they are written: trace_id, traceId, otel.trace-id.
func traceOf(labels []Label) *Trace {
	var t *Trace
	span := ""
	for _, l := range labels {
		if !inAddress(l.Value) {
			continue
		}
		switch key := strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(l.Key)); {
		case t == nil && strings.HasSuffix(key, "traceid"):
			t = &Trace{ID: l.Value, Key: l.Key}
		case span == "" && strings.HasSuffix(key, "spanid"):
			span = l.Value
		}
	}
	if t != nil {
		t.Span = span
	}
	return t
}

// inAddress reports whether a text may be the id of a trace or a span: it stands in addresses.
func inAddress(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-'
	}) < 0
}

// A LabelledThread is a thread with the labels that it has from the program.
type LabelledThread struct {
	Thread flight.ThreadID `json:"thread"`
	Labels []Label         `json:"labels"`
	Cut    bool            `json:"labels_cut,omitempty"` // there may be more
	Trace  *Trace          `json:"trace,omitempty"`
}

// labelledOf returns those of some threads of r that have labels from the program. They are a few: of a million threads the labels of the others are not read.
func labelledOf(r Source, ids []flight.ThreadID) (all []LabelledThread, err error) {
	var rows []flight.LabelRow
	switch src := r.(type) {
	case interface {
		LabelsOf(ids []flight.ThreadID) ([]flight.LabelRow, error)
	}:
		rows, err = src.LabelsOf(ids)
	case labelSource:
		rows, err = src.Labels()
	}
	for _, row := range rows {
		if !slices.Contains(ids, row.Thread) {
			continue
		}
		t := LabelledThread{Thread: row.Thread, Cut: row.Cut}
		for _, l := range row.Labels {
			t.Labels = append(t.Labels, Label(l))
		}
		t.Trace = traceOf(t.Labels)
		all = append(all, t)
	}
	return all, err
}

// labelsOf returns the labels that a thread has from the program, and whether it may have more.
func (m *matching) labelsOf(id flight.ThreadID) (all []Label, cut bool) {
	if m.labels == nil {
		m.labels = map[flight.ThreadID]*flight.LabelRow{}
		if r, ok := m.src.(labelSource); ok {
			rows, err := r.Labels()
			m.unlabelled = err
			for i := range rows {
				m.labels[rows[i].Thread] = &rows[i]
			}
		}
	}
	row := m.labels[id]
	if row == nil {
		return nil, false
	}
	for _, l := range row.Labels {
		all = append(all, Label(l))
	}
	return all, row.Cut
}
