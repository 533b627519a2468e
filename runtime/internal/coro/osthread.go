package coro

import (
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// OSThread returns the id of the OS thread that executes the goroutine with that g ([G]). It returns 0 if
// none does, or if the id cannot be read. Any goroutine may call it. The answer may be stale at once.
func OSThread(g uintptr) (tid int) {
	at := procID()
	if at == 0 || g == 0 {
		return 0
	}
	// The memory of an ended m may be reused, but stays mapped.
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

// procID returns the offset in runtime.m of the word that holds the id of its OS thread, or 0 if the
// search failed. The search works like that of lockedM: on several OS threads at once, exactly that word
// equals the id that the kernel reports.
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
			here.Wait() // each keeps its OS thread until all have looked
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
