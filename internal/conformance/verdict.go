package main

import "fmt"

// A verdict says what becomes of a behaviour here.
type verdict struct {
	kind  kind
	why   string // not applicable: the reason; otherwise what differs, or what of it waits
	issue string // waiting: what for; tested: what the rest waits for, or ""
}

// A kind of verdict.
type kind uint8

const (
	isTested kind = iota
	isNotApplicable
	isWaiting
)

// What behaviours can wait for.
const (
	synchronizers = "the synchronizers and scopes issue (5)"
	recorder      = "the recorder issue (6)"
	dumps         = "the dump issue (7)"
	network       = "the network issue (9)"
)

// tested is a behaviour that tests show.
var tested = verdict{kind: isTested}

// adapted is tested, in another form than the inventory's: why says in which.
func adapted(why string) verdict { return verdict{kind: isTested, why: why} }

// partly is tested, but for a part that waits for an issue.
func partly(issue, part string) verdict { return verdict{kind: isTested, why: part, issue: issue} }

// never is a behaviour that has no meaning in Go.
func never(why string) verdict { return verdict{kind: isNotApplicable, why: why} }

// waits is a behaviour of a part that does not exist yet.
func waits(issue string) verdict { return verdict{kind: isWaiting, issue: issue} }

// A behaviour is a row of the inventory.
type behaviour struct {
	code string // as tests name it
	says string // in a few words
	verdict
}

// A group is what the inventory has of one subject.
type group struct {
	name  string
	about string
	rows  []behaviour
}

// String is the verdict in the page's words.
func (v verdict) String() string {
	switch {
	case v.kind == isNotApplicable:
		return "not applicable: " + v.why
	case v.kind == isWaiting:
		return "waits for " + v.issue
	case v.issue != "":
		return fmt.Sprintf("tested; %s waits for %s", v.why, v.issue)
	case v.why != "":
		return "tested: " + v.why
	}
	return "tested"
}
