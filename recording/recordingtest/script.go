package recordingtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Script is a [recording.Source] that holds what its methods were told. They happen at the script's present moment, which only [Script.After] moves.
type Script struct {
	// Is what Info returns; set by New, changed at will.
	Is recording.Info
	// Counts holds how many events of each kind there are.
	Counts [flight.KindCount]uint64

	now     time.Duration
	batches []recording.Batch
	tracker *recording.Tracker
	on      map[flight.ThreadID]flight.CarrierID
	full    func() // called when the newest batch has so many events that a reader would want it

	stacks  []flight.Stack
	byText  map[string]flight.StackID
	strings []string
	texts   map[string]flight.StringID
	kinds   map[uint32]flight.UserKindInfo
}

// Began is Info.From of a script.
var Began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// New returns a script that begins with no thread and no scope but the root.
func New() *Script {
	s := &Script{
		Is: recording.Info{
			PID: 4711, Program: "script", Exe: "/srv/script", GoVersion: "go1.26", GoArch: "amd64",
			Started: Began.Add(-time.Minute), From: Began, Settings: "default",
		},
		on:      map[flight.ThreadID]flight.CarrierID{},
		stacks:  make([]flight.Stack, 1),
		byText:  map[string]flight.StackID{"": 0},
		strings: []string{""},
		texts:   map[string]flight.StringID{"": 0},
		kinds:   map[uint32]flight.UserKindInfo{},
	}
	s.tracker = recording.NewTracker(s)
	s.Batch()
	return s
}

// After moves the present moment. It returns s.
func (s *Script) After(d time.Duration) *Script { s.now += d; return s }

// Now returns the present moment, since Info.From.
func (s *Script) Now() time.Duration { return s.now }

// Batch ends the batch of before. The next one begins with the state of all threads.
func (s *Script) Batch() {
	state := s.tracker.State()
	state.At = s.now
	s.batches = append(s.batches, recording.Batch{State: state})
}

// Lose notes that n events are missing here.
func (s *Script) Lose(n uint64) { s.last().Lost += n }

func (s *Script) last() *recording.Batch { return &s.batches[len(s.batches)-1] }

// Emit appends an event, at the present moment whatever its Time.
func (s *Script) Emit(e recording.Event) {
	e.Time = s.now
	s.tracker.Apply(&e)
	if e.Kind < flight.KindCount {
		s.Counts[e.Kind]++
	}
	b := s.last()
	b.Events = append(b.Events, e)
	if s.full != nil && len(b.Events) >= batchEvents {
		s.full()
	}
}

// Start hands thread id, of a scope, to its scheduler. by is who does, 0 for no thread.
func (s *Script) Start(id flight.ThreadID, scope flight.ScopeID, by flight.ThreadID) {
	s.Emit(recording.Event{Kind: flight.EventThreadStart, Carrier: s.carrier(by), Ref: uint32(recordOf(scope)), Thread: id, Arg: uint64(by)})
}

// Name gives a thread a name of at most 48 bytes.
func (s *Script) Name(id flight.ThreadID, name string) {
	s.Emit(recording.Event{Kind: flight.EventThreadName, Carrier: s.carrier(id), Thread: id, More: Text(name)})
}

// Mount lets a thread begin to execute on carrier c.
func (s *Script) Mount(id flight.ThreadID, c flight.CarrierID) {
	s.on[id] = c
	s.Emit(recording.Event{Kind: flight.EventMount, Carrier: c, Thread: id})
}

// Park lets a mounted thread park, and leave its carrier.
func (s *Script) Park(id flight.ThreadID, why flight.Reason, on flight.Blocker, at flight.StackID) {
	s.Emit(recording.Event{Kind: flight.EventPark, Code: why, Carrier: s.carrier(id), Ref: uint32(at), Thread: id, Arg: uint64(on)})
	s.leave(id, why)
}

// Yield lets a mounted thread leave its carrier for others.
func (s *Script) Yield(id flight.ThreadID) {
	s.Emit(recording.Event{Kind: flight.EventYield, Carrier: s.carrier(id), Thread: id})
	s.leave(id, flight.ReasonYield)
}

// Unpark makes a parked thread runnable; by is who does, 0 for no thread.
func (s *Script) Unpark(id, by flight.ThreadID) {
	s.Emit(recording.Event{Kind: flight.EventUnpark, Carrier: s.carrier(by), Thread: id, Arg: uint64(by)})
}

