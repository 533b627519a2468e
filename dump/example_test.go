package dump_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// cart is a snapshot as [dump.Take] makes them.
func cart(threads int, taken time.Time) *dump.Snapshot {
	var blocked dump.Counts
	blocked[flight.StateBlocked] = threads
	return &dump.Snapshot{
		Format: dump.Format, Taken: taken, AsOf: taken, Took: 2 * time.Millisecond, Complete: true,
		Process: dump.Process{PID: 4711, Program: "shop", Status: dump.StatusRunning},
		Threads: threads, ScopeCount: 313, States: blocked,
		Scopes: []dump.Scope{
			{Key: "r", Parent: -1, Name: "root", Count: 1, Total: threads},
			{Key: "c", Parent: 0, Depth: 1, Name: "checkout", Count: 312, Own: threads, Total: threads, States: blocked},
		},
		Groups: []dump.Group{{
			Key: "g", Scope: 1, Stack: 0, State: flight.StateBlocked, Reason: flight.ReasonLock, Count: threads,
			Wait:     dump.Wait{Min: 12 * time.Millisecond, Median: 800 * time.Millisecond, Max: 9 * time.Second},
			Examples: []dump.Example{{ID: 88, Name: "order 17", Wait: 9 * time.Second}},
		}},
		Stacks: []dump.Stack{{Fingerprint: "f", Frames: []dump.Frame{
			{Func: "example.org/shop.(*Cart).add", File: "/src/cart.go", Line: 230},
			{Func: "example.org/shop.checkout", File: "/src/checkout.go", Line: 41},
		}}},
	}
}

func ExampleText() {
	if err := dump.Text(os.Stdout, cart(1204, time.Now()), dump.TextOptions{ASCII: true}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop (pid 4711)  1,204 threads in 313 scopes   blocked 1,204
	// taken in 2 ms, no pause; complete
	//
	// scope                     threads      own
	// root                        1,204        0
	// `- checkout x312            1,204
	//         x 1,204 blocked 12ms..9s  median 800ms   lock
	//           shop.(*Cart).add  cart.go:230
	//           shop.checkout     checkout.go:41
	//           e.g. #88 "order 17"
}

func ExampleFolded() {
	if err := dump.Folded(os.Stdout, cart(1204, time.Now()), dump.FoldedOptions{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// root;checkout;example.org/shop.checkout;example.org/shop.(*Cart).add 1204
}

func ExampleCompare() {
	now := time.Now()
	s := cart(1204, now)
	dump.Compare(cart(1000, now.Add(-2*time.Second)), s)
	fmt.Println(s.Scopes[1].Name, s.Scopes[1].Change, "in", s.ChangeOver)
	// Output:
	// checkout 204 in 2s
}

// A process can look at itself, even if its recorder has no file.
func ExampleTake() {
	recorder, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Close()
	for id := range flight.ThreadID(3) {
		now := flight.Now()
		record := recorder.GetRecord()
		record.Init(flight.StateNew, id+1, 0, 0, 0, 0, now)
		record.Parked(now, flight.StateParked, flight.ReasonSleep, 0, 0)
	}

	r, err := recorder.Reader()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	s, err := dump.Take(context.Background(), r, dump.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range s.Groups {
		fmt.Println(g.Count, g.State, g.Reason)
	}
	// Output:
	// 3 parked sleep
}
