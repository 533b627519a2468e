package vthread

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
)

// ErrNoLocals is the error of [Local.Set] where the caller has no locals: on a plain goroutine, and on a thread that was built with [NoLocals].
// Test for it with errors.Is.
var ErrNoLocals = errors.New("caller has no locals")

var (
	errForbidden  = fmt.Errorf("vthread: set local: %w: its thread was built so", ErrNoLocals)
	errNoneToHave = fmt.Errorf("vthread: set local: %w: it is a plain goroutine", ErrNoLocals)
)

// A LocalsMode tells what a thread has to do with [Local]s.
type LocalsMode uint8

// The modes of locals.
const (
	InheritLocals LocalsMode = iota // it has its own, and its maker's inheritable ones
	OwnLocals                       // it has its own, and inherits none
	NoLocals                        // it has none: [Local.Set] fails
)

// A Local is a variable of which each thread has a copy of its own. [NewLocal] and [NewInheritableLocal] make one; it is meant to
// be a package's variable, since a thread keeps its value until it has ended, even if the Local is gone.
//
// All its methods act for the calling thread, so no two callers ever meet: they take no locks, and do not block. A thread that never
// sets a local pays nothing for them. In a continuation they are those of the thread that executes it. A value
// is dropped when its thread has ended, after the thread's deferred functions and its panic handler.
type Local[T any] struct {
	key   localKey
	first func() T
}

// A localKey stands for a Local where the type of its values is not known.
type localKey struct {
	hash      uint32
	inherited bool
}

var lastLocal atomic.Uint32

// NewLocal returns a local that threads do not inherit.
func NewLocal[T any]() *Local[T] { return &Local[T]{key: localKey{hash: lastLocal.Add(1)}} }

// NewInheritableLocal returns a local whose value in a new thread is the one that it has, when the thread is made, in the thread
// that makes it. Neither sees what the other sets afterwards; but what a value points to, they share.
func NewInheritableLocal[T any]() *Local[T] {
	return &Local[T]{key: localKey{hash: lastLocal.Add(1), inherited: true}}
}

// WithInitial makes f return the first value of each thread, and returns l. It must be called before l is used. f
// is called on the thread, by the first Get for which there is no value, and may use other locals. Without it the first value is T's zero.
func (l *Local[T]) WithInitial(f func() T) *Local[T] {
	l.first = f
	return l
}

// Get returns the calling thread's value, which is its first if it was not set or inherited. Where the caller has no locals, it
// returns a first value that nobody keeps.
func (l *Local[T]) Get() T {
	t := Current()
	if t != nil {
		if v, ok := t.local(&l.key).(*T); ok {
			return *v
		}
	}
	var v T
	if l.first != nil {
		v = l.first()
		if t != nil && !t.env.Load().forbids() {
			t.setLocal(&l.key, new(v))
		}
	}
	return v
}

// Lookup returns the calling thread's value, and whether there is one: set, inherited, or made by Get.
func (l *Local[T]) Lookup() (v T, ok bool) {
	if t := Current(); t != nil {
		if v, ok := t.local(&l.key).(*T); ok {
			return *v, true
		}
	}
	return v, false
}

// Set sets the calling thread's value. It returns an error, which is [ErrNoLocals], where the caller has no locals.
func (l *Local[T]) Set(v T) error {
	t := Current()
	switch {
	case t == nil:
		return errNoneToHave
	case t.env.Load().forbids():
		return errForbidden
	}
	if r := flight.Default(); r.On(flight.EventLocalSet) {
		sched.EmitMore(flight.EventLocalSet, uint32(r.Intern(reflect.TypeFor[T]().String())), t.ID(), 0)
	}
	if !l.key.inherited { // else others may have the same pointer
		if old, ok := t.local(&l.key).(*T); ok {
			*old = v
			return nil
		}
	}
	t.setLocal(&l.key, new(v))
	return nil
}

// Remove makes the calling thread have no value, not even an inherited one, so that the next Get starts anew. It does nothing
// where the caller has no locals.
func (l *Local[T]) Remove() {
	if t := Current(); t != nil && t.local(&l.key) != nil {
		t.setLocal(&l.key, nil)
	}
}

// local returns the pointer to t's value, or nil.
func (t *Thread) local(k *localKey) any {
	if r := t.rare.Load(); r != nil {
		if b := r.locals.find(k); b != nil && b.of != nil {
			return b.pointer
		}
	}
	if k.inherited {
		if e := t.env.Load(); e != nil {
			if b := e.locals.find(k); b != nil {
				return b.pointer
			}
		}
	}
	return nil
}

func (t *Thread) setLocal(k *localKey, pointer any) {
	r := t.uncommon()
	r.locals.put(k, pointer)
	if k.inherited {
		r.children.Store(nil)
	}
}

// dropLocals forgets the values of a thread that has ended.
func (t *Thread) dropLocals() {
	if e := t.env.Load(); e != nil && e.locals != nil {
		t.env.Store(e.bare())
	}
	if r := t.rare.Load(); r != nil {
		r.locals = nil
		if e := r.children.Load(); e != nil && e.locals != nil {
			r.children.Store(nil)
		}
	}
}

// bindings are the locals that have a value: a hash table with linear probing.
//
//	L1  Its length is zero, or a power of two; then a slot is free, so that every search ends.
//	L2  A slot that has a key keeps it. One without a pointer says that the local was removed; it hides an inherited value.
//	L3  Those of a thread are used by the thread alone. Those of an environment are never changed.
type bindings []binding

type binding struct {
	of      *localKey
	pointer any // a *T, or nil
}

// find returns the slot of k, or else the free slot where it belongs; nil if the table is empty.
func (b bindings) find(k *localKey) *binding {
	if len(b) == 0 {
		return nil
	}
	for i := int(k.hash); ; i++ {
		if s := &b[i&(len(b)-1)]; s.of == k || s.of == nil {
			return s
		}
	}
}

func (b *bindings) put(k *localKey, pointer any) {
	s := b.find(k)
	if s == nil || s.of == nil {
		b.grow()
		s = b.find(k)
	}
	*s = binding{k, pointer}
}

// grow makes room for one more.
func (b *bindings) grow() {
	used := 1
	for i := range *b {
		if (*b)[i].of != nil {
			used++
		}
	}
	if 4*used <= 3*len(*b) {
		return
	}
	old := *b
	*b = make(bindings, max(2, 2*len(old)))
	for _, s := range old {
		if s.of != nil {
			*b.find(s.of) = s
		}
	}
}

// passesOn reports whether a thread with these locals passes on others than it has inherited.
func (b bindings) passesOn() bool {
	for i := range b {
		if k := b[i].of; k != nil && k.inherited {
			return true
		}
	}
	return false
}

// passedOn returns what a thread with the locals own passes on that has inherited b; nil for none.
func (b bindings) passedOn(own bindings) (all bindings) {
	if !own.passesOn() {
		return b
	}
	for _, s := range b {
		if s.of != nil && own.find(s.of).of == nil {
			all.put(s.of, s.pointer)
		}
	}
	for _, s := range own {
		if s.of != nil && s.of.inherited && s.pointer != nil {
			all.put(s.of, s.pointer)
		}
	}
	return all
}
