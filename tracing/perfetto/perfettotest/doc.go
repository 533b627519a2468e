// Package perfettotest reads Perfetto traces, for tests of what writes them.
//
//	t, err := perfettotest.Read(data)
//	for _, s := range t.Slices("carriers", "carrier 0") {
//		fmt.Println(s.Name, s.From, s.To)
//	}
//
// It knows the messages as they are published, from its own table (schema.go), and refuses what is not among them. It ties clocks and resolves what is interned
// as Perfetto's trace processor does, and says what that would only count as errors: times that go back, slices that do not nest or do not
// end, tracks that nobody has described, arrows with one end.
//
// # Concurrency
//
// Calls of [Read] are independent of each other; a [Trace] is not changed afterwards.
//
// # Where to start reading
//
// [Read], in trace.go.
package perfettotest
