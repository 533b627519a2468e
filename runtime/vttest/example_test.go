package vttest_test

import (
	"fmt"
	"testing"

	"github.com/vtscope/vtscope/runtime/vthread"
	"github.com/vtscope/vtscope/runtime/vttest"
)

func ExampleRun() {
	t := new(testing.T) // the parameter of a test
	results := make(map[int]bool)
	vttest.Run(t, func(t *testing.T) {
		n := 0
		add := func() {
			was := n
			vthread.Yield()
			n = was + 1
		}
		a, b := vthread.Start(add), vthread.Start(add)
		a.Join()
		b.Join()
		results[n] = true
	})
	fmt.Println(results)
	// Output: map[1:true 2:true]
}
