package coro

import (
	"runtime"
	"unsafe"
)

// A lockState tells to which OS thread a goroutine is locked: the address of the runtime's m, 0 when
// it is not locked, or when that cannot be read (see [CanProbe]).
type lockState uintptr

// lockedM is the offset in runtime.g of the word that holds the m a goroutine is locked to, or 0 if
// it was not found.
//
// It is found at start-up, on a goroutine of our own (package init runs locked to the main OS thread, and
// would see no change): runtime.LockOSThread makes exactly that word equal to the word that holds the
// goroutine's current m. A Go release that moves the field changes nothing; one that keeps the lock elsewhere
// makes the search fail, and then [Locked] always says no: a thread that locks its OS thread and
// parks ends the process with "coro: OS thread locking must match". TestLockProbe fails on such
// a release, and tells so.
var lockedM = findLockedM()

// gWords is how many words of a g are searched. A g of Go 1.23 to 1.26 has 55 to 60.
const gWords = 50

func findLockedM() (offset uintptr) {
	if !gIsAddress {
		return 0
	}
	found := make(chan uintptr)
	go func() {
		for range 100 {
			// A goroutine that was moved to another m between the two looks says nothing.
			if off := probe(); off != 0 {
				found <- off
				return
			}
		}
		found <- 0
	}()
	return <-found
}

func probe() (offset uintptr) {
	g := getg()
	var before, after [gWords]uintptr
	look(g, &before)
	runtime.LockOSThread()
	look(g, &after)
	runtime.UnlockOSThread()
	for i := range after {
		if before[i] != 0 || after[i] == 0 {
			continue
		}
		for j := range before {
			if j != i && before[j] == after[i] && after[j] == after[i] {
				if offset != 0 {
					return 0 // two candidates: trust neither
				}
				offset = uintptr(i) * unsafe.Sizeof(g)
				break
			}
		}
	}
	return offset
}

func look(g uintptr, words *[gWords]uintptr) {
	for i := range words {
		words[i] = *gWord(g, uintptr(i)*unsafe.Sizeof(g))
	}
}

// gWord returns the address of a word of a g.
func gWord(g, offset uintptr) *uintptr {
	addr := g + offset
	return *(**uintptr)(unsafe.Pointer(&addr)) // a g is not what checkptr expects of a conversion
}

func currentLock() lockState {
	if lockedM == 0 {
		return 0
	}
	return lockState(*gWord(getg(), lockedM))
}

// Locked reports whether the calling goroutine is locked to an OS thread. It always says no where
// [CanProbe] does.
func Locked() bool { return currentLock() != 0 }

// Refit undoes the calls of runtime.LockOSThread that the caller's task has left behind, so that the caller, who
// fitted into the slot when the task began, fits again. The OS thread lives on, unlike that of a goroutine which ends locked.
func (s *Slot) Refit() {
	for Locked() && !(Binds && s.Fits()) {
		runtime.UnlockOSThread()
	}
}

// CanProbe reports whether this Go release lets us see OS thread locks.
func CanProbe() bool { return lockedM != 0 }
