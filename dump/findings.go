package dump

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// FindingsFormat names the JSON document of [FindingsJSON] and its version.
const FindingsFormat = "vtscope/findings/v1"

// Findings is what the [Checks] have found in a process.
type Findings struct {
	Format  string  `json:"format"` // always [FindingsFormat]
	Process Process `json:"process"`

	Taken time.Time     `json:"taken"`   // when the newer look was taken
	AsOf  time.Time     `json:"as_of"`   // the moment it describes
	Took  time.Duration `json:"took_ns"` // reading it
	Over  time.Duration `json:"over_ns"` // since the look it was compared with; 0: there is none

	// Complete reports that nothing is missing. If not, Incomplete says what is, one short sentence each.
	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	Findings []Finding  `json:"findings"` // in the order of Checks, then by falling Count
	Unjudged []Unjudged `json:"unjudged"` // checks that were not made
}

// A Finding is something that a check has found, with its evidence.
type Finding struct {
	Check    string        `json:"check"`           // a name of [Checks]
	What     string        `json:"what"`            // a sentence without a full stop
	Count    int           `json:"count"`           // threads, or scopes, as What says
	Scope    []string      `json:"scope,omitempty"` // names from below the root's
	Place    *Place        `json:"place,omitempty"` // nil: not known
	Since    time.Duration `json:"since_ns"`        // for how long it has been so at least
	Examples []Party       `json:"examples,omitempty"`
	Page     string        `json:"page"` // of the documentation
}

// Unjudged is a check that was not made, and why.
type Unjudged struct {
	Check string `json:"check"`
	Why   string `json:"why"`
}

// A Look is what checks look at: a process at one moment.
type Look struct {
	Snapshot *Snapshot
	Waits    *Waits
}

// TakeLook reads one from a flight file: see [Take] and [TakeWaits].
func TakeLook(ctx context.Context, r *flight.Reader) (*Look, error) {
	snap, err := Take(ctx, r, Options{})
	if err != nil {
		return nil, err
	}
	w, err := TakeWaits(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Look{snap, w}, nil
}

// A CheckInfo is a row of the table of checks.
type CheckInfo struct {
	Name      string
	About     string
	Threshold int    // by default
	Unit      string // what the threshold counts; so many and more are found
	Pair      bool   // it needs two looks
	find      func(now, before *Look, threshold int) []Finding
}

// Page returns the path of the check's page in the repository.
func (c *CheckInfo) Page() string { return "docs/findings/" + c.Name + ".md" }

// Checks are all checks, in the order in which findings are told.
var Checks = []CheckInfo{
	{"holder-gone", "threads wait without a time limit for something whose holder has ended", 1, "threads that wait for one thing", false, findHoldersGone},
	{"scope-growth", "a scope grows, and does not look as if it would end", 100, "threads or scopes more than before, and as many before", true, findGrowth},
	{"scope-orphaned", "a scope is open whose owner has ended", 1, "scopes of one name", false, findOrphans},
	{"parked-longer", "a thread waits far longer than its siblings at the same place", 50, "times the wait in the middle of all at the place", false, findParkedLonger},
	{"unscoped", "threads were started outside of any scope", 100, "threads in the root scope", false, findUnscoped},
}

// CheckNames returns the names of all checks.
func CheckNames() []string {
	names := make([]string, len(Checks))
	for i := range Checks {
		names[i] = Checks[i].Name
	}
	return names
}

// CheckOptions switch checks off and set their thresholds, by name. The zero value makes all checks with their own thresholds.
type CheckOptions struct {
	Off       []string
	Threshold map[string]int // at least 1
}

func (o *CheckOptions) check() error {
	for _, name := range o.Off {
		if !slices.Contains(CheckNames(), name) {
			return fmt.Errorf("dump: unknown check %q: want one of %s", name, strings.Join(CheckNames(), ", "))
		}
	}
	for name, n := range o.Threshold {
		if !slices.Contains(CheckNames(), name) {
			return fmt.Errorf("dump: unknown check %q: want one of %s", name, strings.Join(CheckNames(), ", "))
		}
		if n < 1 {
			return fmt.Errorf("dump: threshold %d of check %s: want at least 1", n, name)
		}
	}
	return nil
}

// Check makes the checks on a look and an earlier one of the same process; nil stands for none, as there is of a dead process. It changes
// neither. An error means that o is wrong.
func Check(now, before *Look, o CheckOptions) (*Findings, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := now.Snapshot
	f := &Findings{
		Format: FindingsFormat, Process: s.Process, Taken: s.Taken, AsOf: s.AsOf, Took: s.Took + now.Waits.Took,
		Complete: s.Complete && now.Waits.Complete, Findings: []Finding{}, Unjudged: []Unjudged{},
	}
	for _, why := range slices.Concat(s.Incomplete, now.Waits.Incomplete) {
		if !slices.Contains(f.Incomplete, why) {
			f.Incomplete = append(f.Incomplete, why)
		}
	}
	if before != nil {
		f.Over = s.Taken.Sub(before.Snapshot.Taken)
	}
	for i := range Checks {
		c := &Checks[i]
		switch {
		case slices.Contains(o.Off, c.Name):
			f.Unjudged = append(f.Unjudged, Unjudged{c.Name, "it is switched off"})
			continue
		case c.Pair && before == nil:
			f.Unjudged = append(f.Unjudged, Unjudged{c.Name, "it needs two looks of a process that runs"})
			continue
		}
		threshold := c.Threshold
		if n, ok := o.Threshold[c.Name]; ok {
			threshold = n
		}
		found := c.find(now, before, threshold)
		slices.SortStableFunc(found, func(a, b Finding) int { return b.Count - a.Count })
		for _, x := range found {
			x.Check, x.Page = c.Name, c.Page()
			f.Findings = append(f.Findings, x)
		}
	}
	return f, nil
}

// FindingsJSON writes f as one document; the package comment describes it.
func FindingsJSON(to io.Writer, f *Findings) error { return writeDocument(to, f) }
