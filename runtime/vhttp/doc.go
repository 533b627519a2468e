// Package vhttp makes the requests of a net/http server threads.
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /cart/{id}", cart)
//	http.ListenAndServe(addr, vhttp.Handler(mux, vhttp.Options{}))
//
// The server's goroutine is the thread for the time of a request, in a scope that is named by the pattern that the request matches. So a
// dump tells how many requests of each pattern there are, and where they are; the server works as before, and pays 1 µs for it. The
// handler may park, sleep, join, and fork threads in scopes (package structured); they end before the request does.
//
// [Options] choose virtual threads instead, which a scheduler of the program's own may execute, and a limit of requests at a time.
//
// What a handler sees of net/http is as without this package: its writer is the server's, so that hijacking, flushing
// and http.ResponseController work; http.ErrAbortHandler aborts the response; runtime.Goexit closes the connection; a panic is
// logged by the server. The server's goroutine executes a virtual thread of the default scheduler until that first parks. From
// then on a carrier does, which a handler holds that blocks in an operation of Go's own, as reading the body or writing the response.
//
// # Concurrency
//
// A handler of this package may be called from anywhere, threads included, so that one may stand in another. It blocks its
// caller, the server's goroutine, until the request has ended.
//
// # Where to start reading
//
// [Handler], then handler.ServeHTTP and request.serve, which is what a thread executes.
package vhttp
