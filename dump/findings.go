package dump

import (
	"io"
	"time"
)

// FindingsFormat names the JSON document of [FindingsJSON] and its version.
const FindingsFormat = "vtscope/findings/v1"

// Findings is what the [Checks] have found in a process.
type Findings struct {
	Format  string  `json:"format"` // always [FindingsFormat]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`   // when the newest look was taken
	AsOf  time.Time     `json:"as_of"`   // the moment it describes
	Took  time.Duration `json:"took_ns"` // reading it
	Over  time.Duration `json:"over_ns"` // since the oldest look that it was compared with; 0: there is none

	// Complete reports that nothing is missing. If not, Incomplete says what is, one short sentence each.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	Findings []Finding  `json:"findings"` // in the order of Checks, then the longest or most first
	More     []More     `json:"more,omitempty"`
	Unjudged []Unjudged `json:"unjudged"` // checks that were not made, or not of all
}

// A Finding is something that a check has found, with its evidence.
type Finding struct {
	Key      string   `json:"key"`   // the same for the same check, scope, place and thing, from one look to the next and in other processes
	Check    string   `json:"check"` // a name of [Checks]
	Severity Severity `json:"severity"`
	What     string   `json:"what"`  // a sentence without a full stop
	Count    int      `json:"count"` // threads, or scopes, as What says

	// Value is what was measured, and Threshold from what value on it is found, both in Unit.
	Value     int64 `json:"value"`
	Threshold int64 `json:"threshold"`
	Unit      Unit  `json:"unit"`

	Scope    []string `json:"scope,omitempty"`     // names from below the root's
	ScopeKey string   `json:"scope_key,omitempty"` // of [Scope]; "": it is of no scope, or of all
	GroupKey string   `json:"group_key,omitempty"` // of [Group]; "": it is of no group, or of several
	Place    *Place   `json:"place,omitempty"`     // nil: not known

	Since    time.Duration `json:"since_ns"` // for how long it has been so at least, as the flight file tells
	First    time.Time     `json:"first"`    // when it began: Since before the look, or when who looks all the time has seen it first
	Examples []Party       `json:"examples,omitempty"`
	Evidence []string      `json:"evidence,omitempty"` // further sentences
	Page     string        `json:"page"`               // of the documentation

	// Of what Key is made: about names the thing. Of one that is about the whole process, scope and place are those that show it best, and may be others at each look;
	// of one about a scope the place may.
	about    string
	anywhere bool
	anyPlace bool
}

// More counts what a check has found beyond the most that are told.
type More struct {
	Check string `json:"check"`
	Count int    `json:"count"`
}

// Unjudged is a check that was not made, or not of all, and why.
type Unjudged struct {
	Check  string `json:"check"`
	Why    string `json:"why"`
	Partly bool   `json:"partly,omitempty"` // it was made, of what can be judged
}

// A Severity says how bad it is what a check finds.
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "info"    // worth to be known
	SeverityWarning Severity = "warning" // the program does not do as well as it could, or may not for long
	SeverityError   Severity = "error"   // something does not go on
)

// FindingsJSON writes f as one document; the package comment describes it.
func FindingsJSON(to io.Writer, f *Findings) error { return writeDocument(to, f) }
