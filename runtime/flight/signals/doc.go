// Package signals records signals that a program asks for, as events of the kind vtscope.Signal: they stand in recordings, and vtdump watch takes an incident bundle when one comes
// (rule "signal"). Without it vtscope touches no signal.
//
//	stop := signals.Record(syscall.SIGUSR1)
//	defer stop()
//
// # Concurrency
//
// Record starts one goroutine, which its stop ends and waits for.
//
// # Where to start reading
//
// [Record].
package signals
