package coro

import (
	"iter"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

// What a Go release does to us that has moved what a lookout reads, and every architecture on which goroutines cannot be looked at.
func TestALookoutWithoutALayoutKnowsNothing(t *testing.T) {
	blind := new(Lookout)
	if blind.Sees() {
		t.Error("it says that it sees")
	}
	var suspended uintptr
	next, stop := iter.Pull(func(yield func(struct{}) bool) { suspendToBeSeen(&suspended, yield) })
	defer stop()
	next()
	var pcs [8]uintptr
	for who, g := range map[string]uintptr{"the caller": getg(), "a suspended one": suspended, "nobody": 0} {
		if n, what := blind.Look(g, pcs[:]); n != 0 || what != DoingUnknown {
			t.Errorf("of %s: %d frames, %d, want none and DoingUnknown", who, n, what)
		}
	}
	defer func(f func() *Lookout) { SharedLookout = f }(SharedLookout)
	SharedLookout = func() *Lookout { return blind }
	if g := Visible(); g != 0 {
		t.Errorf("the caller is visible: %#x", g)
	}
	if n, exact := Frames(suspended, pcs[:]); n != 0 || exact {
		t.Errorf("%d frames, exact %v, want none", n, exact)
	}
}

// found returns the g of a coroutine that is suspended until the test ends, and where a search finds what in it.
func found(t *testing.T) (suspended uintptr, at layout) {
	t.Helper()
	mustSee(t)
	percent := debug.SetGCPercent(-1) // a collection would shrink the stack meanwhile
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	g := new(uintptr)
	next, stop := iter.Pull(func(yield func(struct{}) bool) { suspendToBeSeen(g, yield) })
	t.Cleanup(stop)
	next()
	at, _, ok := search(*g)
	if !ok {
		t.Fatal("found nothing")
	}
	return *g, at
}

// A layout is trusted only if there is one of everything: here the g of a suspended coroutine, copied, and the copy changed.
func TestALayoutThatIsNotTheOnlyOneIsNotTrusted(t *testing.T) {
	suspended, at := found(t)
	const word = unsafe.Sizeof(suspended)
	none := func(g *[gWords]uintptr) uintptr { // the first word that means nothing to a search
		for i := uintptr(4); i < gWords; i++ {
			if off := i * word; g[i] == 0 && off != at.status/word*word {
				return off
			}
		}
		t.Fatal("no word is 0")
		return 0
	}
	cases := map[string]func(g *[gWords]uintptr){
		"no frame pointer":              func(g *[gWords]uintptr) { g[at.bp/word] = 0 },
		"two frame pointers":            func(g *[gWords]uintptr) { g[none(g)/word] = g[at.bp/word] },
		"frames of another function":    func(g *[gWords]uintptr) { g[at.bp/word] = peek(peek(g[at.bp/word])) },
		"no first function":             func(g *[gWords]uintptr) { g[at.start/word] = 0 },
		"two first functions":           func(g *[gWords]uintptr) { g[none(g)/word] = g[at.start/word] },
		"another number for waiting":    func(g *[gWords]uintptr) { *(*uint32)(unsafe.Add(unsafe.Pointer(g), at.status)) = goWaiting + 1 },
		"a stack whose bounds are gone": func(g *[gWords]uintptr) { g[0], g[1] = 0, 0 },
		"nothing":                       func(g *[gWords]uintptr) { *g = [gWords]uintptr{} },
	}
	for what, change := range cases {
		g := new([gWords]uintptr)
		look(suspended, g[:])
		if again, _, ok := search(uintptr(unsafe.Pointer(g))); !ok || again != at {
			t.Fatalf("%s: of the copy: %+v, %v, want %+v", what, again, ok, at)
		}
		change(g)
		if got, _, ok := search(uintptr(unsafe.Pointer(g))); ok {
			t.Errorf("%s: found %+v, want nothing", what, got)
		}
		runtime.KeepAlive(g)
	}
}

// A goroutine may have the stack of one that has ended. What that has left where a guard points may lead to frames, too.
func TestTheGuardsOfAStackAreNoFramePointers(t *testing.T) {
	suspended, at := found(t)
	g := new([gWords]uintptr)
	look(suspended, g[:])
	for guard := 2; guard <= 3; guard++ {
		g[guard] = g[at.bp/unsafe.Sizeof(suspended)]
	}
	if again, _, ok := search(uintptr(unsafe.Pointer(g))); !ok || again != at {
		t.Errorf("got %+v, %v, want %+v", again, ok, at)
	}
	runtime.KeepAlive(g)
}

// BenchmarkLook is what the watchdog pays for a carrier that stands still, and the process once.
func BenchmarkLook(b *testing.B) {
	l := NewLookout()
	if !l.Sees() {
		b.Skip("no way to look at a goroutine here")
	}
	var suspended uintptr
	next, stop := iter.Pull(func(yield func(struct{}) bool) { suspendToBeSeen(&suspended, yield) })
	defer stop()
	next()
	own := getg()
	var pcs [64]uintptr
	for name, look := range map[string]func(){
		"goroutine=waiting": func() { l.Look(suspended, pcs[:]) },
		"goroutine=running": func() { l.Look(own, pcs[:]) },
		"first-use":         func() { NewLookout() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				look()
			}
		})
	}
}
