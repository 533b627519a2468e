package continuation

// A Coroutine is a continuation that takes a value whenever it goes on, and gives one whenever it is suspended. [NewCoroutine] makes one.
type Coroutine[In, Out any] struct {
	c   *Continuation
	in  In
	out Out
}

// NewCoroutine makes a coroutine. body is called with the value of the first [Coroutine.Resume]. yield, from any depth of calls, suspends it: it
// gives out to whoever has resumed it, and returns the value of the next Resume. Where yield can be called, and what it
// panics with, is as for [Generate].
func NewCoroutine[In, Out any](body func(in In, yield func(out Out) In) Out) *Coroutine[In, Out] {
	if body == nil {
		panic("continuation: nil body")
	}
	p := NewPrompt("coroutine")
	co := &Coroutine[In, Out]{}
	yield := func(out Out) In {
		co.out = out
		suspend(p)
		return co.in
	}
	co.c = New(p, func() { co.out = body(co.in, yield) })
	return co
}

// Resume executes the body until it yields, and returns the value and true, or until it returns: then that value, and
// false. It panics as [Continuation.Run] does, also when the body has ended before.
func (co *Coroutine[In, Out]) Resume(in In) (out Out, more bool) {
	co.in = in
	done := co.c.Run()
	return co.out, !done
}

// Close ends the coroutine if it has not ended: see [Continuation.Close].
func (co *Coroutine[In, Out]) Close() { co.c.Close() }
