package journal

import "time"

// A Lease tells who has a thread of a store that many keepers share. A thread has that of its tree.
type Lease struct {
	Holder string    `json:"holder,omitempty"` // the name of the keeper; "": none has it
	Since  time.Time `json:"since,omitzero"`   // when it was taken, begun there, or given back, by the clock of the servers; zero: not known
	Taken  int       `json:"taken,omitempty"`  // how often another keeper, or the same again, has taken it
	Silent bool      `json:"silent,omitempty"` // the holder was not heard of during the look
}

// A LeaseMove is a time that a thread was at one keeper.
type LeaseMove struct {
	Holder string    `json:"holder"`
	From   time.Time `json:"from,omitzero"`   // zero: before the checkpoint that the journal begins with
	To     time.Time `json:"to,omitzero"`     // zero: it has it, or had it until the next one took it
	Given  bool      `json:"given,omitempty"` // it was given back; else it ended there, or another keeper took it from one that was silent
	Err    string    `json:"error,omitempty"` // it was given back because a thread of its tree diverged, or panicked
}
