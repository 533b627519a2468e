package vthread_test

import (
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/vthread"
)

func Example() {
	t := vthread.Start(func() {
		vthread.Sleep(time.Millisecond)
		fmt.Println("hello from", vthread.Current() != nil)
	})
	t.Join()
	fmt.Println(t.State())
	// Output:
	// hello from true
	// done
}

func ExampleBuilder() {
	t := vthread.Builder{Name: "GET /cart"}.Unstarted(func() { vthread.Park() })
	fmt.Println(t.Name(), t.State())
	if err := t.Start(); err != nil {
		fmt.Println(err)
	}
	t.Unpark() // before or after the park: it returns either way
	t.Join()
	// Output: GET /cart new
}
