package flight_test

import (
	"context"
	"fmt"
	"os"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A runtime records a thread that parks, and an observer, here in the same process, reads it.
func Example() {
	r, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer r.Close()
	rec := r.GetRecord()
	rec.Init(flight.StateNew, 7, 0, 0, 0, 0, flight.Now())
	r.SetName(rec, "GET /cart")
	rec.Mounted(flight.Now(), 0)
	rec.Parked(flight.Now(), flight.StateParked, flight.ReasonJoin, r.Stack(0), flight.BlockThread(9))

	reader, err := r.Reader()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer reader.Close()
	torn, err := reader.Threads(context.Background(), func(rows []flight.ThreadRow) {
		for _, row := range rows {
			fmt.Printf("#%d %q %v (%v), waits for %v\n", row.ID, reader.ThreadName(row), row.State, row.Reason, row.Blocker)
		}
	})
	fmt.Println(torn, "torn, error", err)
	// Output:
	// #7 "GET /cart" parked (join), waits for thread #9
	// 0 torn, error <nil>
}

func ExampleList() {
	processes, errs := flight.List("/dev/shm/a directory that does not exist")
	fmt.Println(len(processes), "processes,", len(errs), "errors")
	// Output:
	// 0 processes, 0 errors
}

var (
	customer = flight.TextField("customer")
	items    = flight.CountField("items")
	checkout = flight.Register("cart.Checkout", customer, items)
)

// A program registers an event of its own, records it, and tells what it looks like.
func ExampleRegister() {
	span := checkout.Begin(customer.Is("Ann"))
	span.End(items.Is(3))

	info := checkout.Info()
	fmt.Println(info.Name)
	for _, f := range info.Fields {
		fmt.Printf("  %s: %s\n", f.Name, flight.FieldUses[f.Use].Type)
	}
	// Output:
	// cart.Checkout
	//   customer: text
	//   items: u64
}