// End ends a mounted thread.
func (s *Script) End(id flight.ThreadID, how flight.Reason) {
	s.Emit(recording.Event{Kind: flight.EventThreadEnd, Code: how, Carrier: s.carrier(id), Thread: id})
	s.leave(id, how)
}

func (s *Script) leave(id flight.ThreadID, why flight.Reason) {
	s.Emit(recording.Event{Kind: flight.EventUnmount, Code: why, Carrier: s.carrier(id), Thread: id})
	delete(s.on, id)
}

// carrier returns where a thread is mounted.
func (s *Script) carrier(id flight.ThreadID) flight.CarrierID {
	if c, ok := s.on[id]; ok {
		return c
	}
	return flight.NoCarrier
}

// Open opens scope id below a parent, by a thread or 0.
func (s *Script) Open(id flight.ScopeID, name string, parent flight.ScopeID, owner flight.ThreadID) {
	s.Emit(recording.Event{
		Kind: flight.EventScopeOpen, Carrier: s.carrier(owner), Ref: uint32(s.Intern(name)), Thread: owner, Arg: uint64(id),
		More: []uint64{uint64(parent), 0, uint64(recordOf(id))},
	})
}

// Close closes a scope.
func (s *Script) Close(id flight.ScopeID) {
	e := recording.Event{Kind: flight.EventScopeClose, Carrier: flight.NoCarrier, Arg: uint64(id)}
	if sc := s.tracker.Scope(id); sc != nil {
		e.Thread, e.Carrier = sc.Owner, s.carrier(sc.Owner)
	}
	s.Emit(e)
}

// recordOf returns the position of a scope's record: a script's scopes keep theirs for ever.
func recordOf(id flight.ScopeID) flight.ScopeIndex { return flight.ScopeIndex(id) }

// At returns the stack of frames such as "shop.query store.go:88", innermost first.
func (s *Script) At(frames ...string) flight.StackID {
	text := strings.Join(frames, "\n")
	if id, ok := s.byText[text]; ok {
		return id
	}
	st := flight.Stack{ID: flight.StackID(len(s.stacks))}
	for _, f := range frames {
		name, place, _ := strings.Cut(f, " ")
		file, line, _ := strings.Cut(place, ":")
		n, err := strconv.Atoi(line)
		if err != nil {
			panic(fmt.Sprintf("recordingtest: frame %q: want \"func file:line\"", f))
		}
		pc := uint64(0x400000 + 64*len(s.stacks) + len(st.PCs))
		st.PCs = append(st.PCs, pc)
		st.Frames = append(st.Frames, flight.Frame{Func: name, File: file, Line: n, PC: pc})
	}
	s.stacks = append(s.stacks, st)
	s.byText[text] = st.ID
	return st.ID
}

// Intern returns the id of a string.
func (s *Script) Intern(text string) flight.StringID {
	id, ok := s.texts[text]
	if !ok {
		id = flight.StringID(len(s.strings))
		s.strings = append(s.strings, text)
		s.texts[text] = id
	}
	return id
}

// Define makes a kind of the program's own known.
func (s *Script) Define(k flight.UserKindInfo) { s.kinds[k.Number] = k }

// Text returns the words of a field of use [flight.FieldText].
func Text(text string) []uint64 {
	words := make([]uint64, flight.TextWords)
	for i := range min(len(text), flight.MaxText) {
		words[i/8] |= uint64(text[i]) << (8 * (i % 8))
	}
	return words
}

// Info returns Is.
func (s *Script) Info() recording.Info { return s.Is }

// Read gives the batches.
func (s *Script) Read(ctx context.Context, f func(*recording.Batch) bool) error {
	for i := range s.batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := s.batches[i]
		if !f(&b) {
			return nil
		}
	}
	return nil
}

// Stack returns a stack that At has made.
func (s *Script) Stack(id flight.StackID) flight.Stack {
	if int(id) < len(s.stacks) {
		return s.stacks[id]
	}
	return flight.Stack{}
}

// String returns what was interned.
func (s *Script) String(id flight.StringID) string {
	if int(id) < len(s.strings) {
		return s.strings[id]
	}
	return ""
}

// UserKind returns what was defined.
func (s *Script) UserKind(number uint32) *flight.UserKindInfo {
	if k, ok := s.kinds[number]; ok {
		return &k
	}
	return nil
}
