// Durablevet finds what a body of a durable thread asks the outside for without a step of package durable: it would be different in a replay.
//
//	go vet -vettool=$(which durablevet) ./...
//	durablevet ./...
//
// Durable code is every function with a parameter of type *durable.Thread. In it, and in functions that it calls, in other packages too, durablevet tells of the time, random
// numbers, files, sockets, processes and the environment; of goroutines, channels, select, locks and atomic variables; of variables of a package that are written; of the order of maps; and of
// steps in deferred functions; and of what package durable does that is no step: starting threads, asking others. Locks and variables are told of within a package alone: in
// libraries they are caches. Functions that are given to durable.Do, durable.Move or durable.MoveFor, or have a durable.Call as their parameter, are outside, and may do all that; but they set no
// variable of the body, since a replay does not call them, and make no step.
//
// It does not see through interfaces and function values that come from elsewhere, not that a variable of a package is read that somebody else writes, and not that a call
// depends on something else than its name. What is right all the same is marked at its line:
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
