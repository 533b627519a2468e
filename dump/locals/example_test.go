package locals_test

import (
	"os"

	"github.com/vtscope/vtscope/dump/locals"
)

func ExampleText() {
	answer := &locals.Answer{Goroutine: 34, Frames: []locals.Frame{
		{Function: "runtime.coroswitch", Internal: true},
		{Function: "shop.(*Store).query", File: "/shop/store.go", Line: 88, Inlined: true,
			Arguments: []locals.Variable{{Name: "id", Type: "int", Value: "42"}},
			Locals:    []locals.Variable{{Name: "rows", Type: "[]shop.Row", Missing: locals.OptimizedAway}}},
	}}
	_ = locals.Text(os.Stdout, answer, locals.TextOptions{})
	// Output:
	// Variables of goroutine 34, innermost frame first
	//   shop.(*Store).query  store.go:88  inlined
	//       id int = 42
	//       rows []shop.Row: optimised away here
	//   1 frame of the runtime hidden: --all-frames shows them
}
