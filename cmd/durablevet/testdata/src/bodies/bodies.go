package bodies

import (
	"fmt"
	"helper"
	"math/rand"
	"os"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
)

func register(r *durable.Registry) { // want register:"fmt.Println"
	fmt.Println("outside of a body") // nobody minds
	durable.Register(r, "literal", func(t *durable.Thread, n int) (int, error) {
		_ = time.Now()         // want "time.Now in a durable body: use durable.Now or durable.Sleep"
		return rand.Int(), nil // want "rand.Int in a durable body: use durable.Random"
	})
	durable.Register(r, "body", body)
}

func body(t *durable.Thread, m map[string]int) (int, error) {
	for range m { // want "range over a map in a durable body"
	}
	for range m { //durable:ok the order plays no part
	}
	go func() {}() // want "go statement in a durable body: use durable.Fork"
	ch := make(chan int, 1)
	ch <- 1  // want "channel in a durable body: use durable.Do"
	<-ch     // want "channel in a durable body: use durable.Await"
	select { // want "select in a durable body"
	case <-ch:
	}
	os.Remove("x")     // want "os.Remove in a durable body: use durable.Do"
	indirectly()       // want "indirectly in a durable body: reads in it: os.ReadFile in it: use durable.Do"
	_ = helper.Stamp() // want "helper.Stamp in a durable body: time.Now in it: use durable.Now or durable.Sleep"
	_ = helper.Pure(1)
	defer durable.Sleep(t, "s", time.Second) // want "durable.Sleep in a deferred function"
	v, err := durable.Do(t, "fine", func(durable.Call) (int, error) {
		os.Remove("x")
		return int(time.Now().Unix()), nil
	})
	helps(t)
	return v, err
}

func helps(t *durable.Thread) {
	var f *os.File
	f.Close() // want `\(os.File\).Close in a durable body: use durable.Do`
}

func indirectly() { reads() } // want indirectly:"reads in a durable body: os.ReadFile in it: use durable.Do"

func reads() { os.ReadFile("x") } // want reads:"os.ReadFile in a durable body: use durable.Do"

func unrelated() { _ = time.Now() } // want unrelated:"time.Now"
