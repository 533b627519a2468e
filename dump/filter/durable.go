package filter

import (
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// DurableFields are what can be asked of durable threads.
var DurableFields = []Field{
	{Name: "id", About: "its id; that of a child is its parent's, \"/\" and a number", text: func(_ *Matcher, r *Row) string { return r.Durable.ID }},
	{Name: "body", About: "the name of its body", text: func(_ *Matcher, r *Row) string { return r.Durable.Body }},
	{Name: "state", About: "what it is doing", kind: word, Values: durableStates(), text: func(_ *Matcher, r *Row) string { return string(r.Durable.State) }},
	{Name: "waits", About: "what kind of step it has open, such as signal, sleep, join, park, do", text: func(_ *Matcher, r *Row) string {
		if r.Durable.Wait == nil {
			return ""
		}
		return r.Durable.Wait.Kind.String()
	}},
	{Name: "for", About: "the name of that step, such as that of the signal", text: func(_ *Matcher, r *Row) string {
		if r.Durable.Wait == nil {
			return ""
		}
		return r.Durable.Wait.Name
	}},
	{Name: "wait", About: "how long ago it began to wait, was given its last step, or ended, such as 30s or 1h30m", kind: duration, num: func(_ *Matcher, r *Row) int64 { return int64(r.Wait) }},
	{Name: "steps", About: "how many it has made", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Steps) }},
	{Name: "kept", About: "how many its journal has", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Kept) }},
	{Name: "bytes", About: "how many its journal has", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Bytes) }},
	{Name: "children", About: "how many it has not joined", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Children) }},
	{Name: "attempts", About: "how often the call was begun that is under way", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Attempts) }},
	{Name: "failed", About: "how many of its kept steps have an error", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Failed) }},
	{Name: "keeper", About: "of a stream: the name of the keeper that has it", text: func(_ *Matcher, r *Row) string {
		if r.Durable.Lease == nil {
			return ""
		}
		return r.Durable.Lease.Holder
	}},
	{Name: "leases", About: "of a stream: how often a keeper has taken it", kind: number, num: func(_ *Matcher, r *Row) int64 {
		if r.Durable.Lease == nil {
			return 0
		}
		return int64(r.Durable.Lease.Taken)
	}},
	{Name: "inbox", About: "of a stream: how many signals came for it that no keeper has taken", kind: number, num: func(_ *Matcher, r *Row) int64 { return int64(r.Durable.Inbox) }},
	{Name: "error", About: "why it ended, or else the error of the newest step that has one", text: func(_ *Matcher, r *Row) string { return r.Durable.Err }},
}

func durableStates() (names []string) {
	for _, s := range journal.States {
		names = append(names, string(s.State))
	}
	return names
}

// ParseDurable is [Parse] for durable threads: one grammar, other fields.
func ParseDurable(s string) (*Filter, error) { return parse(s, &language{fields: DurableFields}) }

// MatchDurable reports whether a filter of [ParseDurable] matches a thread at a moment.
func (f *Filter) MatchDurable(r *journal.DurableRow, now time.Time) bool {
	return (&Matcher{filter: f}).Match(&Row{Durable: r, Wait: max(now.Sub(r.Since), 0)})
}
