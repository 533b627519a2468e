package journal

import (
	"encoding/json"
	"time"
)

// An Op is what an [Entry] says.
type Op string

// The ops.
const (
	OpNew    Op = "new"    // the thread begins: Parent, Number, Body, Args
	OpStep   Op = "step"   // Step was appended
	OpSet    Op = "set"    // Step replaces the last one; a signal that it holds is no more to be awaited, and a park's permit is used
	OpBase   Op = "base"   // Step, a checkpoint, stands for the Since steps so far; if there is an Image, it stands for all that was told of the thread
	OpSignal Op = "signal" // a signal came: Name, Value
	OpUnpark Op = "unpark" // a permit came
	OpEnd    Op = "end"    // the thread has ended: Value, Err
	OpDrop   Op = "drop"   // nobody will ask for the thread again
	OpWhole  Op = "whole"  // Image is all of the thread, without its children

	// In stores of many keepers. Thread is a root.
	OpLease   Op = "lease"   // the keeper Name has taken the tree
	OpRelease Op = "release" // the keeper Name has given it back
)

// An Entry is something that happened to a thread.
type Entry struct {
	Thread string          `json:"thread"`
	Op     Op              `json:"op"`
	At     time.Time       `json:"at,omitzero"` // of OpNew and OpEnd: when
	Parent string          `json:"parent,omitempty"`
	Number int             `json:"number,omitempty"`
	Body   string          `json:"body,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Step   *Step           `json:"step,omitempty"`
	Since  int             `json:"since,omitempty"`
	Name   string          `json:"name,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Err    string          `json:"error,omitempty"`
	Image  *Image          `json:"image,omitempty"`
	Inbox  uint64          `json:"inbox,omitempty"` // of a signal or a permit that came by a store's inbox: its number there
}
