package memory

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// GoroutineOptions say how goroutines are shown. The zero value is usable.
type GoroutineOptions struct{ Scopes goroutines.ScopeBy }

// A GoProcess is a process of a Go program.
type GoProcess struct {
	PID, UID   int
	Program    string // base name
	Exe        string // path
	GoVersion  string
	Module     string // of its main package
	Start      time.Time
	Goroutines int
	Err        error // why they could not be counted, and cannot be looked at
}

// Goroutines are those of any Go program, which need not know of vtscope: they are read in its memory. It is
// a [dump.Living] source, for one goroutine at a time.
//
// How long a goroutine waits Go notes when its garbage collector first meets it there. So it waits at least
// as long as is shown, and where nothing is shown that is not known.
type Goroutines struct {
	*Seen // by the newest look

	program *program
	options GoroutineOptions
	process flight.Process
	missing []string    // for ever
	alive   func() bool // nil: of a core file
	status  func() flight.Status
	pause   func(time.Duration)                    // between looks at goroutines that run
	clock   func() (now time.Duration, known bool) // that of Go programs; nil: of a core file
	reasons map[flight.StackID]string
	sockets map[flight.StackID]bool
	places  map[uint64]flight.Frame // by address of a go statement
	hidden  map[uint64]bool         // by the function that a goroutine begins with: whether it is the runtime's own
}

// Seen is what one look at goroutines saw. It is a [dump.Source] that does not change, and any number of
// goroutines may use it, but not after the [Goroutines] are closed.
type Seen struct {
	dump.Source // roster
	roster      *roster.Roster
	of          *Goroutines
	waits       []flight.Blocker    // by the index of a row, what it waits for
	cases       map[uint32][]uint64 // by the index of a row, the channels of its select
	addresses   []uint64            // of the g of each row, by its index
	executing   map[int]flight.ThreadID
	without     func(*flight.ThreadRow) bool // rows that are left out; nil: none
	names       sync.Once
	sockets     map[string]string // by inode, once names is done
	err         error             // of the look
}

var (
	_ dump.Living = (*Goroutines)(nil)
	_ dump.Living = (*Seen)(nil)
)

// Scopes takes a new look at the process, and returns the scopes that its goroutines have. Its error
// matches [flight.ErrIncomplete]. It blocks for about 3 s for a million goroutines.
func (s *Goroutines) Scopes() ([]flight.ScopeRow, error) { return s.See().Scopes() }

// Look is See.
func (s *Goroutines) Look() dump.Source { return s.See() }

// See takes a new look at the process, and returns what it saw. It blocks as Scopes does.
func (s *Goroutines) See() *Seen {
	s.Seen = newSeen(s)
	s.Seen.err = s.look()
	return s.Seen
}

func newSeen(of *Goroutines) *Seen {
	r := roster.New(of.process, time.Now())
	return &Seen{Source: r, roster: r, of: of, cases: map[uint32][]uint64{}, executing: map[int]flight.ThreadID{}}
}

// FlightReader returns nil: there is no recorder.
func (s *Seen) FlightReader() *flight.Reader { return nil }

// Process describes the process, as it is now.
func (s *Seen) Process() flight.Process {
	of := s.of
	p := of.process
	switch {
	case of.alive == nil:
		p.Status = flight.StatusGone
	case !of.alive():
		p.Status = flight.StatusGone
	default:
		p.Status, p.LastSeen = of.status(), time.Now()
	}
	return p
}

// Kind returns "goroutine".
func (s *Seen) Kind() string { return "goroutine" }

// Look returns s.
func (s *Seen) Look() dump.Source { return s }

// Scopes returns the scopes of the goroutines; of a Seen without some those that have others. Its error matches [flight.ErrIncomplete].
func (s *Seen) Scopes() ([]flight.ScopeRow, error) {
	scopes, err := s.Source.Scopes()
	if s.err != nil {
		err = s.err
	}
	if s.without == nil {
		return scopes, err
	}
	used := make([]bool, len(scopes))
	_, lost := s.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for i := range rows {
			used[rows[i].Scope] = true
		}
	})
	if err == nil && !errors.Is(lost, flight.ErrIncomplete) {
		err = lost
	}
	for i := len(scopes) - 1; i > 0; i-- { // a scope stands behind the one around it
		if used[i] {
			used[scopes[i].Parent] = true
		}
	}
	kept := scopes[:0:0]
	for i := range scopes {
		if i == 0 || used[i] {
			kept = append(kept, scopes[i])
		}
	}
	return kept, err
}

