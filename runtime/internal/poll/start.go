package poll

import "sync/atomic"

// births starts goroutines outside of any synctest bubble, in which the caller may be.
var births = make(chan func())

func init() {
	go func() {
		for f := range births {
			go f()
		}
	}()
}

// Start executes f on a goroutine that is outside of any synctest bubble.
func Start(f func()) { births <- f }

var numbers atomic.Uint32

// Number returns the next number of a poller, from 1 on.
func Number() int { return int(numbers.Add(1)) }
