// Package durable has threads that can be parked to bytes, continued in another process, and cloned.
//
//	registry := durable.NewRegistry()
//	durable.Register(registry, "checkout", func(t *durable.Thread, order Order) (Receipt, error) {
//		paid, err := durable.Do(t, "pay", func(durable.Call) (Payment, error) { return pay(order) })
//		if err != nil {
//			return Receipt{}, err
//		}
//		durable.Sleep(t, "wait for the parcel", time.Hour)
//		return Receipt{Payment: paid, When: durable.Now(t)}, nil
//	})
//	t, err := durable.Start(registry, "checkout", order)
//	bytes, err := t.ParkAndSerialize()                                // here …
//	t, err = durable.DeserializeAndUnpark(bytes, registry, scheduler) // … and there
//	receipt, err := durable.Result[Receipt](t)
//
// A stack of Go's cannot be copied to another process. So a durable thread keeps a journal of what came from outside of its own code, in order: results of calls,
// the time, random numbers, signals, results of children. Where it goes on, its body is called again, and is given what was recorded until it stands where it
// stood (replay). So a body must do the same again when it is given the same: whatever else it asks the outside for goes through this package. Where a body does
// something else than what was recorded, the thread ends with a [Divergence]; nothing is guessed.
//
// # Concurrency
//
// The functions that take a thread as their first argument are for its body, on its own thread. The methods of [Thread] are for everybody, unless they say otherwise.
// A thread waits in them as in those of package vthread: it parks.
//
// # Where to start reading
//
// [Thread] and [Journal]; [Do], which all steps are like; bytes.go for the format.
package durable