// Threads visits the goroutines. Its error matches [flight.ErrIncomplete] if something is missing.
func (s *Seen) Threads(ctx context.Context, visit func([]flight.ThreadRow)) (torn int, err error) {
	all := visit
	if s.without != nil {
		all = func(rows []flight.ThreadRow) {
			visit(slices.DeleteFunc(rows, func(r flight.ThreadRow) bool { return s.without(&r) }))
		}
	}
	torn, err = s.Source.Threads(ctx, all)
	if missing := s.roster.Incomplete(); len(missing) > 0 && err == nil {
		err = fmt.Errorf("%w: %s", flight.ErrIncomplete, strings.Join(missing, "; "))
	}
	return torn, err
}

// Without returns what s has but for some goroutines, which may be those of threads that another source has.
func (s *Seen) Without(some func(*flight.ThreadRow) bool) *Seen {
	if before := s.without; before != nil {
		then := some
		some = func(r *flight.ThreadRow) bool { return before(r) || then(r) }
	}
	return &Seen{Source: s.Source, roster: s.roster, of: s.of, waits: s.waits, cases: s.cases, addresses: s.addresses, executing: s.executing, err: s.err, without: some}
}

// ThreadDetail returns who created a goroutine.
func (s *Seen) ThreadDetail(index uint32) (flight.ThreadDetail, error) {
	return s.roster.ThreadDetail(index)
}

// Address returns the address of the runtime.g of a goroutine, by the index of its row; 0 if there is no such row.
func (s *Seen) Address(index uint32) uint64 {
	if int(index) >= len(s.addresses) {
		return 0
	}
	return s.addresses[index]
}

// Executing returns the goroutines that OS threads executed, by the id of the OS thread.
func (s *Seen) Executing() map[int]flight.ThreadID { return s.executing }

// Close ends the reading of the process.
func (s *Goroutines) Close() error { return s.program.space.close() }

func newGoroutines(s space, o GoroutineOptions) (*Goroutines, error) {
	if o.Scopes == "" {
		o.Scopes = goroutines.ScopeBys[0]
	}
	p, err := findProgram(s)
	if err != nil {
		return nil, err
	}
	out := &Goroutines{program: p, pause: time.Sleep, options: o, reasons: map[flight.StackID]string{}, sockets: map[flight.StackID]bool{}, places: map[uint64]flight.Frame{}, hidden: map[uint64]bool{}}
	out.process.GoVersion = p.version
	out.Seen = newSeen(out)
	return out, nil
}

func (s *Goroutines) miss(what string) { s.missing = append(s.missing, what) }

// look reads the goroutines for s.Seen.
func (s *Goroutines) look() error {
	out := s.roster
	if s.program.forget() {
		s.reasons, s.sockets = map[flight.StackID]string{}, map[flight.StackID]bool{}
	}
	all, err := s.program.walk(s.pause)
	if err != nil {
		return fmt.Errorf("%w: %w", flight.ErrIncomplete, err)
	}
	all = slices.DeleteFunc(all, func(g goroutine) bool { return s.isRuntimes(&g) })
	b := goroutines.NewBuilder(out)
	scopes := s.scopes(all, b)
	now, known := time.Duration(0), false
	if s.clock != nil {
		now, known = s.clock()
	}
	s.waits, s.addresses = make([]flight.Blocker, 0, len(all)), make([]uint64, 0, len(all))
	executing, moved, noRoom := 0, 0, 0
	for i := range all {
		g := &all[i]
		t := goroutines.Goroutine{Why: s.why(g), Locked: g.locked}
		t.ID, t.Creator, t.Scope, t.Wait = flight.ThreadID(g.id), flight.ThreadID(g.parent), scopes(i), roster.UnknownWait
		if g.id == 1 {
			t.Name = "main"
		}
		if wait := now - time.Duration(g.since); known && g.since > 0 && wait >= 0 && wait <= now && (g.status == statusWaiting || g.status == statusLeaked) {
			t.Wait = wait
		}
		switch {
		case g.moved:
			moved++
		case g.noRoom:
			noRoom++
		case g.stack == 0:
			executing++
		default:
			t.Stack = s.stack(out, g)
		}
		b.Add(t)
		if len(g.cases) > 0 {
			s.cases[uint32(i)] = g.cases
		}
		s.waits, s.addresses = append(s.waits, s.blocker(g)), append(s.addresses, g.at)
		if tid := s.program.osThread(g); tid != 0 {
			s.executing[tid] = t.ID
		}
	}
	for _, what := range s.missing {
		out.Miss("%s", what)
	}
	if moved > 0 {
		out.Miss("%s without a stack: they ran at each look", dump.Count(moved, "goroutine"))
	}
	if noRoom > 0 {
		out.Miss("%s without a stack: there are too many different ones", dump.Count(noRoom, "goroutine"))
	}
	if executing > 0 {
		out.Miss("%s without a stack: they executed", dump.Count(executing, "goroutine"))
	}
	if s.alive != nil && !s.alive() {
		out.Miss("the process ended while it was read")
	}
	return nil
}

