package flight

// The layout of a flight file; docs/flight-format.md is the specification. All numbers are little
// endian, structs have no implicit padding, and TestLayoutMatchesTheSpecification pins every offset.

const (
	// FormatVersion is the version of the flight format this package writes. It reads all versions from 1 on.
	FormatVersion = 2

	formatMagic = "vtscope\x00flight\x00\n"

	headerSize    = 64 << 10 // header page and segment directory
	headerPage    = 4 << 10
	maxSegments   = (headerSize - headerPage) / segmentEntrySize
	segmentAlign  = 64 << 10 // the largest page size of the supported architectures
	maxFileString = 4096     // bytes of one interned string

	segmentEntrySize = 32
	ringHeaderSize   = 1024
	ringHeaderSizeV1 = 512
	eventSize        = 32
	recordSize       = 64
	scopeSize        = 64
	nameSize         = 64
	nameText         = 48
	unitSize         = 8  // strings and stacks lie at multiples of it
	tableHeaderSize  = 64 // at the start of string, stack and symbol segments

	threadsPerSegment = 16384
	threadSegmentSize = 2 * threadsPerSegment * recordSize
	coldOffset        = threadsPerSegment * recordSize // from a thread's hot record to its cold one

	tableSegmentSize = 256 << 10 // string, stack and symbol segments
	unitsPerSegment  = tableSegmentSize / unitSize

	schedulerSegmentSize = 64 << 10
	schedulersPerSegment = schedulerSegmentSize / schedulerSize
	pinSiteSegmentSize   = 64 << 10
	pinSitesPerSegment   = pinSiteSegmentSize / pinSiteSize
	recentSegmentSize    = 64 << 10
	recentPerSegment     = recentSegmentSize / recentSize
	schedulerSize        = 2048
	pinSiteSize          = 64
	recentSize           = 512
	blockerSegmentSize   = 256 << 10
	blockersPerSegment   = blockerSegmentSize / blockerSize
	blockerSize          = 256
	waitSegmentSize      = 64 << 10
	waitsPerSegment      = waitSegmentSize / waitSize
	waitSize             = 64
	userKindSegmentSize  = 64 << 10
	userKindsPerSegment  = userKindSegmentSize / userKindSize
	userKindSize         = 256
	maxUserFields        = 16
	pollerSegmentSize    = 64 << 10
	pollersPerSegment    = pollerSegmentSize / pollerSize
	pollerSize           = 128
	durableSegmentSize   = 256 << 10
	durablesPerSegment   = durableSegmentSize / durableSize
	labelSegmentSize     = 256 << 10
	labelsPerSegment     = labelSegmentSize / labelSize
	labelSize            = 256
	labelText            = 240
	durableSize          = 256
	durableTotalsSize    = 64 << 10 // one record, and the page that it is on
	totalsSegmentSize    = scopesPerSegment * totalsSize
	totalsSize           = 64
	figureSlots          = 64
	pinnedFirst          = 8
	recordSchedulerShift = 16 // in the flags of a thread's record

	maxStackDepth = 64
	kindSlots     = 64
	kindSlotsV1   = 32
	reasonSlots   = 32
)

// A segmentKind is what a segment holds.
type segmentKind uint16

const (
	segmentNone segmentKind = iota
	segmentRing
	segmentThread
	segmentScope
	segmentName
	segmentString
	segmentStack
	segmentSymbol
	segmentScheduler
	segmentPinSite
	segmentBlocker
	segmentWait
	segmentUserKind
	segmentTotals
	segmentPoller
	segmentDurable
	segmentDurableTotals
	segmentLabel
	segmentRecent

	segmentKindCount
)

var segmentKindNames = [segmentKindCount]string{"none", "ring", "thread", "scope", "name", "string", "stack", "symbol", "scheduler", "pin site", "blocker", "wait", "user kind", "totals", "poller", "durable", "durable totals", "label", "recent place"}

func (k segmentKind) String() string {
	if k < segmentKindCount {
		return segmentKindNames[k]
	}
	return "unknown"
}

const (
	statusRunning = 1
	statusEnded   = 2
)

