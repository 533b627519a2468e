package flight

import "unsafe"

// PollerBatches is how many classes of batches a poller counts: of 1, 2 to 3, 4 to 7 … ready descriptors; the last has no end.
const PollerBatches = 8

// A PollerKind is what a poller does.
type PollerKind uint8

// The kinds of pollers. Values are part of the flight format: append, never renumber.
const (
	PollerFree    PollerKind = iota // the record belongs to no poller
	PollerRead                      // it watches sockets for reading and accepting
	PollerWrite                     // it watches sockets for writing
	PollerRing                      // it completes operations on files, which a ring of the kernel executes
	PollerHelpers                   // it completes operations on files, which helpers execute

	PollerKindCount
)

// A PollerKindInfo is a row of the table of kinds of pollers.
type PollerKindInfo struct {
	Name  string
	About string
	Unit  string // what it watches
}

// PollerKinds describes every kind, indexed by [PollerKind].
var PollerKinds = [PollerKindCount]PollerKindInfo{
	PollerFree:    {"free", "no poller", ""},
	PollerRead:    {"read", "watches sockets for reading and accepting", "sockets"},
	PollerWrite:   {"write", "watches sockets for writing", "sockets"},
	PollerRing:    {"ring", "completes operations on files, which the kernel executes (io_uring)", "operations"},
	PollerHelpers: {"helpers", "completes operations on files, which helper goroutines execute", "operations"},
}

// String returns the kind's name.
func (k PollerKind) String() string {
	if k < PollerKindCount {
		return PollerKinds[k].Name
	}
	return "unknown"
}

// PollerFigures are what a poller tells of itself.
type PollerFigures struct {
	Watched uint64                // descriptors that are registered, or operations under way
	Wakeups uint64                // how often it found something
	Ready   uint64                // what it found, in all
	Failed  uint64                // waits that the system refused
	Batches [PollerBatches]uint32 // wake-ups by what they found
}

// maxPollerSegments is enough for all pollers that there can be.
const maxPollerSegments = 1

var pollerPoolKind = poolKind{segmentPoller, pollerSegmentSize, pollerSize, maxPollerSegments, lostBlockers, "pollers are not recorded any more"}

// A PollerRecord is where a poller tells its figures. One at a time may write it. A nil one swallows everything. No method waits or allocates.
type PollerRecord pollerRecord

// OpenPoller returns a record for a poller, which blockers know by its number ([BlockerSpec.Pollers]). Without room it returns nil.
func (r *Recorder) OpenPoller(k PollerKind, number uint16) *PollerRecord {
	if r == nil {
		return nil
	}
	rec := (*pollerRecord)(r.pollers.take(r, &pollerPoolKind))
	if rec == nil {
		return nil
	}
	v := beginWrite(&rec.Ver)
	put32((*uint32)(unsafe.Pointer(&rec.Kind)), uint32(k)|uint32(number)<<16)
	endWrite(&rec.Ver, v)
	p := (*PollerRecord)(rec)
	p.Write(&PollerFigures{}, 0)
	return p
}

// Write tells the figures as they are at t, the last time that it found something; 0: never yet.
func (p *PollerRecord) Write(f *PollerFigures, t Ticks) {
	if p == nil {
		return
	}
	v := beginWrite(&p.Ver)
	put64(&p.Watched, f.Watched)
	put64(&p.Wakeups, f.Wakeups)
	put64(&p.Ready, f.Ready)
	put64(&p.Failed, f.Failed)
	put64(&p.Last, uint64(t))
	for i := range f.Batches {
		put32(&p.Batches[i], f.Batches[i])
	}
	endWrite(&p.Ver, v)
}

// ClosePoller frees the record of a poller that has ended. p must not be used afterwards.
func (r *Recorder) ClosePoller(p *PollerRecord) {
	if r == nil || p == nil {
		return
	}
	v := beginWrite(&p.Ver)
	put32((*uint32)(unsafe.Pointer(&p.Kind)), uint32(PollerFree))
	endWrite(&p.Ver, v)
	r.pollers.put(unsafe.Pointer(p))
}
