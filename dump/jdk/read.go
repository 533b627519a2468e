package jdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// IsDump reports whether a file that begins so may be what [Read] reads, or has a name for: see [ErrPrinted].
func IsDump(begin []byte) bool {
	if isPlain(begin) || isPrinted(begin) {
		return true
	}
	begin = bytes.TrimLeft(begin, " \t\r\n")
	if len(begin) == 0 || begin[0] != '{' {
		return false
	}
	begin = bytes.TrimLeft(begin[1:], " \t\r\n")
	return bytes.HasPrefix(begin, []byte(`"threadDump"`))
}

// Read reads a thread dump of the JDK in its JSON form, of version 1 or 2, with or without our extras, or in its plain form, of JDK 21 or later. A dump that ends
// too early is what there is of it, and says so. The error says that it is none; it is [ErrPrinted] for a dump of another kind.
func Read(from io.Reader) (*roster.Roster, error) {
	b, begin, err := beginOf(from)
	if err != nil {
		return nil, err
	}
	r := reader{
		values: newValues(b), out: roster.New(flight.Process{}, time.Time{}), names: map[string]flight.ScopeIndex{},
		now: new(threadJSON), stacks: map[uint64]stackRead{}, seed: maphash.MakeSeed(),
	}
	switch {
	case isPlain(begin):
		r.readPlain(b)
		return r.out, nil
	case isPrinted(begin):
		return nil, ErrPrinted
	}
	err = r.members(func(name string) error {
		if name != "threadDump" {
			return r.d.SkipValue()
		}
		r.found = true
		return r.members(r.document)
	})
	switch {
	case err == nil && !r.found:
		return nil, errors.New("no thread dump of the JDK: it has no member threadDump")
	case err != nil && !r.containers:
		return nil, fmt.Errorf("read thread dump of the JDK: %w", err)
	case err != nil:
		r.out.Miss("the dump cannot be read after byte %d: %v", r.d.InputOffset(), err)
	}
	r.settle()
	return r.out, nil
}

// A reader reads a dump.
type reader struct {
	values
	out *roster.Roster

	found, containers bool
	process           flight.Process
	at                time.Time
	scopes            []scope
	names             map[string]flight.ScopeIndex // of containers
	guessed           bool                         // states

	now    *threadJSON // the thread that is read
	seed   maphash.Seed
	stacks map[uint64]stackRead // of a hash of their text
}

// A stackRead is what the text of a stack says.
type stackRead struct {
	id   flight.StackID
	clue *clue // nil: it has none
}

// maxStacks is how many texts of stacks are known; others are read each time.
const maxStacks = 1 << 16

// A scope is a container; its parent may come after it.
type scope struct {
	row    flight.ScopeRow
	parent string
}

func (r *reader) document(name string) error {
	switch name {
	case "processId":
		pid, err := r.number()
		r.process.PID = int(pid & 0x7fffffff)
		return err
	case "time":
		at, err := r.text()
		if err == nil {
			err = r.at.UnmarshalText([]byte(at))
		}
		return err
	case "runtimeVersion":
		var err error
		r.process.GoVersion, err = r.text()
		return err
	case "threadContainers":
		r.containers = true
		return r.elements(r.container)
	case extrasMember:
		var x documentExtras
		err := r.into(&x)
		r.process.Program, r.process.Exe, r.process.UID, r.process.Start = x.Program, x.Exe, x.UID, x.Started
		for _, s := range x.Incomplete {
			r.out.Miss("%s", s)
		}
		return err
	}
	return r.d.SkipValue()
}

func (r *reader) container() error {
	s := scope{}
	if len(r.scopes) > 0 {
		s.row.Index = r.out.AddScope(flight.ScopeRow{})
	}
	at := s.row.Index
	full := "" // there was no room: the threads are the root's
	err := r.members(func(name string) (err error) {
		switch name {
		case "container":
			full, err = r.text()
			label, class, id, ok := cutIdentity(full)
			if label == "" && ok {
				label = class[strings.LastIndexByte(class, '.')+1:]
			}
			if class != labelClass {
				s.row.ID = flight.ScopeID(id)
			}
			s.row.Name = label
			return err
		case "parent":
			s.parent, err = r.text()
			return err
		case "owner":
			owner, err := r.number()
			s.row.Owner = flight.ThreadID(owner)
			return err
		case "threads":
			return r.elements(func() error { return r.thread(at) })
		case extrasMember:
			var x scopeExtras
			err := r.into(&x)
			s.row.Name, s.row.Policy, s.row.Limit, s.row.Queued = x.Name, x.Policy, x.Limit, x.Queued
			if !x.Deadline.IsZero() {
				s.row.Deadline = flight.Ticks(x.Deadline.UnixNano())
			}
			return err
		}
		return r.d.SkipValue()
	})
	r.names[full] = at
	r.scopes = append(r.scopes, s)
	return err
}

