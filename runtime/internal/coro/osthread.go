package coro

import (
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// OSThread returns the id of the OS thread that executes a goroutine, given its g ([G]), or 0 if none does or that cannot be seen. Anybody may call it; the
// answer may be old at once.
func OSThread(g uintptr) (tid int) {
	at := procID()
	if at == 0 || g == 0 {
		return 0
	}
	// The memory of an m that has ended may belong to something else, but is not unmapped.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			tid = 0
		}
	}()
	m := peek(g + currentM)
	if m == 0 {
		return 0
	}
	return int(uint32(peek(m + at)))
}

// procID returns the offset in runtime.m of the word that holds the id of its OS thread, or 0 if it was not found. It is found as lockedM is: on several OS
// threads at once exactly that word is what the kernel calls them.
var procID = sync.OnceValue(func() (offset uintptr) {
	if currentM == 0 {
		return 0
	}
	const threads, words = 3, 40
	var is [words]bool
	for i := range is {
		is[i] = true
	}
	var seen [threads][words]uintptr
	var ids [threads]int
	var here, all sync.WaitGroup
	here.Add(threads)
	for i := range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ids[i] = ownThread()
			look(*gWord(getg(), currentM), seen[i][:])
			here.Done()
			here.Wait() // each has an OS thread of its own until all have looked
		})
	}
	all.Wait()
	for i := range threads {
		for at, word := range seen[i] {
			is[at] = is[at] && ids[i] > 0 && word == uintptr(ids[i])
		}
	}
	for at, found := range is {
		if !found {
			continue
		}
		if offset != 0 {
			return 0 // two candidates: trust neither
		}
		offset = uintptr(at) * unsafe.Sizeof(offset)
	}
	return offset
})
