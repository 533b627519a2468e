// Durablevet finds what a body of a durable thread asks the outside for without a step of package durable: it would be different in a replay.
//
//	go vet -vettool=$(which durablevet) ./...
//	durablevet ./...
//
// Durable code is every function with a parameter of type *durable.Thread. In it, and in functions that it calls, in other packages too, durablevet tells of the time, random
// numbers, files, sockets, processes and the environment; of goroutines, channels and select; of the order of maps; and of steps in deferred functions. Functions that
// are given to durable.Do or durable.Move are outside, and may do all that. What is right all the same is marked at its line:
//
//	for k := range m { //durable:ok the order plays no part
//
// # Concurrency
//
// As every analyzer it is called by its driver.
//
// # Where to start reading
//
// [Analyzer]; outside in rules.go is the table of what is found.
package main
