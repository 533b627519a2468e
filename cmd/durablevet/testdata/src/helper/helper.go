package helper

import (
	"sync"
	"time"
)

func Stamp() string { return time.Now().String() } // want Stamp:"time.Now in a durable body: use durable.Now or durable.Sleep"

func Pure(n int) int { return n + 1 }

var Setting int

var cache struct {
	sync.Mutex
	n int
}

// Cached shares something, as libraries do: that is its own affair.
func Cached() int {
	cache.Lock()
	defer cache.Unlock()
	cache.n++
	return 1
}
