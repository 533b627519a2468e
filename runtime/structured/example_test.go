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
