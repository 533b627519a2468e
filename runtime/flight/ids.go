package flight

import (
	"fmt"
	"strconv"
)

// A ThreadID names a thread for the life of its process. 0 is no thread.
type ThreadID uint64

// A ScopeID names a structured-concurrency scope for the life of its process. 0 is the root scope.
type ScopeID uint64

// A ScopeIndex is the position of a scope's record in the flight file. Positions are reused after
// [Recorder.CloseScope]; 0 is the root scope, which always exists.
type ScopeIndex uint32

// A StackID names an interned stack: its position in the flight file. 0 is no stack. An id is
// never reused within a process.
type StackID uint32

// A StringID names an interned string: its position in the flight file. 0 is the empty string.
// An id is never reused within a process.
type StringID uint32

// A NameRef is the position of a thread's name in the flight file. 0 is no name. Slots are reused
// when a thread has ended.
type NameRef uint32

// A CarrierID names a carrier. [NoCarrier] stands for whoever is none.
type CarrierID uint16

// NoCarrier is the carrier of events emitted by goroutines that are no carriers.
const NoCarrier CarrierID = 0xffff

// A SchedulerID names a scheduler while it lives. 0 is none that is known.
type SchedulerID uint16

// A Blocker is what a thread waits for: a kind in the top byte, an id in the 56 bits below.
// The zero Blocker is none. The top bit tells writers' records that the wait has a time limit ([Blocker.Limited]); readers tell that apart.
type Blocker uint64

const blockerLimited Blocker = 1 << 63

// A BlockerKind is the sort of thing a thread waits for.
type BlockerKind uint8

// The kinds of blockers. Values are part of the flight format: append, never renumber.
const (
	BlockedByNone BlockerKind = iota
	BlockedByThread
	BlockedByScope
	BlockedByLock
	BlockedByCondition
	BlockedByTimer
	BlockedByFile
	BlockedByMutex
	BlockedByRWMutex
	BlockedBySemaphore
	BlockedByLatch
	BlockedByBarrier
	BlockedByQueue
	BlockedByOnce
	BlockedByExchanger
	BlockedByFuture
	BlockedByChannel
	BlockedBySocket
	BlockedBySignal
	BlockedByPermit
	BlockedByChild

	BlockerKindCount
)

// A BlockerInfo is a row of the table of blockers.
type BlockerInfo struct {
	Name  string
	About string
	Hex   bool // the id is an address
}

// BlockerKinds describes every kind of blocker, indexed by [BlockerKind].
var BlockerKinds = [BlockerKindCount]BlockerInfo{
	BlockedByNone:      {"", "nothing known", false},
	BlockedByThread:    {"thread", "the end of a thread", false},
	BlockedByScope:     {"scope", "the threads of a scope", false},
	BlockedByLock:      {"lock", "the release of a lock", true},
	BlockedByCondition: {"condition", "a signal of a condition", true},
	BlockedByTimer:     {"timer", "a time", false},
	BlockedByFile:      {"file", "readiness of a file descriptor, or the end of an operation on one", false},
	BlockedByMutex:     {"mutex", "the release of a mutex", true},
	BlockedByRWMutex:   {"rwmutex", "the release of a read-write mutex", true},
	BlockedBySemaphore: {"semaphore", "permits of a semaphore", true},
	BlockedByLatch:     {"latch", "the count of a latch", true},
	BlockedByBarrier:   {"barrier", "the others at a barrier", true},
	BlockedByQueue:     {"queue", "an element of a queue, or room in it", true},
	BlockedByOnce:      {"once", "who executes what is done once", true},
	BlockedByExchanger: {"exchanger", "a partner to exchange with", true},
	BlockedByFuture:    {"future", "the result of a future", true},
	BlockedByChannel:   {"channel", "the other side of a channel", true},
	BlockedBySocket:    {"socket", "readiness of a socket", false},
	BlockedBySignal:    {"signal", "a signal to a durable thread", true},
	BlockedByPermit:    {"permit", "the unpark of a durable thread", true},
	BlockedByChild:     {"child", "the end of a child of a durable thread", true},
}

const blockerIDBits = 56

// MakeBlocker returns the blocker of kind k and the given id; bits of id above the 56th are lost.
func MakeBlocker(k BlockerKind, id uint64) Blocker {
	return Blocker(uint64(k)<<blockerIDBits | id&(1<<blockerIDBits-1))
}

// BlockThread is the blocker of who waits for thread t to end.
func BlockThread(t ThreadID) Blocker { return MakeBlocker(BlockedByThread, uint64(t)) }

// BlockScope is the blocker of who waits for the threads of scope s.
func BlockScope(s ScopeID) Blocker { return MakeBlocker(BlockedByScope, uint64(s)) }

// BlockLock is the blocker of who waits for the lock at addr.
func BlockLock(addr uintptr) Blocker { return MakeBlocker(BlockedByLock, uint64(addr)) }

// BlockCondition is the blocker of who waits for the condition at addr.
func BlockCondition(addr uintptr) Blocker { return MakeBlocker(BlockedByCondition, uint64(addr)) }

// BlockAt is the blocker of who waits for a synchronizer of kind k at addr, such as [BlockedByMutex].
func BlockAt(k BlockerKind, addr uintptr) Blocker { return MakeBlocker(k, uint64(addr)) }

