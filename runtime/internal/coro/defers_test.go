package coro

import (
	"runtime"
	"testing"
	"unsafe"
)

// If this fails on a new Go release: look where runtime._func keeps deferreturn, in runtime2.go. Until then continuation.Invoke always takes
// the slow way.
func TestDefersAreTold(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to look at a stack on %s", runtime.GOARCH)
	}
	if !tellsDefers() {
		t.Fatal("they are not")
	}
}

func TestUndeferredLooksAtAllFunctionsUpToTheOuterOne(t *testing.T) {
	if !gIsAddress {
		t.Skipf("no way to look at a stack on %s", runtime.GOARCH)
	}
	ask := func(between func(f func())) (is bool) {
		outer := func(f func()) {
			defer func() {}()
			between(f)
		}
		entry := **(**uintptr)(unsafe.Pointer(&outer))
		outer(func() {
			defer func() {}() // the caller's own
			is = Undeferred(entry)
		})
		return is
	}
	for name, c := range map[string]struct {
		between func(f func())
		want    bool
	}{
		"nothing":      {func(f func()) { nestOne(f) }, true},
		"a defer":      {func(f func()) { nestOne(func() { deferAround(f) }) }, false},
		"a loop":       {func(f func()) { nestOne(func() { deferInRange(f) }) }, false},
		"a deferred":   {func(f func()) { nestOne(func() { deferItself(f) }) }, false},
		"the first":    {deferAround, false},
		"many":         {func(f func()) { deepNest(100, f) }, false}, // more than it wants to look at
		"some":         {func(f func()) { deepNest(30, f) }, true},
		"a goroutine":  {func(f func()) { done := make(chan struct{}); go func() { f(); close(done) }(); <-done }, false},
		"nothing more": {func(f func()) { f() }, true},
	} {
		for range 3 { // what was learnt about addresses stays right
			if got := ask(c.between); got != c.want {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
}

//go:noinline
func deferAround(f func()) {
	defer nestNothing()
	f()
}

//go:noinline
func deferInRange(f func()) {
	each := func(yield func(int) bool) { yield(1) }
	for range each {
		defer nestNothing() // belongs to the function, not to the loop's body
		nestOne(f)
	}
}

//go:noinline
func deferItself(f func()) { defer f() }

func BenchmarkUndeferred(b *testing.B) {
	outer := func(f func()) { nestOne(f) }
	outer(func() {
		for b.Loop() {
			Undeferred(**(**uintptr)(unsafe.Pointer(&outer)))
		}
	})
}
