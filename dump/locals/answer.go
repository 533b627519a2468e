package locals

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Format is the version of the answers that this package reads and vtdelve writes. Fields may be added to it; a reader ignores those that it
// does not know.
const Format = "vtscope/locals/v1"

// A Question names a goroutine, and bounds the answer. Zero limits mean the defaults.
type Question struct {
	PID  int    // of a process that lives; or
	Core string // a core file, with
	Exe  string // the program that has left it
	G    uint64 // the address of the goroutine's g, from [flight.ThreadDetail]

	Frames   int // the most frames (default 64)
	Depth    int // how deep values in values are told (default 2)
	Text     int // the most bytes of a string (default 200)
	Elements int // the most elements of a slice, an array or a map, and fields of a struct (default 32)
}

// An Answer is what vtdelve has found.
type Answer struct {
	Format    string   `json:"format"`
	Problem   *Problem `json:"problem,omitempty"` // why there is nothing else
	Thread    uint64   `json:"thread,omitempty"`  // whose goroutine it is; vtdelve does not know that
	Goroutine uint64   `json:"goroutine,omitempty"`
	Frames    []Frame  `json:"frames,omitempty"` // innermost first
	// Incomplete tells what is missing, one short sentence each.
	Incomplete []string `json:"incomplete,omitempty"`
}

// A Frame is a call. Of one that the compiler has inlined the variables are known as of any other.
type Frame struct {
	Function  string     `json:"function"`
	File      string     `json:"file,omitempty"`
	Line      int        `json:"line,omitempty"`
	PC        uint64     `json:"pc"`
	Inlined   bool       `json:"inlined,omitempty"`
	Internal  bool       `json:"internal,omitempty"` // of Go's runtime or of ours
	Optimized bool       `json:"optimized,omitempty"`
	Arguments []Variable `json:"arguments,omitempty"` // results among them
	Locals    []Variable `json:"locals,omitempty"`
	Missing   string     `json:"missing,omitempty"` // why there are no variables
}

// A Variable has a value, or the reason why it has none.
type Variable struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Value    string `json:"value,omitempty"`    // in Delve's form
	Missing  string `json:"missing,omitempty"`  // [OptimizedAway], or what went wrong
	Result   bool   `json:"result,omitempty"`   // not set until the function returns, unless it has a name
	Shadowed bool   `json:"shadowed,omitempty"` // another of this name hides it
	Line     int    `json:"line,omitempty"`     // where it is declared
}

// OptimizedAway is why a variable has no value that the compiler did not keep until here.
const OptimizedAway = "optimised away here"

// A Problem is why a goroutine could not be looked at. It is an error, and matches the one of its kind.
type Problem struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Try  string `json:"try,omitempty"` // the next step, in words that go on after "try:"
}

// The kinds of problems that callers tell apart.
var (
	// ErrRuns is the error of a goroutine that runs, or does something in the system.
	ErrRuns = errors.New("it runs")
	// ErrMoved is the error of a goroutine that ran on meanwhile, each time that it was looked at.
	ErrMoved = errors.New("it ran on meanwhile")
	// ErrDenied is the error of a process that may not be read.
	ErrDenied = errors.New("permission denied")
	// ErrNoDebug is the error of a program without debug information.
	ErrNoDebug = errors.New("no debug information")
	// ErrGone is the error of a process or a goroutine that is no more.
	ErrGone = errors.New("it is gone")
)

var kinds = map[string]error{"runs": ErrRuns, "moved": ErrMoved, "denied": ErrDenied, "no-debug": ErrNoDebug, "gone": ErrGone}

func (p *Problem) Error() string        { return p.Text }
func (p *Problem) Is(target error) bool { return target != nil && kinds[p.Kind] == target }

// ProblemOf writes an error down; its kind is that which err matches.
func ProblemOf(err error) *Problem {
	if p := (*Problem)(nil); errors.As(err, &p) {
		return &Problem{p.Kind, err.Error(), p.Try}
	}
	p := &Problem{Kind: "other", Text: err.Error()}
	for kind, known := range kinds {
		if errors.Is(err, known) {
			p.Kind = kind
		}
	}
	return p
}

// Write writes an answer as one line of JSON.
func Write(w io.Writer, a *Answer) error {
	a.Format = Format
	return json.NewEncoder(w).Encode(a)
}

// largestAnswer is more than [Question] lets any answer have.
const largestAnswer = 64 << 20

// Read reads an answer.
func Read(r io.Reader) (*Answer, error) {
	var a Answer
	if err := json.NewDecoder(io.LimitReader(r, largestAnswer)).Decode(&a); err != nil {
		return nil, fmt.Errorf("locals: read the answer: %w", err)
	}
	if a.Format != Format {
		return nil, fmt.Errorf("locals: the answer is in format %.40q, want %q: %w", a.Format, Format, errOtherVersion)
	}
	if a.Problem != nil {
		return nil, a.Problem
	}
	return &a, nil
}

var errOtherVersion = errors.New("vtdelve is of another version")
