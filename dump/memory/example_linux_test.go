package memory_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

func ExampleAttach() {
	p, err := memory.Attach(1<<22+1, memory.Options{}) // no process has such a pid
	if errors.Is(err, flight.ErrNoProcess) {
		fmt.Println(err)
		return
	}
	defer p.Close()
	snapshot, err := dump.Take(context.Background(), p, dump.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(snapshot.Threads, "threads")
	// Output: memory: read process 4194305: no such process
}