// An anchor ties the clock to the kernel's.
type anchor struct {
	Ticks uint64
	Mono  int64 // CLOCK_MONOTONIC, nanoseconds
	Real  int64 // CLOCK_REALTIME, nanoseconds
}

// The counters of what was lost, as indexes of fileHeader.Lost and, from lostSlots on, of fileHeader.LostMore.
const (
	lostThreads = iota // threads without a record
	lostEvents         // events dropped because every striped ring was busy
	lostStrings        // strings that found no room
	lostStacks         // stacks that found no room
	lostSymbols        // program counters that found no room
	lostScopes         // scopes without a record
	lostNames          // names that found no room
	lostRings          // rings that found no room in the file
	lostSlots
)

const (
	lostBlockers = lostSlots + iota // blockers without a record
	lostWaits                       // waits of goroutines without a record
	lostDurables                    // durable threads without a record
	lostLabels                      // threads whose labels found no room
)

// fileHeader lies at offset 0.
type fileHeader struct {
	Magic      [16]byte
	Version    uint32
	HeaderSize uint32
	PID        uint32
	UID        uint32
	StartTime  uint64 // field 22 of /proc/PID/stat
	BootID     [16]byte
	WallStart  int64 // CLOCK_REALTIME when the recorder started, nanoseconds
	Status     uint32
	Segments   uint32 // entries of the directory in use; stored after the entry
	ClockKind  uint32
	AnchorSeq  uint32 // odd while Anchors change
	Anchors    [2]anchor
	Heartbeat  int64  // CLOCK_REALTIME of the newest sign of life, nanoseconds
	PIDSpace   uint64 // inode of the pid namespace PID belongs to, 0 unknown
	Lost       [lostSlots]uint64
	LostKinds  [kindSlotsV1]uint64 // dropped events by kind
	Address    uint64              // of this header in the process
	GoArch     [16]byte
	GoVersion  [64]byte
	Program    [64]byte
	Exe        [1024]byte
	LostMore   [lostSlots]uint64
	LostLater  [kindSlots - kindSlotsV1]uint64 // of the kinds that LostKinds has no room for
	Settings   settingsRecord
	BuildID    [buildIDSize]byte // of the executable: see [BuildID]
	Marker     uint64            // address of the function markerName
	Panicked   uint64            // threads whose end is counted and whose record stays: see [Recorder.Panicked]
}

// settingsRecord tells the [Settings].
type settingsRecord struct {
	Ver     uint32
	Name    uint32
	Changed uint64 // ticks
	Flags   uint32
	_       [12]byte
	Kinds   [kindSlots]settingRow
}

// settingRow is a [Setting].
type settingRow struct {
	Word      uint64 // threshold in nanoseconds | depth<<48 | flags
	Every     uint32
	PerSecond uint32
}

const (
	settingDepthShift        = 48
	settingOn         uint64 = 1 << 56
	settingStack      uint64 = 1 << 57
	settingsCPUTime          = 1
)

// lostKind returns the counter of dropped events of a kind.
func (h *fileHeader) lostKind(k Kind) *uint64 {
	if k %= kindSlots; k >= kindSlotsV1 {
		return &h.LostLater[k-kindSlotsV1]
	}
	return &h.LostKinds[k]
}

// segmentEntry is a row of the directory, which starts at headerPage.
type segmentEntry struct {
	Offset  uint64 // in the file
	Address uint64 // of the mapping in the process
	Size    uint32
	Kind    segmentKind
	Ordinal uint16 // counts the segments of the kind
	Stride  uint32 // bytes of one record; 0 if they vary
	Count   uint32 // records; 0 if they vary
}

// ringHeader precedes a ring's events.
type ringHeader struct {
	Head      uint64 // events ever written
	Size      uint32 // events, a power of two
	Owner     uint32 // carrier | state<<16 | owner<<24
	Hold      holdRecord
	Scheduler uint32 // the carrier's, 0: not known
	_         [4]byte
	Seen      uint64 // when Hold was last found to be so; before its Since: then
	_         [64]byte
	Counts    [kindSlots]uint64
	Parks     [reasonSlots]uint64 // of Counts, the parks by reason
	_         [128]byte
}

