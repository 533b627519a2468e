package flight

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// A Label is a label of the profiler that a thread has from the program.
type Label struct{ Key, Value string }

// maxLabelSegments is for 262,144 threads with labels.
const maxLabelSegments = 256

var labelKind = poolKind{segmentLabel, labelSegmentSize, labelSize, maxLabelSegments, lostLabels, "labels of threads are not recorded any more"}

// A LabelRecord holds the labels of a thread: few have any, so that they are not in its record. A nil one is none.
type LabelRecord labelRecord

// LabelsText writes labels as [Recorder.OpenLabels] takes them, in the order of their keys.
func LabelsText(labels map[string]string) string {
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(strings.ReplaceAll(key, "\x00", "�"))
		b.WriteByte(0)
		b.WriteString(strings.ReplaceAll(labels[key], "\x00", "�"))
		b.WriteByte(0)
	}
	return b.String()
}

// OpenLabels returns a record of the labels of a thread, for as long as it lives or until [Recorder.Relabel]; text is of [LabelsText]. Without room it returns nil and counts the loss. It takes a lock.
// Of more than 240 bytes the last are cut, and marked.
func (r *Recorder) OpenLabels(id ThreadID, text string) *LabelRecord {
	if r == nil || text == "" {
		return nil
	}
	rec := (*labelRecord)(r.labels.take(r, &labelKind))
	if rec == nil {
		return nil
	}
	rec.write(id, text)
	return (*LabelRecord)(rec)
}

// Relabel changes the labels of a thread that lives; text "" takes them away. It returns their record, which may be another one than rec. One goroutine at a time does so for a thread.
func (r *Recorder) Relabel(rec *LabelRecord, id ThreadID, text string) *LabelRecord {
	switch {
	case r == nil:
		return nil
	case rec == nil:
		return r.OpenLabels(id, text)
	case text == "":
		r.CloseLabels(rec)
		return nil
	}
	(*labelRecord)(rec).write(id, text)
	return rec
}

func (rec *labelRecord) write(id ThreadID, text string) {
	var bytes [labelText]byte
	kept := cutText(text, labelText)
	copy(bytes[:], kept)
	flags := uint32(0)
	if len(kept) < len(text) {
		flags = labelsCut
	}
	v := beginWrite(&rec.Ver)
	put32(&rec.Info, uint32(len(kept))|flags<<16)
	put64(&rec.Thread, uint64(id))
	for i := range rec.Text {
		put64(&rec.Text[i], binary.NativeEndian.Uint64(bytes[8*i:]))
	}
	endWrite(&rec.Ver, v)
}

// CloseLabels frees the record of a thread's labels. rec must not be used afterwards.
func (r *Recorder) CloseLabels(rec *LabelRecord) {
	if r == nil || rec == nil {
		return
	}
	v := beginWrite(&rec.Ver)
	put64(&rec.Thread, 0)
	endWrite(&rec.Ver, v)
	r.labels.put(unsafe.Pointer(rec))
}

// A LabelRow is what the flight file says about the labels of a thread.
type LabelRow struct {
	Thread ThreadID
	Labels []Label // by key; a value that was cut ends in "…"
	Cut    bool    // there may be more
}

// Labels returns the labels that threads have from the program, by thread: of those alone that have any. An error that matches [ErrIncomplete] means that some are missing. Files
// of before they were recorded have none.
func (r *Reader) Labels() ([]LabelRow, error) {
	return r.labelsOf(func(ThreadID) bool { return true })
}

// LabelsOf is Labels of a few threads: those of others are passed over.
func (r *Reader) LabelsOf(ids []ThreadID) ([]LabelRow, error) {
	return r.labelsOf(func(id ThreadID) bool { return slices.Contains(ids, id) })
}

func (r *Reader) labelsOf(wanted func(ThreadID) bool) ([]LabelRow, error) {
	var rows []LabelRow
	le := binary.LittleEndian
	err := r.scan(segmentLabel, labelsPerSegment, labelSize, func(b []byte) bool {
		row := LabelRow{Thread: ThreadID(le.Uint64(b[8:])), Cut: le.Uint16(b[6:])&labelsCut != 0}
		if row.Thread == 0 || !wanted(row.Thread) {
			return true
		}
		rest := string(b[16 : 16+min(le.Uint16(b[4:]), labelText)])
		for rest != "" {
			var l Label
			var whole bool
			l.Key, rest, _ = strings.Cut(rest, "\x00")
			l.Value, rest, whole = strings.Cut(rest, "\x00")
			l.Key, l.Value = safeText(l.Key), safeText(l.Value)
			if !whole {
				l.Value += "…"
			}
			l.Value = r.text(TextLabel, l.Value)
			row.Labels = append(row.Labels, l)
		}
		rows = append(rows, row)
		return true
	})
	slices.SortStableFunc(rows, func(a, b LabelRow) int { return cmp.Compare(a.Thread, b.Thread) })
	return rows, err
}
