package vthread_test

import (
	"fmt"

	"github.com/vtscope/vtscope/runtime/vthread"
)

var requestID = vthread.NewInheritableLocal[string]()

func logf(format string, args ...any) {
	fmt.Printf("[%s] %s\n", requestID.Get(), fmt.Sprintf(format, args...))
}

func ExampleLocal() {
	vthread.Start(func() {
		if err := requestID.Set("r-17"); err != nil {
			fmt.Println(err)
		}
		logf("begin")
		vthread.Start(func() { logf("in a thread that the first has made") }).Join()
	}).Join()
	fmt.Println(requestID.Set("no thread's"))
	// Output:
	// [r-17] begin
	// [r-17] in a thread that the first has made
	// vthread: set local: caller has no locals: it is a plain goroutine
}
