package vfile

import "testing"

// Use makes operations be made so for the time of a test, which uses no files of threads before and after. It skips the test where there is no ring but one is asked for.
func Use(t testing.TB, o Options) {
	t.Helper()
	e, err := newEngine(o)
	if err != nil {
		t.Skipf("the kernel gives no ring here: %v", err)
	}
	engines.Lock()
	was := engines.now.Load()
	e.begin()
	engines.Unlock()
	t.Cleanup(func() {
		engines.Lock()
		if was == nil {
			was, _ = newEngine(Options{})
		}
		was.begin()
		engines.Unlock()
		e.close()
	})
}

// Occupy lets a helper do nothing else until free is called.
func Occupy() (free func()) {
	taken, over := make(chan struct{}), make(chan struct{})
	theEngine().helpers.submit(&op{call: func() { close(taken); <-over }}, false)
	<-taken
	return func() { close(over) }
}

// Executed is how many operations the ring and the helpers have executed.
func Executed() (ring, helpers uint64) {
	e := theEngine()
	if e.ring != nil {
		ring = e.ring.executed()
	}
	e.helpers.mu.Lock()
	helpers = e.helpers.mu.figures.Ready
	e.helpers.mu.Unlock()
	return ring, helpers
}

// Most is how many helpers there have been at a time.
func Most() int {
	h := theEngine().helpers
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.running
}