// holdRecord tells that a carrier's mounted thread blocks in an operation of Go's own, or computes for long. It has its own version, since
// its writer is not the ring's owner.
type holdRecord struct {
	Ver    uint32
	Word   uint32 // reason
	Thread uint64 // 0: none
	Since  uint64
	Stack  uint64
}

// event is a slot of a ring.
type event struct {
	Time   uint64
	Word   uint64 // kind | code<<8 | carrier<<16 | stack<<32
	Thread uint64
	Arg    uint64
}

// coldRecord is the part of a thread's record that is written once.
type coldRecord struct {
	ID      uint64
	Created uint64
	Creator uint64
	G       uint64 // address of the runtime.g of the goroutine it runs on
	CPU     uint64 // ticks on a processor, where that is measured
	Entry   uint64 // pc of the body
	Run     uint64 // ticks mounted and not pinned, up to when it was mounted last
	Ready   uint64 // ticks runnable, as Run
}

// scopeRecord describes a scope.
type scopeRecord struct {
	Ver      uint32
	State    uint32 // low byte
	ID       uint64
	Owner    uint64
	Opened   uint64
	Deadline uint64
	Parent   uint32
	Name     uint32
	Policy   uint32
	Limit    uint32
	Queued   uint32
	_        [4]byte
}

// schedulerRecord describes a scheduler.
type schedulerRecord struct {
	Ver     uint32
	State   uint32 // low byte
	ID      uint32
	Name    uint32
	Began   uint64
	Written uint64
	_       [32]byte
	Figures [figureSlots]uint64
	Ready   [HistogramBuckets]uint64
	Slice   [HistogramBuckets]uint64
	Pinned  [HistogramBuckets - pinnedFirst]uint64 // from bucket pinnedFirst on, which counts the shorter ones too
}

// pinSiteRecord counts the pins of one place, for one reason.
type pinSiteRecord struct {
	Ver     uint32
	Reason  uint32 // low byte
	Stack   uint32 // 0: not known, or one of those that found no room
	_       uint32
	Count   uint64 // 0: the record is free, and so are those after it
	Total   uint64 // nanoseconds
	Longest uint64 // nanoseconds
	Victims uint64
	Last    uint64 // ticks
	_       [8]byte
}

// recentRecord describes what happened at a place lately.
type recentRecord struct {
	Ver   uint32
	What  uint32 // kind, 0: the record is free | reason<<8
	Stack uint32 // 0: not known
	Step  uint32 // the newest
	Last  uint64 // ticks of the last hold's end
	_     [40]byte
	Steps [recentSteps]recentStepRecord
}

// recentStepRecord sums the holds of a step at a place.
type recentStepRecord struct {
	Began   uint64 // ticks: when the first of them ended
	Count   uint32 // 0: there is no such step
	Name    uint32 // of Blocker (string)
	Waiting uint64 // how many waited, in sum
	Total   uint64 // nanoseconds
	Longest uint64 // nanoseconds; the others are of that hold
	Blocker uint64
	Thread  uint64
	Crowd   uint32 // how many waited
	_       uint32
}

// blockerRecord describes what somebody waits for.
type blockerRecord struct {
	Ver       uint32
	_         uint32
	Blocker   uint64 // 0: the record is free
	Since     uint64 // ticks: since when somebody waits
	Name      uint32
	Made      uint32 // stack of its creation
	Capacity  uint64
	Available uint64 // signed
	Held      uint32 // holders in all
	Waiters   uint32
	_         [8]byte
	Holders   [HoldersKept]holderRecord
	Local     [16]byte // of a socket: its address, as IPv6; or zero
	Remote    [16]byte
	Ports     uint32 // local port | remote port<<16
	Pollers   uint32 // numbers of the poller for reading | for writing<<16; 0: none
	_         [24]byte
}

// pollerRecord describes what makes threads go on that wait for the world outside.
type pollerRecord struct {
	Ver     uint32
	Kind    uint8 // 0: the record is free
	_       uint8
	Number  uint16
	Watched uint64
	Wakeups uint64
	Ready   uint64
	Failed  uint64
	Last    uint64 // ticks
	Batches [PollerBatches]uint32
	_       [48]byte
}