// why returns what a goroutine does, as Go prints it.
func (s *Goroutines) why(g *goroutine) string {
	switch g.status {
	case statusWaiting, statusLeaked:
		return s.program.reason(g.reason)
	case statusRunnable:
		return "runnable"
	case statusSyscall:
		return "syscall"
	case statusPreempted:
		return "preempted"
	case statusCopying:
		return "copystack"
	}
	return "running"
}

// function returns the name of the function at an address, "" if there is none.
func (s *Goroutines) function(pc uint64) string {
	f, ok := s.program.module.find(pc)
	if !ok {
		return ""
	}
	return s.program.module.nameAt(f.name)
}

// remember puts what was found out into a map that may not grow for ever: a process may lie.
func remember[V any](m map[uint64]V, key uint64, value V) {
	const most = 1 << 16
	if len(m) >= most {
		clear(m)
	}
	m[key] = value
}

// isRuntimes reports whether a goroutine is of Go's runtime, which Go's own dumps leave out, too.
func (s *Goroutines) isRuntimes(g *goroutine) bool {
	hidden, known := s.hidden[g.starts]
	if !known {
		switch name := s.function(g.starts); name {
		case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		default:
			hidden = strings.HasPrefix(name, "runtime.")
		}
		remember(s.hidden, g.starts, hidden)
	}
	return hidden
}

// made returns the go statement that made a goroutine; ok is false for that of main, and for those of C.
func (s *Goroutines) made(g *goroutine) (f flight.Frame, ok bool) {
	if g.madeAt == 0 || g.id == 1 {
		return f, false
	}
	f = s.place(g.madeAt)
	return f, f.Func != ""
}

// place returns the go statement at an address; without a function if it is not known.
func (s *Goroutines) place(at uint64) flight.Frame {
	f, known := s.places[at]
	if !known {
		if all := s.program.module.frames(at); len(all) > 0 {
			f = all[0]
			f.Func = all[len(all)-1].Func // Go names the function that the calls were inlined into
			f.Inlined = false
		}
		remember(s.places, at, f)
	}
	return f
}

// stack adds the stack of a goroutine to a roster, as Go prints it: with its go statement.
func (s *Goroutines) stack(out *roster.Roster, g *goroutine) flight.StackID {
	h := (uint64(g.stack)<<32 ^ g.madeAt) * 0x9e3779b97f4a7c15
	return out.InternSum(h, func() ([]flight.Frame, bool) {
		whole := s.program.stacks.untrimmed(g.stack)
		frames := slices.DeleteFunc(slices.Clone(whole.Frames), func(f flight.Frame) bool { return isHidden(f.Func) })
		if len(frames) == 0 {
			frames = whole.Frames
		}
		if f, ok := s.made(g); ok {
			f.Func = "created by " + f.Func
			frames = append(frames, f)
		}
		return frames, whole.Truncated
	})
}

// isHidden reports whether Go's tracebacks leave out a function: what is the runtime's, and not for users.
func isHidden(name string) bool {
	rest, ok := strings.CutPrefix(name, "runtime.")
	return ok && rest != "" && (rest[0] < 'A' || rest[0] > 'Z') || strings.HasPrefix(name, "internal/runtime/")
}

// scopes returns a function that returns the scope of goroutine i. They are sorted by their ids.
func (s *Goroutines) scopes(all []goroutine, b *goroutines.Builder) func(i int) flight.ScopeIndex {
	switch s.options.Scopes {
	case goroutines.ByLabels:
		known := map[uint64]flight.ScopeIndex{}
		return func(i int) flight.ScopeIndex {
			at := all[i].labels
			if at == 0 {
				return 0
			}
			if _, ok := known[at]; !ok {
				known[at] = b.Place(s.program.labelsAt(at))
			}
			return known[at]
		}
	case goroutines.ByPackage:
		return func(i int) flight.ScopeIndex {
			if name := goroutines.PackageOf(s.function(all[i].starts)); name != "" {
				return s.roster.Scope(0, name)
			}
			return 0
		}
	}
	birth := func(i int) goroutines.Birth {
		b := goroutines.Birth{ID: all[i].id, Parent: all[i].parent, At: all[i].madeAt}
		if b.ID == 1 {
			b.At = 0
		}
		return b
	}
	return goroutines.NewCreators(s.roster, 0, len(all), birth, s.statement).Scope
}

// statement names the go statement at an address, "" if it is not known.
func (s *Goroutines) statement(at uint64) string {
	f := s.place(at)
	if f.Func == "" {
		return ""
	}
	return f.Func + " " + path.Base(f.File) + ":" + strconv.Itoa(f.Line)
}
