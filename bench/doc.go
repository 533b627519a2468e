// Package bench compares virtual threads with what else does the work, in the same run.
//
//	go test -run '^$' -bench 'StartJoin|PingPong' ./bench
//	make bench-check        # the budgets of DESIGN.md, section 4, one line each
//
// A benchmark's peer stands beside it (impl=goroutine beside impl=vthread, settings=off beside settings=default). Figures
// of two runs, or of two machines, say nothing; the ratio of two peers in one run does.
//
// Some works change the process for good (a pool that is warm, stacks that are kept) or need another setting of
// the recorder: they run in a child process, which is this package's test binary again. See [child] in
// child_test.go.
//
// # Concurrency
//
// Benchmarks run one at a time. Nothing here may run in parallel with anything else.
//
// # Where to start reading
//
// works_test.go has what is measured, bench_test.go how it is named and reported.
package bench
