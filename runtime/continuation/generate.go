package continuation

import "iter"

// Generate returns the sequence of the values that body passes to yield, from any depth of calls. Every range over the sequence
// executes the body afresh, as a continuation on the thread or goroutine that ranges: it may park the thread between two values.
//
// When the loop is left before the body has ended, the body's continuation is closed, as by [Continuation.Close]: yield does not return, and the
// deferred functions run. A yield of theirs does not return either. A panic of the body comes out of the range as a
// [*Panic].
//
// yield panics with a [*PinnedError] while the body is pinned, and with [ErrNoPrompt] anywhere but in the body.
func Generate[T any](body func(yield func(T))) iter.Seq[T] {
	if body == nil {
		panic("continuation: nil body")
	}
	return func(loop func(T) bool) {
		var value T
		generate(func(suspend func()) {
			body(func(v T) {
				value = v
				suspend()
			})
		}, func() bool { return loop(value) })
	}
}

// Generate2 is [Generate] for pairs.
func Generate2[K, V any](body func(yield func(K, V))) iter.Seq2[K, V] {
	if body == nil {
		panic("continuation: nil body")
	}
	return func(loop func(K, V) bool) {
		var key K
		var value V
		generate(func(suspend func()) {
			body(func(k K, v V) {
				key, value = k, v
				suspend()
			})
		}, func() bool { return loop(key, value) })
	}
}

// generate executes body and, whenever it suspends itself, loop, until that returns false.
func generate(body func(suspend func()), loop func() bool) {
	p := NewPrompt("generator") // of its own: the body may range over another generator, and yield to either
	c := New(p, func() {
		body(func() { suspend(p) })
	})
	defer c.Close()
	for !c.Run() {
		if !loop() {
			return
		}
	}
}

// suspend is Suspend for code that cannot go on without.
func suspend(p *Prompt) {
	if c, err := Suspend(p, nil); err != nil {
		if c.closing {
			leave()
		}
		panic(err)
	}
}
