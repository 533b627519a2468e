// Benchcheck runs the benchmarks of package bench, and of the fixture of servers, and prints one line for each budget of the design and the issues.
//
//	go run ./internal/benchcheck            # report: exit 0 when all was measured
//	go run ./internal/benchcheck -strict    # exit 1 when a budget is over
//
// A round runs all benchmarks once (the last ones leave out those that take long), so that those which are compared run soon
// after each other. A figure is the median of its rounds; a ratio is taken within each round. Budgets are the rows of [budgets]; what
// is only compared has no limit.
//
// # Concurrency
//
// None: one benchmark runs at a time.
//
// # Where to start reading
//
// budgets.go.
package main
