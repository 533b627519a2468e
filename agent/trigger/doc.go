// Package trigger watches a process for what its user has called bad, in rules such as "park > 5s in requests", and tells when one comes true.
//
//	rules, err := trigger.ParseRules("park > 5s in requests", "deadlock")
//	…
//	err = trigger.Watch(ctx, reader, trigger.Options{Rules: rules, Fire: func(f []trigger.Firing) { … }})
//
// All that a rule needs is in the flight file: the process is not asked, and may hang or die meanwhile.
//
// # Concurrency
//
// [Watch] has no goroutine but its caller's, and calls Fire on it.
//
// # Where to start reading
//
// [Rules] is the table of rules; parse.go reads one, look.go is what they look at, checks.go decides, watch.go goes round.
package trigger
