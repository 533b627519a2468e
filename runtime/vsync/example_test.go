package vsync_test

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func ExampleMutex() {
	var mu vsync.Mutex
	n := 0
	add := func() {
		mu.Lock()
		defer mu.Unlock()
		n++
	}
	t := vthread.Start(add)
	add() // a goroutine
	t.Join()
	fmt.Println(n)
	// Output: 2
}
