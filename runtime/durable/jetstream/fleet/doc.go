// Fleet is what the storm is made of: servers of a cluster, and workers over it, that are killed.
//
//	fleet server -dir DIR -name n1 -listen ADDRESS -cluster ADDRESS -routes ADDRESS,ADDRESS,ADDRESS
//	fleet worker -url URL,URL,URL -ledger ADDRESS -name w1
//	fleet freeze -pid PID -for 5s
//
// Servers and workers print "open", and end in good order at the line "close" of their standard input; when that ends before, so does the process. The tests start and kill them, keep the ledger
// (package ordeal), and compare in the end:
//
//	go test -v .                       # half a minute
//	VTSCOPE_STORM=5m go test -v .      # 1,000 works; VTSCOPE_SEED repeats a storm's choices
//
// # Concurrency
//
// A process is one server or one keeper.
//
// # Where to start reading
//
// storm_test.go.
package main