// settle gives the scopes their parents, and the roster what is known of the process.
func (r *reader) settle() {
	unknown := 0
	for i := range r.scopes {
		s := &r.scopes[i]
		if s.row.Index == 0 {
			continue
		}
		parent, ok := r.names[s.parent]
		if !ok && s.parent != "" {
			unknown++
		}
		s.row.Parent = parent
		r.out.SetScope(s.row)
	}
	if unknown > 0 {
		r.out.Miss("%s shown below the root: their parents are not in the dump", dump.Count(unknown, "container"))
	}
	if r.guessed {
		r.out.Miss("the dump has no states: they are guessed from the stacks")
	}
	r.out.Describe(r.process, r.at)
}

// A threadJSON is a thread as both versions have it.
type threadJSON struct {
	tid        uint64
	name       string
	state      string
	virtual    bool
	mounted    bool // it has a carrier
	carrier    uint64
	stack      []byte // its text
	park       string // the object that it is parked for
	owner      uint64 // of it
	blockedOn  string
	waitingOn  string
	owned      []string // locks
	own        bool     // it has extras
	extras     threadExtras
	stackWords []string // of the stack: its frames
}

// thread reads a thread.
func (r *reader) thread(scope flight.ScopeIndex) error {
	r.begin()
	if err := r.members(r.member); err != nil {
		return err
	}
	r.add(scope)
	return nil
}

// begin makes room for the next thread, in the memory of the last one.
func (r *reader) begin() {
	*r.now = threadJSON{stack: r.now.stack[:0], owned: r.now.owned[:0], stackWords: r.now.stackWords[:0]}
}

// add adds the thread that was read.
func (r *reader) add(scope flight.ScopeIndex) {
	j := r.now
	t := roster.Thread{ID: flight.ThreadID(j.tid), Name: j.name, Scope: scope, Wait: roster.UnknownWait}
	t.Carrier = flight.NoCarrier
	if j.mounted {
		t.Carrier = flight.CarrierID(min(j.carrier&(carrierBase-1), uint64(flight.NoCarrier)-1))
	}
	if !j.virtual {
		t.Flags = flight.RecordOnOSThread
	}
	stack := r.stack(j)
	t.Stack = stack.id
	t.State, t.Reason = r.state(j, stack.clue)
	t.Blocker = r.blocker(j)
	if j.own {
		r.extras(&t, &j.extras)
	}
	for _, lock := range j.owned {
		if lock != j.waitingOn {
			r.owned(flight.BlockedByLock, lock, t.ID)
		}
	}
	if t.Blocker == 0 && !t.Limited && t.Waker == 0 && t.Mounts == 0 && t.Pins == 0 && t.Carrier == flight.NoCarrier && t.Scheduler == 0 {
		t.More = roster.More{} // all that it says is what its absence says
	}
	r.out.Add(t)
}

// member reads a member of a thread.
func (r *reader) member(name string) (err error) {
	j := r.now
	switch name {
	case "tid":
		j.tid, err = r.number()
	case "name":
		j.name, err = r.text()
	case "state":
		j.state, err = r.word()
	case "virtual":
		j.virtual, err = r.yes()
	case "carrier":
		j.mounted = r.d.PeekKind() != 'n'
		j.carrier, err = r.number()
	case "stack":
		var text jsontext.Value
		text, err = r.d.ReadValue()
		j.stack = append(j.stack, text...)
	case "parkBlocker":
		return r.members(func(name string) (err error) {
			switch name {
			case "object":
				j.park, err = r.word()
			case "owner":
				j.owner, err = r.number()
			default:
				err = r.d.SkipValue()
			}
			return err
		})
	case "blockedOn":
		j.blockedOn, err = r.word()
	case "waitingOn":
		j.waitingOn, err = r.word()
	case "monitorsOwned":
		var all []struct{ Locks []*string }
		err = r.into(&all)
		for _, m := range all {
			for _, lock := range m.Locks {
				if lock != nil {
					j.owned = append(j.owned, *lock)
				}
			}
		}
	case extrasMember:
		j.own = true
		return r.members(r.extra)
	default:
		return r.d.SkipValue()
	}
	return err
}

// extra reads a member of the extras of a thread.
func (r *reader) extra(name string) (err error) {
	x := &r.now.extras
	var n uint64
	switch name {
	case "state":
		x.State, err = r.word()
	case "reason":
		x.Reason, err = r.word()
	case "wait_ns":
		n, err = r.number()
		x.Wait = time.Duration(n)
	case "wait_unknown":
		x.NoWait, err = r.yes()
	case "blocker":
		x.Blocker, err = r.word()
	case "owner":
		x.Owner, err = r.number()
	case "limited":
		x.Limited, err = r.yes()
	case "kind":
		x.Kind, err = r.word()
	case "waker":
		x.Waker, err = r.number()
	case "mounts":
		n, err = r.number()
		x.Mounts = uint32(n)
	case "pins":
		n, err = r.number()
		x.Pins = uint32(n)
	case "scheduler":
		n, err = r.number()
		x.Scheduler = flight.SchedulerID(n)
	case "truncated":
		x.Truncated, err = r.yes()
	default:
		return r.d.SkipValue()
	}
	return err
}

