package journal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// What names and ids are at most, in bytes, and how many generations a thread has with its children, their children, and so on.
const (
	MaxName        = 128
	MaxID          = 256
	MaxGenerations = 64
)

const (
	maxCount = 1 << 53 // of steps, forks, attempts: one more is no overflow anywhere, and JavaScript reads it
)

// An Image is a thread with its children: what its bytes hold, and what a store knows.
type Image struct {
	ID       string                       `json:"id"`
	Body     string                       `json:"body"`
	Args     json.RawMessage              `json:"args"`
	Steps    []Step                       `json:"steps"`
	Since    int                          `json:"since,omitempty"`
	Forks    int                          `json:"forks,omitempty"`
	Inbox    map[string][]json.RawMessage `json:"inbox,omitempty"`
	Permit   bool                         `json:"permit,omitempty"`
	Number   int                          `json:"number,omitempty"` // of a child
	Begun    time.Time                    `json:"begun,omitzero"`   // zero: not known
	Children []Image                      `json:"children,omitempty"`

	// Of a child that has ended and was not joined yet.
	Ended   bool            `json:"ended,omitempty"`
	EndedAt time.Time       `json:"ended_at,omitzero"`
	Result  json.RawMessage `json:"result,omitempty"`
	Err     string          `json:"error,omitempty"`
}

// Check reports whether an image can be one of a thread. The error matches [ErrDamaged].
func (im *Image) Check() error { return im.check(MaxGenerations) }

func (im *Image) check(generations int) error {
	bad := func(what string) error { return fmt.Errorf("%w: thread %.40q: %s", ErrDamaged, im.ID, what) }
	switch {
	case im.ID == "" || len(im.ID) > MaxID || im.Body == "" || len(im.Body) > MaxName:
		return bad("its id or body")
	case im.Since < 0 || im.Since > maxCount || im.Forks < len(im.Children) || im.Forks > im.Since+len(im.Steps):
		return bad("its numbers")
	case generations == 0:
		return bad("its generations")
	}
	for i := range im.Steps {
		s := &im.Steps[i]
		switch {
		case s.Kind == StepNone || s.Open && (i < len(im.Steps)-1 || !Kinds[s.Kind].Opens) || len(s.Name) > MaxName || s.Attempts < 0 || s.Attempts > maxCount || s.Took < 0:
			return bad(fmt.Sprintf("step %d", i))
		case s.Kind == StepCheckpoint && i > 0:
			return bad(fmt.Sprintf("a checkpoint at step %d", i))
		}
	}
	last := 0
	for i := range im.Children {
		c := &im.Children[i]
		if c.Number <= last || c.Number > im.Forks || c.ID != im.ID+"/"+strconv.Itoa(c.Number) {
			return bad("the numbers of its children")
		}
		last = c.Number
		if err := c.check(generations - 1); err != nil {
			return err
		}
	}
	return nil
}
