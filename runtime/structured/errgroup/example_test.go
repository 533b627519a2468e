package errgroup_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/runtime/structured/errgroup"
)

func Example() {
	g, ctx := errgroup.WithContext(context.Background())
	g.Go(func() error { return errors.New("no answer") })
	g.Go(func() error {
		<-ctx.Done()
		return nil
	})
	fmt.Println(g.Wait())
	// Output: no answer
}
