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
}

// layouts has a row for each minor release that is known. A new one: print the offsets from the DWARF of a program that it has built, for amd64 and
// arm64, and compare; add a row if they are the same, or one of its own. TestLayoutsAreThoseOfTheRelease compares with the release the tests run on.
var layouts = map[int]layout{
	25: layout125,
	26: layout125,
}

var layout125 = layout{
	gSize:    192,
	gStackLo: 0, gStackHi: 8,
	gM:  48,
	gSP: 56, gPC: 64, gSelf: 72, gBP: 96,
	gSyscallSP: 104, gSyscallPC: 112, gSyscBP: 120,
	gStatus: 144, gSeq: 191,
	mProcID: 64, mCurG: 184, mVdsoSP: 896,
	text: 176, etext: 184, gofunc: 320, pctab: 80, ftab: 128,
}

// The statuses of a goroutine that matter here.
const (
	statusRunnable = 1
	statusRunning  = 2
	statusSyscall  = 3
	statusWaiting  = 4
	statusScan     = 0x1000 // set while the garbage collector looks at the stack
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
const knownReleases = "Go 1.25 and 1.26"
