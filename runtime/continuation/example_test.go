package continuation_test

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/continuation"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func Example() {
	prompt := continuation.NewPrompt("greeting")
	c := continuation.New(prompt, func() {
		fmt.Println("one")
		continuation.Suspend(prompt, nil)
		fmt.Println("two")
	})
	fmt.Println(c.Run())
	fmt.Println(c.Run())
	// Output:
	// one
	// false
	// two
	// true
}

// Values pass in what f is given, and back in what Suspend returns.
func ExampleSuspend() {
	prompt := continuation.NewPrompt("parser")
	var token string
	c := continuation.New(prompt, func() {
		for {
			continuation.Suspend(prompt, func(*continuation.Continuation) { fmt.Println("needs a token") })
			fmt.Println("got", token)
		}
	})
	c.Run()
	for _, token = range strings.Fields("let x") {
		c.Run()
	}
	c.Close()
	// Output:
	// needs a token
	// got let
	// needs a token
	// got x
	// needs a token
}

// The example of the proposal: the generator's code parks the thread that ranges over its values.
func ExampleGenerate() {
	vthread.Start(func() {
		for x := range continuation.Generate(func(produce func(int)) {
			produce(1)
			vthread.Sleep(time.Millisecond)
			produce(2)
			vthread.Sleep(time.Millisecond)
			produce(3)
		}) {
			fmt.Println("Next:", x)
		}
	}).Join()
	// Output:
	// Next: 1
	// Next: 2
	// Next: 3
}

type tree struct {
	left, right *tree
	value       string
}

func (t *tree) each(yield func(string)) {
	if t != nil {
		t.left.each(yield)
		yield(t.value)
		t.right.each(yield)
	}
}

// yield may be called from any depth, and a range may be left at any time.
func ExampleGenerate_recursion() {
	t := &tree{&tree{nil, nil, "a"}, &tree{&tree{nil, nil, "c"}, nil, "d"}, "b"}
	for v := range continuation.Generate(t.each) {
		fmt.Println(v)
		if v == "c" {
			break
		}
	}
	// Output:
	// a
	// b
	// c
}

func ExampleGenerate2() {
	squares := continuation.Generate2(func(yield func(n, square int)) {
		for n := 1; ; n++ {
			yield(n, n*n)
		}
	})
	next, stop := iter.Pull2(squares)
	defer stop()
	for range 3 {
		n, square, _ := next()
		fmt.Println(n, square)
	}
	// Output:
	// 1 1
	// 2 4
	// 3 9
}

func ExampleCoroutine() {
	sum := continuation.NewCoroutine(func(n int, yield func(int) int) int {
		total := 0
		for n != 0 {
			total += n
			n = yield(total)
		}
		return total
	})
	for _, n := range []int{3, 4, 5, 0} {
		fmt.Println(sum.Resume(n))
	}
	// Output:
	// 3 true
	// 7 true
	// 12 true
	// 12 false
}

var collatz = continuation.NewPrompt("collatz")

// Each calls another in its place: the stack does not grow.
func step(n int) int {
	fmt.Print(n, " ")
	switch {
	case n == 1:
		return n
	case n%2 == 0:
		return continuation.Invoke(collatz, step, n/2)
	default:
		return continuation.Invoke(collatz, step, 3*n+1)
	}
}

func ExampleInvoke() {
	fmt.Println("ends with", continuation.Reset(collatz, func() int { return step(6) }))
	// Output: 6 3 10 5 16 8 4 2 1 ends with 1
}

func ExampleContinuation_Close() {
	prompt := continuation.NewPrompt("transaction")
	c := continuation.New(prompt, func() {
		defer fmt.Println("rolled back")
		continuation.Suspend(prompt, nil)
		fmt.Println("committed")
	})
	c.Run()
	c.Close()
	fmt.Println(c.Done())
	// Output:
	// rolled back
	// true
}

func ExampleContinuation_Stack() {
	prompt := continuation.NewPrompt("tree")
	t := &tree{left: &tree{value: "a"}, value: "b"}
	c := continuation.New(prompt, func() { t.each(func(string) { continuation.Suspend(prompt, nil) }) })
	c.Run()
	for _, f := range c.Stack() {
		fmt.Println(f.Function[strings.LastIndex(f.Function, "/")+1:])
	}
	c.Close()
	// Output:
	// continuation_test.ExampleContinuation_Stack.func1.1
	// continuation_test.(*tree).each
	// continuation_test.(*tree).each
	// continuation_test.ExampleContinuation_Stack.func1
}

func ExamplePin() {
	prompt := continuation.NewPrompt("p")
	continuation.New(prompt, func() {
		continuation.Pin()
		defer continuation.Unpin()
		_, err := continuation.Suspend(prompt, nil)
		fmt.Println(err)
	}).Run()
	// Output: continuation: suspend "p": pinned: pin-section
}
