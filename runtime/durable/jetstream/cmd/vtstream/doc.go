// Command vtstream tells of the durable threads in a stream of NATS JetStream: all of them, or the history of one, as JSON.
//
//	echo '{"format":"vtscope/stream/v1","url":"nats://127.0.0.1:4222"}' | vtstream
//
// vtdump durable nats://… starts it: package dump/stream has the question and the answer. It is a command of its own so that vtdump does not have NATS in it. It takes no part in
// the stream: no lease, no consumer, no change.
//
// # Concurrency
//
// It answers once, and ends.
//
// # Where to start reading
//
// run, then answer.
package main
