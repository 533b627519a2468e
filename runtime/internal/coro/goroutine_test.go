package coro

import (
	"sync"
	"testing"
)

// If this fails on a new Go release, update github.com/petermattis/goid, which knows where runtime.g has the number. Until then Goroutine is slow, and right.
func TestGoroutineIsTheNumberThatGoPrints(t *testing.T) {
	if !readsNumber {
		t.Error("package goid does not find the number of a goroutine")
	}
	var w sync.WaitGroup
	for range 100 {
		w.Go(func() {
			if got, want := Goroutine(), printedNumber(); got != want || got == 0 {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
	w.Wait()
}

func TestNoGoroutineHasTheNumberOfOneThatHasEnded(t *testing.T) {
	seen := map[uintptr]bool{}
	addresses := map[uintptr]bool{}
	for range 10_000 {
		done := make(chan [2]uintptr)
		go func() { done <- [2]uintptr{Goroutine(), getg()} }()
		got := <-done
		if seen[got[0]] {
			t.Fatalf("two goroutines have the number %d", got[0])
		}
		seen[got[0]] = true
		addresses[got[1]] = true
	}
	if gIsAddress && len(addresses) == len(seen) {
		t.Error("no address of a g was used again, so the test shows nothing")
	}
}