// BlockFile is the blocker of who waits for file descriptor fd.
func BlockFile(fd uintptr) Blocker { return MakeBlocker(BlockedByFile, uint64(fd)) }

// BlockSocket is the blocker of who waits for the socket with file descriptor fd.
func BlockSocket(fd uintptr) Blocker { return MakeBlocker(BlockedBySocket, uint64(fd)) }

// Limited returns the blocker for the record of who waits for b with a time limit.
func (b Blocker) Limited() Blocker { return b | blockerLimited }

// Kind returns the sort of thing b is.
func (b Blocker) Kind() BlockerKind { return BlockerKind(b &^ blockerLimited >> blockerIDBits) }

// ID returns b's id within its kind: a thread or scope id, an address, a descriptor.
func (b Blocker) ID() uint64 { return uint64(b) & (1<<blockerIDBits - 1) }

// String returns, for example, "thread #12", "lock 0xc000010000" or "" for none.
func (b Blocker) String() string {
	k := b.Kind()
	switch {
	case k == BlockedByNone:
		return ""
	case k >= BlockerKindCount:
		return fmt.Sprintf("unknown(%d) %#x", k, b.ID())
	case BlockerKinds[k].Hex:
		return BlockerKinds[k].Name + " 0x" + strconv.FormatUint(b.ID(), 16)
	}
	return BlockerKinds[k].Name + " #" + strconv.FormatUint(b.ID(), 10)
}

// A Party is who holds or waits: a thread or a goroutine that is none. 0 is somebody who is not known.
type Party uint64

const partyGoroutine = 1 << 63

// PartyThread is thread t as a party.
func PartyThread(t ThreadID) Party { return Party(t) }

// PartyGoroutine is a goroutine as a party; id is its number, as Go's own dumps show it. No other goroutine ever has it.
func PartyGoroutine(id uintptr) Party { return Party(id) | partyGoroutine }

// Thread returns the thread, 0 if p is none.
func (p Party) Thread() ThreadID {
	if p&partyGoroutine != 0 {
		return 0
	}
	return ThreadID(p)
}

// Goroutine returns the number of the goroutine, 0 if p is none.
func (p Party) Goroutine() uint64 {
	if p&partyGoroutine == 0 {
		return 0
	}
	return uint64(p &^ partyGoroutine)
}

// String returns "#12", "goroutine 57" or "" for somebody who is not known.
func (p Party) String() string {
	switch {
	case p == 0:
		return ""
	case p&partyGoroutine == 0:
		return "#" + strconv.FormatUint(uint64(p), 10)
	}
	return "goroutine " + strconv.FormatUint(p.Goroutine(), 10)
}

// A CarrierState is what a carrier is doing.
type CarrierState uint8

// The states of a carrier. Values are part of the flight format: append, never renumber.
const (
	CarrierFree    CarrierState = iota // the ring belongs to no carrier
	CarrierIdle                        // waits for work
	CarrierRunning                     // runs or looks for threads
	CarrierHeld                        // held by a pinned thread
	CarrierStopped                     // has left its scheduler

	CarrierStateCount
)

// CarrierStates names every state of a carrier, indexed by [CarrierState].
var CarrierStates = [CarrierStateCount]string{"free", "idle", "running", "held", "stopped"}

// String returns the state's name.
func (s CarrierState) String() string {
	if s < CarrierStateCount {
		return CarrierStates[s]
	}
	return "unknown"
}

// A ScopeState is what a scope is doing.
type ScopeState uint8

// The states of a scope. Values are part of the flight format: append, never renumber.
const (
	ScopeFree    ScopeState = iota // the record belongs to no scope
	ScopeOpen                      // threads can be forked
	ScopeJoining                   // its owner waits for its threads
	ScopeClosed                    // its owner has left it

	ScopeStateCount
)

// ScopeStates names every state of a scope, indexed by [ScopeState].
var ScopeStates = [ScopeStateCount]string{"free", "open", "joining", "closed"}

// String returns the state's name.
func (s ScopeState) String() string {
	if s < ScopeStateCount {
		return ScopeStates[s]
	}
	return "unknown"
}

// A SchedulerState is what a scheduler is doing.
type SchedulerState uint8

// The states of a scheduler. Values are part of the flight format: append, never renumber.
const (
	SchedulerFree SchedulerState = iota // the record belongs to no scheduler
	SchedulerOpen

	SchedulerStateCount
)

// RecordFlags tell what sort of thread a record describes: 16 bits, and above them its scheduler ([RecordFlags.With]).
type RecordFlags uint32

// The flags of a thread. Values are part of the flight format.
const (
	RecordOnGoroutine RecordFlags = 1 << iota // placed on a goroutine of its own
	RecordOnOSThread                          // placed on an OS thread of its own
	RecordAdopted                             // executes on the goroutine of its caller
)

// With returns the flags together with the thread's scheduler, for [Record.Init].
func (f RecordFlags) With(s SchedulerID) RecordFlags { return f | RecordFlags(s)<<recordSchedulerShift }

// A RingOwner tells who writes to a ring.
type RingOwner uint8

// The owners of rings. Values are part of the flight format.
const (
	RingOfCarrier RingOwner = iota
	RingOfOthers            // goroutines that are no carriers, one at a time
)

// String returns "carrier" or "others".
func (o RingOwner) String() string {
	if o == RingOfCarrier {
		return "carrier"
	}
	return "others"
}
