package trigger_test

import (
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/agent/trigger"
)

func Example() {
	rule, err := trigger.Parse("park>5s in requests for 60s")
	fmt.Println(rule, err)

	_, err = trigger.Parse("park > 5 in requests")
	var bad *trigger.ParseError
	if errors.As(err, &bad) {
		fmt.Println(bad.Pointer())
	}
	// Output:
	// park > 5s in requests for 1m <nil>
	// park > 5 in requests
	//        ^ want a duration such as 500ms, 5s or 1m
}
