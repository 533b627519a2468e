package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A Registry knows the bodies of durable threads by name. A thread goes on only where a registry has its body: bytes never bring code. Its methods may be called
// from any goroutine.
type Registry struct {
	mu struct {
		sync.RWMutex
		bodies map[string]*body
	}
}

// A body is a function with its types taken away.
type body struct {
	name  string
	run   func(t *Thread, args json.RawMessage) (result json.RawMessage, err error)
	takes func(args json.RawMessage) error
}

// Errors of registries.
var (
	ErrUnknownBody = errors.New("no such body is registered")
	ErrRegistered  = errors.New("a body of this name is registered already")
)

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	r := &Registry{}
	r.mu.bodies = map[string]*body{}
	return r
}

// Register adds a body. A and R are encoded as JSON. An error matches [ErrRegistered], or says that the name is none.
func Register[A, R any](r *Registry, name string, f func(t *Thread, args A) (R, error)) error {
	if name == "" || len(name) > journal.MaxName || f == nil {
		return fmt.Errorf("durable: register %q: want a name of at most %d bytes, and a function", name, journal.MaxName)
	}
	decode := func(args json.RawMessage) (a A, err error) {
		if err = json.Unmarshal(args, &a); err != nil {
			err = fmt.Errorf("durable: %s: arguments: %w", name, err)
		}
		return a, err
	}
	b := &body{name: name, run: func(t *Thread, args json.RawMessage) (json.RawMessage, error) {
		a, err := decode(args)
		if err != nil { // the body takes another type than when the thread was started
			return nil, t.divergence("arguments "+short(args), err.Error())
		}
		result, err := f(t, a)
		if err != nil {
			return nil, err
		}
		return encode(result)
	}, takes: func(args json.RawMessage) error {
		_, err := decode(args)
		return err
	}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.bodies[name] != nil {
		return fmt.Errorf("durable: register %q: %w", name, ErrRegistered)
	}
	r.mu.bodies[name] = b
	return nil
}

// Bodies returns the names of all bodies, sorted.
func (r *Registry) Bodies() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.mu.bodies))
}

func (r *Registry) body(name string) (*body, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if b := r.mu.bodies[name]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("durable: %q: %w", name, ErrUnknownBody)
}

func encode(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("durable: encode %T: %w", v, err)
	}
	return b, nil
}
