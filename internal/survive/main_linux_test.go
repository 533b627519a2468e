package survive

import (
	"encoding/json"
	"os"
	"testing"
)

// asChild, in the environment, makes the test binary a program to look at; its value says which.
const asChild = "VTSCOPE_SURVIVE_CHILD"

// An order tells a child what to be.
type order struct {
	// Of a victim.
	Witness string // the page's file
	Death   string // a key of deaths; "": it is killed from outside
	Rounds  uint64 // after how many wake-ups it dies by itself
	Group   string // folder of a memory cgroup to live in
	Goes    bool   // it works once it is told to on standard input, and ends

	// Of a worker.
	Shortage string // a key of shortages
}

func TestMain(m *testing.M) {
	text := os.Getenv(asChild)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	if o.Witness != "" {
		victim(o)
	}
	worker(o)
}
