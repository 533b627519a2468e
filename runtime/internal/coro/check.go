package coro

import (
	"fmt"
	"runtime"
)

func init() {
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		check()
	}()
	if v := <-done; v != nil {
		panic(fmt.Sprintf("coro: %s: iter.Pull does not exchange goroutines as it did up to Go 1.26 (%v); build with -tags vtscope_chan", runtime.Version(), v))
	}
}

// check makes three goroutines change places (S2) and go home again.
func check() {
	var order []byte
	var a, b *Slot
	ra := New(func(*Routine) {
		order = append(order, 'a')
		b.Switch() // b runs, a is in b's slot
		order = append(order, 'A')
		a.Switch() // back to us, a is home
	})
	rb := New(func(*Routine) {
		order = append(order, 'b')
		a.Switch() // back to us, b is in a's slot
		order = append(order, 'B')
		b.Switch() // a runs, b is home
	})
	a, b = ra.At, rb.At
	a.Switch()
	order = append(order, '|')
	a.Switch()
	ra.End()
	rb.End()
	if got := string(order); got != "ab|BA" {
		panic("order " + got)
	}
}
