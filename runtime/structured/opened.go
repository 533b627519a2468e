package structured

import (
	"context"

	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/structured/internal/flock"
)

// OnOpen makes f be called with each scope that is opened from now on, also by package errgroup, and with the context it is opened with. The caller that opens the
// scope makes the call, before Open returns: f must not block. There is one such function; nil takes it away. It is how a program can tell observers what its contexts
// carry, such as the span of a trace (package tracing/otel/propagate); scopes do not depend on it.
func OnOpen(f func(ctx context.Context, id flight.ScopeID)) {
	if f == nil {
		flock.OnOpen.Store(nil)
		return
	}
	flock.OnOpen.Store(&f)
}
