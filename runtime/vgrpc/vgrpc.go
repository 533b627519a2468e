package vgrpc

import (
	"context"
	"log"
	"sync"
	"sync/atomic"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
	"google.golang.org/grpc"
)

// UnaryServerInterceptor returns an interceptor that executes the handlers of unary calls as threads of kind
// [vthread.Adopted], named by the method ("/shop.Cart/Add"). The thread's scope is that of all calls of the
// method ([structured.Permanent]), or one of the call's own if the interceptor is called in a scope, or
// somebody is told of scopes ([structured.OnOpen]).
//
// The handler's context is the thread's ([vthread.Thread.Context]), derived from that of the call. When that
// ends, the thread is interrupted. Scopes that the handler leaves open are closed, and what their threads
// report is logged. A panic of the handler, and a runtime.Goexit, go on in the server's goroutine.
func UnaryServerInterceptor() grpc.UnaryServerInterceptor {
	var all methods
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
		all.serve(ctx, info.FullMethod, func(ctx context.Context) { response, err = handler(ctx, request) })
		return response, err
	}
}

// StreamServerInterceptor is [UnaryServerInterceptor] for streams. The stream that the handler gets has the
// thread's context.
func StreamServerInterceptor() grpc.StreamServerInterceptor {
	var all methods
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		all.serve(stream.Context(), info.FullMethod, func(ctx context.Context) { err = handler(server, &onThread{stream, ctx}) })
		return err
	}
}

// onThread is a stream with a thread's context.
type onThread struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the thread's.
func (s *onThread) Context() context.Context { return s.ctx }

// methods are those that were called.
type methods struct {
	scopes sync.Map // of names to *vthread.Scope
	count  atomic.Int32
}

// maxMethods is how many methods have a scope. A server that passes on unknown methods has their names from
// its clients: the others have one together.
const maxMethods = 1 << 10

func (m *methods) scope(name string) *vthread.Scope {
	if v, ok := m.scopes.Load(name); ok {
		return v.(*vthread.Scope)
	}
	if m.count.Add(1) > maxMethods {
		m.count.Add(-1)
		return structured.Permanent("grpc")
	}
	v, _ := m.scopes.LoadOrStore(name, structured.Permanent(name))
	return v.(*vthread.Scope)
}

// serve calls f on the calling goroutine, as a thread.
func (m *methods) serve(ctx context.Context, method string, f func(context.Context)) {
	b := vthread.Builder{Name: method, Context: ctx}
	if structured.Alone(ctx) {
		b.Scope = m.scope(method)
	} else {
		defer structured.Open(ctx, method).Close()
	}
	b.Run(func() {
		me := vthread.Current()
		if ctx.Done() != nil {
			defer context.AfterFunc(ctx, func() { _ = me.Interrupt() })()
		}
		defer func() {
			for _, err := range structured.CloseLeft() {
				log.Printf("vgrpc: %s: left behind: %v", method, err)
			}
		}()
		f(me.Context())
	})
}
