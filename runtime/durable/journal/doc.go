// Package journal has what is kept of a durable thread: its steps, the entries that a store is told, the files of a file store, and the bytes of a parked thread. It runs
// nothing: package durable makes journals and replays them, and others read them.
//
//	folder, err := journal.ReadFolder("/var/lib/shop/threads") // a process may use it
//	for _, thread := range folder.Trees.Roots() {
//		fmt.Println(thread.ID, thread.Body, len(thread.Steps))
//	}
//
// # Concurrency
//
// Values are used by one goroutine at a time, but for [Keys]. The functions that read files wait for the file system.
//
// # Where to start reading
//
// [Step] and [Entry]; [Trees], which makes threads of entries; [Pack] and [ReadFolder] for the formats.
package journal
