package control_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/agent/control"
)

func Example() {
	settings, err := control.Ask(context.Background(), "/dev/shm/vtscope-1000/4711-99.flight", "settings", []byte("park.stack=off"))
	switch {
	case errors.Is(err, control.ErrNone):
		fmt.Println("there is no such process")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Printf("it records now:\n%s", settings)
	}
	// Output: there is no such process
}
