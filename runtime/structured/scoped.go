package structured

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/vtscope/vtscope/runtime/internal/coro"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A ScopedValue is a variable that is bound to a value for the time of a call: what is called sees the value, however deep, without being handed it, and so
// does what it forks in scopes. It cannot be set, so nobody has to reset it. [NewScopedValue] makes one; it is meant to be a package's variable.
//
//	var user = structured.NewScopedValue[string]()
//
//	err := user.Bind("ann").Run(func() error { return serve() }) // where user.Get() is "ann"
//
// All its methods act for the calling thread or goroutine. They take no locks on a thread, and do not block. Threads and goroutines that are not forked in a
// scope inherit nothing.
type ScopedValue[T any] struct{ key scopedKey }

// A scopedKey stands for a ScopedValue where the type of its values is not known.
type scopedKey struct {
	hash uint32
	of   reflect.Type
}

var lastScoped atomic.Uint32

// NewScopedValue returns a scoped value that is bound nowhere.
func NewScopedValue[T any]() *ScopedValue[T] {
	return &ScopedValue[T]{scopedKey{lastScoped.Add(1), reflect.TypeFor[T]()}}
}

// Get returns the innermost value that is bound. It panics if none is.
func (v *ScopedValue[T]) Get() T {
	return *(*T)(lookup(&v.key, true)) // and nothing else, so that it is inlined
}

// Lookup returns the innermost value that is bound, and whether there is one.
func (v *ScopedValue[T]) Lookup() (value T, bound bool) {
	if p := lookup(&v.key, false); p != nil {
		return *(*T)(p), true
	}
	return value, false
}

// Or returns the innermost value that is bound, or other if none is.
func (v *ScopedValue[T]) Or(other T) T {
	if p := lookup(&v.key, false); p != nil {
		return *(*T)(p)
	}
	return other
}

// In returns the value that b binds, and whether there is one.
func (v *ScopedValue[T]) In(b Bindings) (value T, bound bool) {
	for i := len(b.slots) - 1; i >= 0; i-- {
		if b.slots[i].of == &v.key {
			return *(*T)(b.slots[i].pointer), true
		}
	}
	return value, false
}

// Bind returns the binding of v to a value, for a call to come.
func (v *ScopedValue[T]) Bind(value T) Bindings {
	if v == nil {
		panic("structured: bind a nil scoped value")
	}
	return Bindings{[]valueSlot{{&v.key, unsafe.Pointer(&value)}}}
}

// lookup returns the pointer to the innermost value of k. If there is none it returns nil, or panics if it must.
func lookup(k *scopedKey, must bool) unsafe.Pointer {
	var in *vthread.Scope
	if t := vthread.Current(); t != nil {
		if in = t.Innermost(); in == nil {
			in = t.Scope()
		}
	} else {
		in = goroutines.find(int64(coro.Goroutine()))
	}
	p := valuesOf(in).find(k)
	if p == nil && must {
		panic(fmt.Sprintf("structured: no %s is bound here", k.of))
	}
	return p
}

// Bindings say which values are bound. They are never changed, and may be used for any number of calls, at the same time too. The zero value binds none.
type Bindings struct{ slots []valueSlot }

// And returns b and more. Of two bindings of one scoped value the latter counts.
func (b Bindings) And(more ...Bindings) Bindings {
	all := b.slots[:len(b.slots):len(b.slots)]
	for _, m := range more {
		all = append(all, m.slots...)
	}
	return Bindings{all}
}

