package coro

import (
	"runtime"
	"unsafe"
)

// A LockState tells to which OS thread a goroutine is locked, and how often: the address of the runtime's m plus the number
// of locks, 0 when it is not locked, or when that cannot be read (see [CanProbe]).
type LockState uintptr

// lockedM is the offset in runtime.g of the word that holds the m a goroutine is locked to, or 0 if
// it was not found; currentM that of the m that executes it.
//
// It is found at start-up, on a goroutine of our own (package init runs locked to the main OS thread, and
// would see no change): runtime.LockOSThread makes exactly that word equal to the word that holds the
// goroutine's current m. A Go release that moves the field changes nothing; one that keeps the lock elsewhere
// makes the search fail, and then [Locked] always says no: a thread that locks its OS thread and
// parks ends the process with "coro: OS thread locking must match". TestLockProbe fails on such
// a release, and tells so.
var lockedM, currentM = findLockedM()

// gWords is how many words of a g are searched. A g of Go 1.23 to 1.26 has 55 to 60.
const gWords = 50

func findLockedM() (locked, current uintptr) {
	if !gIsAddress {
		return 0, 0
	}
	found := make(chan [2]uintptr)
	go func() {
		for range 100 {
			// A goroutine that was moved to another m between the two looks says nothing.
			if off, current := probe(); off != 0 {
				found <- [2]uintptr{off, current}
				return
			}
		}
		found <- [2]uintptr{}
	}()
	at := <-found
	return at[0], at[1]
}

func probe() (offset, current uintptr) {
	g := getg()
	var before, after [gWords]uintptr
	look(g, before[:])
	runtime.LockOSThread()
	look(g, after[:])
	runtime.UnlockOSThread()
	for i := range after {
		if before[i] != 0 || after[i] == 0 {
			continue
		}
		for j := range before {
			if j != i && before[j] == after[i] && after[j] == after[i] {
				if offset != 0 {
					return 0, 0 // two candidates: trust neither
				}
				offset, current = uintptr(i)*unsafe.Sizeof(g), uintptr(j)*unsafe.Sizeof(g)
				break
			}
		}
	}
	return offset, current
}

func look(g uintptr, words []uintptr) {
	for i := range words {
		words[i] = *gWord(g, uintptr(i)*unsafe.Sizeof(g))
	}
}

// gWord returns the address of a word of a g, or of an m.
func gWord(g, offset uintptr) *uintptr {
	addr := g + offset
	return *(**uintptr)(unsafe.Pointer(&addr)) // a g is not what checkptr expects of a conversion
}

// lockCount is the offset in runtime.m of the 32 bits that count the calls of runtime.LockOSThread, or 0 if it was not
// found; then a goroutine that is locked twice looks like one that is locked once. It is found as lockedM is: it goes 1, 2, 3
// when the probe locks three times, and back.
var lockCount = findLockCount()

// mWords is how many words of an m are searched. An m of Go 1.26 has more, and the count is in word 81.
const mWords = 160

func findLockCount() (offset uintptr) {
	if lockedM == 0 {
		return 0
	}
	found := make(chan uintptr)
	go func() { found <- probeCount() }()
	return <-found
}

func probeCount() (offset uintptr) {
	const locks = 3
	var words [2*locks - 1][mWords]uintptr // after each of the locks, then after each unlock but the last
	for i := range words {
		if i < locks {
			runtime.LockOSThread()
		} else {
			runtime.UnlockOSThread()
		}
		look(*gWord(getg(), lockedM), words[i][:])
	}
	runtime.UnlockOSThread()
	const halves = unsafe.Sizeof(uintptr(0)) / 4
	for at := range mWords * halves {
		is := true
		for i := range words {
			want := uint32(min(i+1, 2*locks-1-i))
			is = is && (*[mWords * halves]uint32)(unsafe.Pointer(&words[i]))[at] == want
		}
		if !is {
			continue
		}
		if offset != 0 {
			return 0 // two candidates: trust neither
		}
		offset = at * 4
	}
	return offset
}

// CurrentLock returns the lock state of the calling goroutine: 0 if it is not locked.
func CurrentLock() LockState {
	if lockedM == 0 {
		return 0
	}
	m := *gWord(getg(), lockedM)
	if m == 0 || lockCount == 0 {
		return LockState(m)
	}
	return LockState(m + uintptr(*(*uint32)(unsafe.Pointer(gWord(m, lockCount)))))
}

// Locked reports whether the calling goroutine is locked to an OS thread. It always says no where
// [CanProbe] does.
func Locked() bool { return CurrentLock() != 0 }

// Refit undoes the calls of runtime.LockOSThread that the caller's task has left behind, so that the caller, who
// fitted into the slot when the task began, fits again. The OS thread lives on, unlike that of a goroutine which ends locked.
func (s *Slot) Refit() {
	for Locked() && !(Binds && s.Fits()) {
		runtime.UnlockOSThread()
	}
}

// CanProbe reports whether this Go release lets us see OS thread locks.
func CanProbe() bool { return lockedM != 0 }
