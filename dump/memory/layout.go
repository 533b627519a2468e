package memory

import (
	"strconv"
	"strings"
)

// A layout is where a release of Go keeps what is read here. The offsets are the same on all 64-bit architectures.
type layout struct {
	gSize                           int // bytes from the start of runtime.g that hold all of what follows
	gStackLo, gStackHi              int
	gM                              int
	gSP, gPC, gSelf, gBP            int // of sched; gSelf is the goroutine itself: the check that this is a g
	gSyscallSP, gSyscallPC, gSyscBP int
	gStatus                         int
	gSeq                            int // trackingSeq, a byte, which changes whenever the goroutine has run

	mProcID, mCurG, mVdsoSP int // of runtime.m; vdsoPC follows

	text, etext, gofunc, pctab, ftab int // of runtime.moduledata
	data, bss                        int // edata and ebss follow

	// What follows is read of programs without a recorder alone.
	gWhole                                         int // like gSize
	gID, gSince, gReason                           int // goid, waitsince, waitreason
	gParent, gMadeAt, gStart                       int // parentGoid (0: there is none), gopc, startpc
	gLabels, gLockedM                              int
	gWaiting                                       int  // of the sudogs that it waits with
	gTracking, gStamp                              int  // tracking, trackingStamp
	sudogElem, sudogLink, sudogC, sudogSelect      int  // sudogSelect is a byte
	labelMap                                       bool // labels are a map, and not a slice
	pollFD, pollG                                  int  // of a pollDesc: the descriptor, and two words for who waits for it
	semaDogs                                       bool // also who waits for a semaphore has its sudog in waiting, with the semaphore as its element
	magic                                          uint32
	wrapper                                        uint8 // funcID of functions that the compiler has made
	functionSize                                   int
	inlineSize, inlineID, inlineName, inlineParent int // of an inlined call
}

// layouts has a row for each minor release that is known. For a new one raise the last minor in makeLayouts, and run TestLayoutsAreThoseOfTheRelease with it: the
// test compares the row with the DWARF of programs for amd64 and arm64. What has changed gets a case. Then TestGoroutinesOfAnyProgramAreAsGoItselfSays tells what
// DWARF does not.
var layouts = makeLayouts()

func makeLayouts() map[int]layout {
	l := layout{
		gStackLo: 0, gStackHi: 8,
		gM:  48,
		gSP: 56, gPC: 64, gSelf: 72, gBP: 104,
		gSyscallSP: 112, gSyscallPC: 120,
		gStatus: 144, gID: 152, gSince: 168, gReason: 176, gSeq: 189,
		gLockedM: 232, gMadeAt: 296, gStart: 312, gLabels: 360,
		mProcID: 72, mCurG: 192,
		text: 176, etext: 184, gofunc: 304, pctab: 80, ftab: 128, data: 208, bss: 224,
		wrapper: 21, labelMap: true,
		sudogElem: 24, sudogSelect: 52, sudogLink: 64, sudogC: 80, magic: 0xfffffff0, functionSize: 40,
		pollFD: 8, pollG: 24,
		inlineSize: 20, inlineID: 2, inlineName: 12, inlineParent: 16,
	}
	all := map[int]layout{}
	for minor := 19; minor <= 26; minor++ {
		switch minor {
		case 20:
			l.gofunc, l.functionSize, l.magic = 320, 44, 0xfffffff1
			l.inlineSize, l.inlineID, l.inlineName, l.inlineParent = 16, 0, 4, 8
		case 21:
			l.pollG = 32
			l.gSeq, l.gLockedM, l.gParent, l.gMadeAt, l.gStart, l.gLabels = 188, 208, 272, 280, 296, 344
		case 22:
			l.gSeq, l.wrapper = 191, 22
		case 23:
			l.gSyscBP = 128
			l.shift(8)
		case 24:
			l.labelMap = false
		case 25:
			l.shift(-8)
			l.wrapper = 23
			l.gBP, l.gSyscallSP, l.gSyscallPC, l.gSyscBP = 96, 104, 112, 120
			l.mProcID, l.mCurG, l.mVdsoSP = 64, 184, 896
		case 26:
			l.gParent, l.gMadeAt, l.gStart, l.gLabels = 280, 288, 304, 352
			l.sudogSelect, l.sudogLink, l.sudogC, l.semaDogs = 60, 72, 88, true
		}
		l.gSize = (l.gSeq + 8) &^ 7
		l.gWaiting = l.gStart + 16
		l.gTracking, l.gStamp = l.gSeq-1, (l.gSeq+8)&^7
		l.gWhole = l.gLabels + 8
		all[minor] = l
	}
	return all
}

// shift moves what lies behind the place where a field was added.
func (l *layout) shift(by int) {
	for _, at := range []*int{&l.gStatus, &l.gID, &l.gSince, &l.gReason, &l.gSeq, &l.gLockedM, &l.gParent, &l.gMadeAt, &l.gStart, &l.gLabels} {
		*at += by
	}
}

// The statuses of a goroutine that matter here.
const (
	statusRunnable  = 1
	statusRunning   = 2
	statusSyscall   = 3
	statusWaiting   = 4
	statusDead      = 6
	statusCopying   = 8 // its stack is being moved
	statusPreempted = 9
	statusLeaked    = 10     // it waits, and the collector has found that nobody can wake it
	statusScan      = 0x1000 // set while the garbage collector looks at the stack
)

// layoutOf returns the layout for a program that the version of Go has built, as the recorder writes it: "go1.26.8".
func layoutOf(version string) (layout, bool) {
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return layout{}, false
	}
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(rest)
	}
	minor, err := strconv.Atoi(rest[:end])
	if err != nil {
		return layout{}, false
	}
	l, ok := layouts[minor]
	return l, ok
}

// knownReleases names the releases in layouts.
const knownReleases = "Go 1.19 to 1.26"
