package dump

import (
	"io"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// DurableThreadFormat names the JSON document of the history of a durable thread.
const DurableThreadFormat = "vtscope/durable-thread/v1"

// What a history is limited to, unless somebody asks for more.
const (
	UsualSteps = 200
	UsualValue = 200 // bytes
)

// A DurableThread is the history of a durable thread, and where it stands.
type DurableThread struct {
	Format string        `json:"format"`
	Source DurableSource `json:"source"`
	Taken  time.Time     `json:"taken"`
	journal.History
	Incomplete []string `json:"incomplete,omitempty"`
}

// NewDurableThread makes the document of a history as of a moment.
func NewDurableThread(h *journal.History, source DurableSource, taken time.Time, incomplete ...string) *DurableThread {
	return &DurableThread{DurableThreadFormat, source, taken, *h, incomplete}
}

// DurableThreadJSON writes a history as one document.
func DurableThreadJSON(w io.Writer, t *DurableThread) error { return writeDocument(w, t) }
