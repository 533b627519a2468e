//go:build unix

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

// A scopedGet reads a scoped value that was bound first, with others bound within.
type scopedGet struct {
	depth   int // calls with a value bound
	threads int // that live meanwhile
}

// BenchmarkScopedGet reads scoped values on threads and on goroutines, and beside them what goroutines have for it, the value of a context.
func BenchmarkScopedGet(b *testing.B) {
	for _, g := range []scopedGet{{depth: 1}, {depth: 10}, {depth: 100}, {depth: 10, threads: 100_000}} {
		of := fmt.Sprintf("depth=%d/threads=%d", g.depth, g.threads)
		g.among(func() {
			b.Run(of+"/impl=vthread", measure(g.onThread))
			b.Run(of+"/impl=goroutine", measure(g.gets))
			b.Run(of+"/impl=context", measure(g.ofContext))
		})
	}
}

// BenchmarkScopedBind binds a scoped value for an empty call, at a depth.
func BenchmarkScopedBind(b *testing.B) {
	for _, depth := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("depth=%d", depth), measure(func(n int) (d time.Duration) {
			onThread(func() {
				nested(depth-1, func() {
					began := time.Now()
					for range n {
						bindNothing()
					}
					d = time.Since(began)
				})
			})
			return d
		}))
	}
}

var (
	firstScoped  = structured.NewScopedValue[int]()
	otherScoped  = make([]*structured.ScopedValue[int], 100)
	emptyBinding structured.Bindings
)

func init() {
	for i := range otherScoped {
		otherScoped[i] = structured.NewScopedValue[int]()
	}
	emptyBinding = firstScoped.Bind(1)
}

func bindNothing() {
	if err := emptyBinding.Run(func() error { return nil }); err != nil {
		panic(err)
	}
}

// nested calls f with so many others bound, one in the call of the other.
func nested(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	err := otherScoped[depth].Bind(depth).Run(func() error {
		nested(depth-1, f)
		return nil
	})
	if err != nil {
		panic(err)
	}
}

func (g scopedGet) gets(n int) (d time.Duration) {
	err := firstScoped.Bind(1).Run(func() error {
		nested(g.depth-1, func() {
			sum := 0
			began := time.Now()
			for range n {
				sum += firstScoped.Get()
			}
			d = time.Since(began)
			mustBe(sum, n)
		})
		return nil
	})
	if err != nil {
		panic(err)
	}
	return d
}

func (g scopedGet) onThread(n int) (d time.Duration) {
	onThread(func() { d = g.gets(n) })
	return d
}

type scopedContextKey int

func (g scopedGet) ofContext(n int) (d time.Duration) {
	ctx := context.WithValue(context.Background(), scopedContextKey(0), 1)
	for i := range g.depth - 1 {
		ctx = context.WithValue(ctx, scopedContextKey(i+1), i)
	}
	sum := 0
	began := time.Now()
	for range n {
		sum += ctx.Value(scopedContextKey(0)).(int)
	}
	d = time.Since(began)
	mustBe(sum, n)
	return d
}

// among calls f while the threads live, each with a value bound.
func (g scopedGet) among(f func()) {
	end := make(chan struct{})
	err := structured.Run(context.Background(), "others", func(s *structured.Scope) error {
		for range g.threads {
			s.Fork(func() error {
				return emptyBinding.Run(func() error {
					_, _ = vthread.Recv(end) // it is closed
					return nil
				})
			})
		}
		f()
		close(end)
		return s.Join()
	})
	if err != nil {
		panic(err)
	}
}

func TestScopedValuesAreReadAndBound(t *testing.T) {
	g := scopedGet{depth: 10, threads: 100}
	g.among(func() {
		for name, w := range map[string]work{"threads": g.onThread, "goroutines": g.gets, "contexts": g.ofContext} {
			wantTime(t, name, 3, w)
		}
	})
}