// Run calls f with the values of b bound, and returns what f returns. However f ends, they are bound no longer then: what was bound before, is again.
//
// Scopes that f has opened and not closed are closed, and [ErrStructure] is joined to f's error, with what they have to say; a panic of one of their threads
// comes out of Run, if f itself has returned. If f closes a scope that was opened before Run, the values are bound no longer, and Run returns ErrStructure. A
// scope that was opened before does not fork in f ([Scope.Fork]). f must not suspend a continuation that Run was called in.
func (b Bindings) Run(f func() error) (err error) {
	if f == nil {
		panic("structured: nil function")
	}
	c := self()
	around := c.around()
	in := &binding{before: c.innermost(), outer: around, values: valuesOf(around).with(b.slots)}
	in.handle.Owner = in
	if around != nil {
		in.handle.ID, in.handle.Index, in.handle.Context, in.handle.Name = around.ID, around.Index, around.Context, around.Name
	}
	c.setInnermost(&in.handle)
	returned := false
	defer func() {
		if in.gone {
			err = errors.Join(err, fmt.Errorf("structured: end of a call with bound values: %w", ErrStructure))
			return
		}
		p, left := firstPanic(c.leave(&in.handle))
		c.setInnermost(in.before)
		switch {
		case !returned:
		case p != nil:
			panic(p)
		case left != nil:
			err = errors.Join(err, fmt.Errorf("structured: end of a call with bound values: %w", left))
		}
	}()
	err = f()
	returned = true
	return err
}

// Call is [Bindings.Run] for a function with a result.
func Call[R any](b Bindings, f func() (R, error)) (result R, err error) {
	if f == nil {
		panic("structured: nil function")
	}
	err = b.Run(func() (err error) {
		result, err = f()
		return err
	})
	return result, err
}

// A binding is a call with bound values.
type binding struct {
	handle vthread.Scope  // which stands among those that the caller has opened; no thread belongs to it
	before *vthread.Scope // what was innermost
	outer  *vthread.Scope // what is around
	values values
	gone   bool // a scope around was closed
}

// values are all that are bound somewhere: a hash table with linear probing, of a length that is a power of two and at least twice their number. It is never
// changed. The zero value has none.
type values struct {
	slots []valueSlot
	n     int
}

type valueSlot struct {
	of      *scopedKey
	pointer unsafe.Pointer // to the value, of the type of its ScopedValue
}

// valuesOf are those that are bound in s, of which every Get reads a word or two: so s is taken for what it is part of, without another load.
func valuesOf(s *vthread.Scope) *values {
	if s == nil {
		return &noValues
	}
	switch s.Owner.(type) {
	case *binding:
		return &(*binding)(unsafe.Pointer(s)).values
	case *Scope:
		return &(*Scope)(unsafe.Pointer(s)).values
	}
	return &noValues
}

var noValues values

// What valuesOf relies on.
var (
	_ [0]struct{} = [unsafe.Offsetof(binding{}.handle)]struct{}{}
	_ [0]struct{} = [unsafe.Offsetof(Scope{}.flock) + unsafe.Offsetof(flock.Flock{}.Scope)]struct{}{}
)

// same reports whether v and w are of the same call.
func (v *values) same(w *values) bool { return unsafe.SliceData(v.slots) == unsafe.SliceData(w.slots) }

// find returns the pointer to the value of k, or nil.
func (v *values) find(k *scopedKey) unsafe.Pointer {
	if len(v.slots) == 0 {
		return nil
	}
	for i := int(k.hash); ; i++ {
		if s := &v.slots[i&(len(v.slots)-1)]; s.of == k || s.of == nil {
			return s.pointer
		}
	}
}

// with returns v and more, of which the latter counts.
func (v *values) with(more []valueSlot) values {
	if len(more) == 0 {
		return *v
	}
	size := 4
	for size < 2*(v.n+len(more)) {
		size *= 2
	}
	all := values{slots: make([]valueSlot, size)}
	for _, s := range v.slots {
		if s.of != nil {
			all.put(s)
		}
	}
	for _, s := range more {
		all.put(s)
	}
	return all
}

func (v *values) put(s valueSlot) {
	for i := int(s.of.hash); ; i++ {
		old := &v.slots[i&(len(v.slots)-1)]
		if old.of == nil {
			v.n++
		}
		if old.of == nil || old.of == s.of {
			*old = s
			return
		}
	}
}
