// Package jetstream is a store of durable threads for many machines: a stream of NATS JetStream. It is a module of its own, so that programs without it do not compile
// NATS.
//
//	store, err := jetstream.Open(ctx, jetstream.Options{URL: "nats://a,nats://b,nats://c"}) // or Dir: a server in this process
//	keeper, err := durable.Open(durable.KeeperOptions{Registry: registry, Store: store})
//	thread, err := keeper.Start("order-4711", "checkout", order)                        // here …
//	err = keeper.Signal("order-4711", "address", "…")                                   // … and from anywhere
//	receipt, err := durable.ResultOf[Receipt](ctx, keeper, "order-4711")
//
// Each keeper of the stream is a participant. A tree, a thread with its children, is of one participant at a time, which has a lease on it. A tree that hibernates is given back;
// when its time or a signal comes, a participant with room takes it. When a participant is silent for the time of the lease, others take what it had; if it lives all the same,
// the servers refuse what it commits from then on, so that nothing is recorded by two. Clocks decide when something goes on, and never who has it.
//
// # Concurrency
//
// The methods of [Store] may be called from any goroutine. They wait as long as the servers do not answer, until the store is closed.
//
// # Where to start reading
//
// [Store], whose invariants are L1 to L6; publish.go for outcomes that are not known; index.go for who takes what.
package jetstream
