package structured_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func Example() {
	var price, stock int
	err := structured.Run(context.Background(), "checkout", func(s *structured.Scope) error {
		s.Fork(func() error { vthread.Sleep(time.Millisecond); price = 12; return nil })
		s.ForkNamed("stock", func() error { stock = 3; return nil })
		return s.Join()
	})
	fmt.Println(price, stock, err)
	// Output: 12 3 <nil>
}

func ExampleScope_Join() {
	err := structured.Run(context.Background(), "checkout", func(s *structured.Scope) error {
		s.Fork(func() error { return errors.New("card refused") })
		s.Fork(func() error {
			<-s.Context().Done() // cancelled by the first that fails
			return context.Cause(s.Context())
		})
		return s.Join()
	})
	fmt.Println(err)
	// Output: card refused
}

func ExampleAll() {
	shops := []string{"a", "bb", "ccc"}
	var prices structured.All[int]
	err := structured.Options{Name: "prices", Policy: &prices, Limit: 2}.Run(context.Background(), func(s *structured.Scope) error {
		for _, shop := range shops {
			structured.Fork(s, func() (int, error) { return len(shop), nil })
		}
		return s.Join()
	})
	fmt.Println(prices.Values(), err)
	// Output: [1 2 3] <nil>
}

func ExampleAny() {
	var answer structured.Any[string]
	err := structured.Options{
		Name: "mirrors", Policy: &answer, Deadline: time.Now().Add(time.Minute),
	}.Run(context.Background(), func(s *structured.Scope) error {
		structured.Fork(s, func() (string, error) { return "", vthread.Sleep(time.Hour) }) // is interrupted
		structured.Fork(s, func() (string, error) { return "hello", nil })
		return s.Join()
	})
	fmt.Println(answer.Value(), err)
	// Output: hello <nil>
}

var user = structured.NewScopedValue[string]()

func ExampleScopedValue() {
	greet := func() error {
		fmt.Println("hello", user.Get())
		return nil
	}
	err := user.Bind("ann").Run(func() error {
		return structured.Run(context.Background(), "greetings", func(s *structured.Scope) error {
			s.Fork(greet)
			return s.Join()
		})
	})
	_, bound := user.Lookup()
	fmt.Println(bound, err)
	// Output:
	// hello ann
	// false <nil>
}
