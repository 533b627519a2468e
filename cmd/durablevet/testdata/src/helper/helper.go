package helper

import "time"

func Stamp() string { return time.Now().String() } // want Stamp:"time.Now in a durable body: use durable.Now or durable.Sleep"

func Pure(n int) int { return n + 1 }