// stack interns the stack of a thread. What is no list of texts is none.
func (r *reader) stack(j *threadJSON) stackRead {
	if len(j.stack) == 0 {
		return stackRead{}
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.Write(j.stack)
	if j.extras.Truncated {
		h.WriteByte(1)
	}
	sum := h.Sum64()
	if s, ok := r.stacks[sum]; ok {
		return s
	}
	if len(j.stackWords) == 0 && json.Unmarshal(j.stack, &j.stackWords) != nil { // those of the plain form are there
		j.stackWords = nil
	}
	frames := make([]flight.Frame, len(j.stackWords))
	for i, s := range j.stackWords {
		frames[i] = parseFrame(s)
	}
	s := stackRead{id: r.out.Intern(frames, j.extras.Truncated), clue: clueOf(j.stackWords)}
	if len(r.stacks) < maxStacks {
		r.stacks[sum] = s
	}
	return s
}

func (r *reader) extras(t *roster.Thread, x *threadExtras) {
	if s, ok := statesByName[x.State]; ok {
		t.State = s
	}
	t.Reason = reasonsByName[x.Reason]
	if !x.NoWait {
		t.Wait = max(x.Wait, 0)
	}
	t.Limited, t.Waker, t.Mounts, t.Pins, t.Scheduler = x.Limited, flight.ThreadID(x.Waker), x.Mounts, x.Pins, x.Scheduler
	if x.Kind == "goroutine" {
		t.Flags = flight.RecordOnGoroutine
	}
	if x.Blocker == "" && x.Owner == 0 {
		return
	}
	_, quoted, _ := strings.Cut(x.Blocker, " ")
	if name, err := strconv.Unquote(quoted); err == nil || x.Owner != 0 {
		r.known(t.Blocker, name, flight.ThreadID(x.Owner))
	}
}

// kinds tell from the class of an object what it is; the first that fits.
var kinds = []struct {
	class string
	kind  flight.BlockerKind
}{
	{"ConditionObject", flight.BlockedByCondition},
	{"ReentrantReadWriteLock", flight.BlockedByRWMutex},
	{"ReentrantLock", flight.BlockedByMutex},
	{"Semaphore", flight.BlockedBySemaphore},
	{"CountDownLatch", flight.BlockedByLatch},
	{"CyclicBarrier", flight.BlockedByBarrier},
	{"Phaser", flight.BlockedByBarrier},
	{"Exchanger", flight.BlockedByExchanger},
	{"Future", flight.BlockedByFuture},
	{"Queue", flight.BlockedByQueue},
}

// blocker describes what a thread waits for.
func (r *reader) blocker(j *threadJSON) flight.Blocker {
	switch {
	case j.park != "":
		return r.owned(flight.BlockedByNone, j.park, flight.ThreadID(j.owner))
	case j.blockedOn != "":
		return r.owned(flight.BlockedByLock, j.blockedOn, 0)
	case j.waitingOn != "":
		return r.owned(flight.BlockedByCondition, j.waitingOn, 0)
	}
	return 0
}

// owned returns an object as a blocker, of a kind unless that is BlockedByNone, and notes who holds it, if that is known.
func (r *reader) owned(kind flight.BlockerKind, object string, owner flight.ThreadID) flight.Blocker {
	label, class, id, ok := cutIdentity(object)
	if ok && label == "" {
		for k := flight.BlockedByNone + 1; k < flight.BlockerKindCount; k++ {
			if flight.BlockerKinds[k].Name == class { // our own
				return r.known(flight.MakeBlocker(k, id), "", owner)
			}
		}
	}
	for i := 0; kind == flight.BlockedByNone && i < len(kinds); i++ {
		if strings.Contains(class, kinds[i].class) {
			kind = kinds[i].kind
		}
	}
	if kind == flight.BlockedByNone {
		kind = flight.BlockedByLock
	}
	sum := fnv.New64a() // objects of two classes may have one number
	io.WriteString(sum, object)
	return r.known(flight.MakeBlocker(kind, sum.Sum64()), object, owner)
}

func (r *reader) known(b flight.Blocker, name string, owner flight.ThreadID) flight.Blocker {
	if name == "" && owner == 0 {
		return b
	}
	row, _ := r.out.FindBlocker(b)
	row.Blocker = b
	if name != "" {
		row.Name = name
	}
	// One that is both in monitorsOwned and the owner in a waiter's extras is one holder.
	if h := (flight.Holder{Party: flight.PartyThread(owner)}); owner != 0 && !slices.Contains(row.Known(), h) {
		if n := len(row.Known()); n < flight.HoldersKept {
			row.Holders[n] = h
		}
		row.Held++
	}
	r.out.Blocker(row)
	return b
}