// holderRecord is one of the holders of a blocker.
type holderRecord struct {
	Party uint64
	Since uint64 // ticks
}

// waitRecord tells that a goroutine waits.
type waitRecord struct {
	Ver     uint32
	Word    uint32 // state | reason<<8
	Party   uint64 // 0: the record is free
	Blocker uint64
	Since   uint64 // ticks
	Until   uint64 // ticks; 0: without a limit
	Stack   uint32
	_       [20]byte
}

// userKindRecord describes a kind of events of the program's own.
type userKindRecord struct {
	Ver     uint32
	Name    uint32 // 0: the record is free
	Fields  uint32
	_       uint32
	Setting settingRow
	_       [32]byte
	Field   [maxUserFields]userFieldRecord
	_       [64]byte
}

// userFieldRecord is a field of a userKindRecord.
type userFieldRecord struct {
	Name uint32
	At   uint16 // word after the event's own
	Use  uint16
}

// durableRecord describes a durable thread, beside the record of the thread that it is now.
type durableRecord struct {
	Ver     uint32
	Word    uint32 // wait | flags<<8
	Thread  uint64 // 0: the record is free
	Steps   uint64
	Since   int64 // nanoseconds since 1970: of the wait
	Until   int64 // nanoseconds since 1970; 0: without a limit
	Body    uint32
	Errors  uint32
	Lengths uint32 // of ID | of Name<<16
	Child   uint32
	ID      [durableID / 8]uint64
	Name    [durableName / 8]uint64
}

const (
	durableID        = 120
	durableName      = 80
	durableReplays   = 1
	durableIDCut     = 2
	durableNameCut   = 4
	durableFlagShift = 8
)

// durableTotalsRecord sums what durable threads did. Words are added to atomically.
type durableTotalsRecord struct {
	Counts [durableCountSlots]uint64
	Replay [HistogramBuckets]uint64
}

const durableCountSlots = 16

// totalsRecord is what the threads of a scope that have ended used, those of the scopes in it that are closed included. Its place in its segment is that of
// the scope's record in its. Words are added to atomically.
type totalsRecord struct {
	Scope  uint64 // id
	Ended  uint64 // threads
	Mounts uint64
	Run    uint64 // ticks mounted and not pinned
	Ready  uint64 // ticks runnable
	Park   uint64 // ticks of the rest of their lives
	CPU    uint64 // ticks on a processor, where that was measured
	Pins   uint64
}

// nameRecord holds a thread's name.
type nameRecord struct {
	Ver    uint32
	Info   uint32 // length of the text in bytes | flags<<16
	Thread uint64
	Text   [nameText / 8]uint64
}

const nameTruncated = 1

// labelRecord holds the labels of a thread: key, a zero byte, value, a zero byte, and so on.
type labelRecord struct {
	Ver    uint32
	Info   uint32 // length of the text in bytes | flags<<16
	Thread uint64 // 0: the record is free
	Text   [labelText / 8]uint64
}

const labelsCut = 1

// tableHeader starts string, stack and symbol segments.
type tableHeader struct {
	Used uint64 // bytes in use, this header included; stored after the record
	_    [56]byte
}

// stackRecord precedes a stack's program counters.
type stackRecord struct {
	Hash uint64
	Word uint64 // number of program counters | flags<<16 | skip<<32 | stackReady; skip: innermost frames to leave out
}

const (
	stackRecordSize = 16
	stackTruncated  = 1
	stackReady      = 1 << 48 // complete; with no program counters: the rest of the segment is empty
)

// stringRecord precedes a string's bytes.
type stringRecord struct {
	Len   uint16
	Flags uint16
	Sum   uint32 // FNV-1a of the bytes
}

const (
	stringRecordSize = 8
	stringTruncated  = 1
)

// symbolRecord precedes the frames of one program counter, innermost first.
type symbolRecord struct {
	PC uint64
	N  uint32
	_  uint32
}

// symbolFrame is a frame of a symbolRecord.
type symbolFrame struct {
	Func  uint32
	File  uint32
	Line  uint32
	Flags uint32
}

const (
	symbolRecordSize = 16
	symbolFrameSize  = 16
	frameInlined     = 1
	frameInternal    = 2
)
