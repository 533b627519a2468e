// Package ordeal proves what package durable promises, by processes that are killed.
//
//	ledger, err := ordeal.NewLedger(ordeal.Works(seed, 1000, time.Minute))
//	… processes call [Serve] with the ledger's address and a keeper of the store, and are killed …
//	complaints := ledger.Verdict(journals)
//
// Works (body "work") do all that durable threads do: calls of each policy, sleeps, signals to another work and back, parks, children, checkpoints, time and random
// numbers. Their calls go to a ledger outside, which gives a new answer to each call but those that are idempotent by key. So a recorded answer that was lost, replaced
// or recorded twice is seen in the end, when results, journals and ledger are compared ([Ledger.Verdict]).
//
// Each call also tells a sum of all that its work has learned before (its chain). Two attempts of a call that tell different ones have different histories: one of them
// was of a process that went on with something that was not recorded.
//
// # Concurrency
//
// The methods of [Ledger] may be called from any goroutine, those of [Storm] and [Process] from one at a time.
//
// # Where to start reading
//
// [Args] and the table moves in body.go; then verdict.go.
package ordeal
