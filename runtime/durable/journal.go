package durable

import "github.com/vtscope/vtscope/runtime/durable/journal"

// A Journal is what a thread has learned, in order.
//
//	J1  Steps are appended by the thread itself, and by nobody else; others read it while they hold its lock.
//	J2  Only the last step can be open.
//	J3  at is the step that the body asks for next. While at < len(steps) the thread replays: it executes nothing outside.
//	J4  A step is in the journal, and lasts in the store if there is one, before the body sees its value. What came from no one else (the time, random
//	    numbers) lasts before the next call, or the next step that must: nobody has seen it before.
type Journal struct {
	steps []journal.Step
	at    int
	since int             // steps that checkpoints have replaced
	lazy  []journal.Entry // that the store has not heard of yet: J4
}
