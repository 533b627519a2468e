package vsync

// OnceFunc returns a function that calls f once, however often it is called: as sync.OnceFunc, but that a thread which waits for another's
// call parks. If f panics, so does each call, with the same value.
func OnceFunc(f func()) func() {
	once := OnceValue(func() struct{} { f(); return struct{}{} })
	return func() { once() }
}

// OnceValue is [OnceFunc] for a function with a result, which each call returns.
func OnceValue[T any](f func() T) func() T {
	once := OnceValues(func() (T, struct{}) { return f(), struct{}{} })
	return func() T {
		v, _ := once()
		return v
	}
}

// OnceValues is [OnceFunc] for a function with two results.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	c := &called[T1, T2]{f: f, panics: true}
	return c.call
}

// A called is a function that was called once, or is to be.
type called[T1, T2 any] struct {
	once   Once
	f      func() (T1, T2)
	v1     T1
	v2     T2
	panics bool // it has not returned
	with   any  // the value of the panic
}

func (c *called[T1, T2]) call() (T1, T2) {
	c.once.Do(func() {
		defer func() {
			if c.f = nil; c.panics {
				c.with = recover()
				panic(c.with) // with the stack of f
			}
		}()
		c.v1, c.v2 = c.f()
		c.panics = false
	})
	if c.panics {
		panic(c.with)
	}
	return c.v1, c.v2
}
