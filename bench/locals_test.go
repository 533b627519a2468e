//go:build unix

package bench

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkLocals starts and joins threads that have no local, that set one, and that read one of their maker's. Goroutines do it
// with a context's value.
func BenchmarkLocals(b *testing.B) {
	for _, c := range []struct {
		local             string
		thread, goroutine work
	}{
		{"none", startJoinThread, startJoinGoroutine},
		{"set", localSetThread, localSetGoroutine},
		{"inherited", localInheritedThread, localInheritedGoroutine},
	} {
		b.Run("local="+c.local+"/impl=vthread", measure(c.thread))
		b.Run("local="+c.local+"/impl=goroutine", measure(c.goroutine))
	}
}

var (
	ownLocal       = vthread.NewLocal[int]()
	inheritedLocal = vthread.NewInheritableLocal[int]()
)

type contextKey struct{}

func localSetThread(n int) (d time.Duration) {
	onThread(func() {
		began := time.Now()
		for range n {
			vthread.Start(func() { ownLocal.Set(1) }).Join()
		}
		d = time.Since(began)
	})
	return d
}

func localSetGoroutine(n int) time.Duration {
	began := time.Now()
	for range n {
		var wg sync.WaitGroup
		var ctx context.Context
		wg.Go(func() { ctx = context.WithValue(context.Background(), contextKey{}, 1) })
		wg.Wait()
		if ctx == nil {
			panic("no context")
		}
	}
	return time.Since(began)
}

func localInheritedThread(n int) (d time.Duration) {
	onThread(func() {
		if err := inheritedLocal.Set(7); err != nil {
			panic(err)
		}
		sum := 0
		began := time.Now()
		for range n {
			vthread.Start(func() { sum += inheritedLocal.Get() }).Join()
		}
		d = time.Since(began)
		mustBe(sum, 7*n)
	})
	return d
}

func localInheritedGoroutine(n int) time.Duration {
	ctx := context.WithValue(context.Background(), contextKey{}, 7)
	sum := 0
	began := time.Now()
	for range n {
		var wg sync.WaitGroup
		wg.Go(func() { sum += ctx.Value(contextKey{}).(int) })
		wg.Wait()
	}
	d := time.Since(began)
	mustBe(sum, 7*n)
	return d
}

func TestLocalsAreSetAndInherited(t *testing.T) {
	for name, w := range map[string]work{
		"threads set": localSetThread, "goroutines set": localSetGoroutine,
		"threads inherit": localInheritedThread, "goroutines inherit": localInheritedGoroutine,
	} {
		wantTime(t, name, 3, w)
	}
}
