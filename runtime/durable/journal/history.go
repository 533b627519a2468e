package journal

import (
	"encoding/json"
	"strings"
	"time"
)

// A Look says how much of a history is told.
type Look struct {
	Last  int `json:"last,omitempty"`  // steps, the newest; 0: all
	Value int `json:"value,omitempty"` // bytes of a value; 0: all
}

// A DurableStep is a step of a history.
type DurableStep struct {
	Number     int             `json:"number"` // from 0 on, with those that checkpoints stand for, as in keys of calls
	Kind       Kind            `json:"kind"`
	Name       string          `json:"name,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	ValueBytes int             `json:"value_bytes,omitempty"` // of a value that is shortened to a text: all that it has
	Err        string          `json:"error,omitempty"`
	Open       bool            `json:"open,omitempty"`
	Attempts   int             `json:"attempts,omitempty"`
	At         time.Time       `json:"at"`
	Took       time.Duration   `json:"took_ns,omitempty"`
}

// A History is what is told of one thread.
type History struct {
	Row       DurableRow                   `json:"row"`
	Args      json.RawMessage              `json:"args,omitempty"`
	Result    json.RawMessage              `json:"result,omitempty"`
	Steps     []DurableStep                `json:"steps"`
	StepsLeft int                          `json:"steps_left,omitempty"`
	Signals   map[string][]json.RawMessage `json:"signals,omitempty"` // that came and were not awaited yet
	Permit    bool                         `json:"permit,omitempty"`  // of an unpark that no park has taken yet
	Children  []DurableRow                 `json:"children,omitempty"`
	Thread    uint64                       `json:"thread,omitempty"` // the thread that it is, or hibernates as, in the flight file of its process; 0: not known
	Leases    []LeaseMove                  `json:"leases,omitempty"` // of a store that many keepers share: who had it, as far as the journal of its tree still tells; the oldest first
}

// HistoryOf tells of an image what a journal alone can tell.
func HistoryOf(im *Image, l Look) *History {
	h := &History{Row: RowOf(im), Steps: []DurableStep{}, Permit: im.Permit}
	h.Args, _ = l.value(im.Args)
	h.Result, _ = l.value(im.Result)
	steps, number := im.Steps, im.Since
	if l.Last > 0 && len(steps) > l.Last {
		h.StepsLeft = len(steps) - l.Last
		steps, number = steps[h.StepsLeft:], number+h.StepsLeft
	}
	for i := range steps {
		s := &steps[i]
		p := DurableStep{Number: number + i, Kind: s.Kind, Name: s.Name, Err: s.Err, Open: s.Open, Attempts: s.Attempts, At: s.At, Took: s.Took}
		p.Value, p.ValueBytes = l.value(s.Value)
		h.Steps = append(h.Steps, p)
	}
	for name, all := range im.Inbox {
		if h.Signals == nil {
			h.Signals = map[string][]json.RawMessage{}
		}
		for _, v := range all {
			short, _ := l.value(v)
			h.Signals[name] = append(h.Signals[name], short)
		}
	}
	for i := range im.Children {
		h.Children = append(h.Children, RowOf(&im.Children[i]))
	}
	return h
}

// value returns a value, or a text with its beginning and how long all of it is.
func (l Look) value(v json.RawMessage) (json.RawMessage, int) {
	if l.Value == 0 || len(v) <= l.Value {
		return v, 0
	}
	text, err := json.Marshal(strings.ToValidUTF8(string(v[:l.Value]), "") + "…")
	if err != nil {
		return nil, len(v)
	}
	return text, len(v)
}

// Find returns the thread of an id among trees, or nil.
func Find(roots []*Image, id string) *Image {
	for _, im := range roots {
		if found := im.find(id); found != nil {
			return found
		}
	}
	return nil
}

func (im *Image) find(id string) *Image {
	if im.ID == id {
		return im
	}
	if !strings.HasPrefix(id, im.ID) {
		return nil
	}
	for i := range im.Children {
		if found := im.Children[i].find(id); found != nil {
			return found
		}
	}
	return nil
}

// Walk calls f with a thread and all below it, until f returns false.
func (im *Image) Walk(f func(*Image) bool) bool {
	if !f(im) {
		return false
	}
	for i := range im.Children {
		if !im.Children[i].Walk(f) {
			return false
		}
	}
	return true
}
