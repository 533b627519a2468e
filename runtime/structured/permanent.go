package structured

import (
	"context"
	"sync"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
	"github.com/vtscope/vtscope/runtime/vthread"
)

var permanents struct {
	sync.Mutex
	byName map[string]*vthread.Scope
}

// Permanent returns the scope of a name that nobody owns and nobody closes, and makes it the first time. It is for threads that
// goroutines become ([vthread.Builder.Run]) and that belong together though nobody waits for them, as the requests of one address do:
//
//	b := vthread.Builder{Name: "GET /cart", Scope: structured.Permanent("GET /cart")}
//	b.Run(serve)
//
// Its parent is the root scope. Whatever is opened stays open, so there must be few names.
func Permanent(name string) *vthread.Scope {
	p := &permanents
	p.Lock()
	defer p.Unlock()
	if s := p.byName[name]; s != nil {
		return s
	}
	f := new(flock.Flock)
	f.Open(flock.Options{Name: name})
	f.Scope.Owner = f
	f.Scope.Ended = func(*vthread.Thread, flight.Reason) {} // nobody waits
	if p.byName == nil {
		p.byName = map[string]*vthread.Scope{}
	}
	p.byName[name] = &f.Scope
	return &f.Scope
}

// Alone reports whether a scope that the caller opens with ctx would be in the root scope, and nobody would be told of it: the caller is in no
// scope, nor is ctx, and there is no function of [OnOpen].
func Alone(ctx context.Context) bool {
	return flock.OnOpen.Load() == nil && self().around() == nil && flock.Of(ctx) == nil
}
