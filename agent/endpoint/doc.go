// Package endpoint asks programs for their goroutines that serve package net/http/pprof.
//
//	at, err := endpoint.Parse("http://box:6060/debug/pprof/")
//	c, err := at.Open(access.ClientOptions{})
//	goroutines, err := c.Read(ctx, goroutines.Options{})
//
// # Concurrency
//
// A [Client] may be used by any number of goroutines. [Client.Read] blocks until the program has answered.
//
// # Where to start reading
//
// [Parse], then [Client.Read].
package endpoint
