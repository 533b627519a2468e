//go:build unix

package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// BenchmarkTree starts something new at each node of a tree and joins it. In the binary tree each inner node starts both of its children;
// in that of the Fibonacci numbers one, and does the other itself. An operation is a tree.
func BenchmarkTree(b *testing.B) {
	const trees = 4
	for _, c := range []struct {
		shape string
		depth int
	}{{"binary", 16}, {"fib", 22}} {
		b.Run("shape="+c.shape, func(b *testing.B) {
			eachImpl(b, c.shape, eachOperation(task{N: trees, Depth: c.depth}))
		})
	}
}

// treeTask is a task of n trees of a depth, after one that warms up. A tree returns the number of its leaves, or what else tells
// that it is whole.
func treeTask(tree func(depth int) int) func(task) answer {
	return func(t task) answer {
		want := tree(t.Depth)
		began := time.Now()
		for range t.N {
			mustBe(tree(t.Depth), want)
		}
		return answer{int64(time.Since(began))}
	}
}

func binaryThreads(depth int) (leaves int) {
	onThread(func() { leaves = binaryBelow(depth) })
	return leaves
}

func binaryBelow(depth int) int {
	if depth == 0 {
		return 1
	}
	var left, right int
	l := vthread.Start(func() { left = binaryBelow(depth - 1) })
	r := vthread.Start(func() { right = binaryBelow(depth - 1) })
	l.Join()
	r.Join()
	return left + right
}

func binaryGoroutines(depth int) int {
	if depth == 0 {
		return 1
	}
	var left, right int
	var wg sync.WaitGroup
	wg.Go(func() { left = binaryGoroutines(depth - 1) })
	wg.Go(func() { right = binaryGoroutines(depth - 1) })
	wg.Wait()
	return left + right
}

func fibThreads(n int) (fib int) {
	onThread(func() { fib = fibBelow(n) })
	return fib
}

func fibBelow(n int) int {
	if n < 2 {
		return n
	}
	var a int
	t := vthread.Start(func() { a = fibBelow(n - 1) })
	b := fibBelow(n - 2)
	t.Join()
	return a + b
}

func fibGoroutines(n int) int {
	if n < 2 {
		return n
	}
	a := make(chan int, 1)
	go func() { a <- fibGoroutines(n - 1) }()
	b := fibGoroutines(n - 2)
	return <-a + b
}

func TestATreeHasAllItsNodes(t *testing.T) {
	for name, c := range map[string]struct {
		tree func(int) int
		want map[int]int
	}{
		"binary, threads":    {binaryThreads, map[int]int{0: 1, 1: 2, 8: 256}},
		"binary, goroutines": {binaryGoroutines, map[int]int{0: 1, 1: 2, 8: 256}},
		"fib, threads":       {fibThreads, map[int]int{0: 0, 1: 1, 12: 144}},
		"fib, goroutines":    {fibGoroutines, map[int]int{0: 0, 1: 1, 12: 144}},
	} {
		for depth, want := range c.want {
			if got := c.tree(depth); got != want {
				t.Errorf("%s, depth %d: got %d, want %d", name, depth, got, want)
			}
		}
	}
}
