// Package vhttp runs the handlers of a net/http server on threads.
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /cart/{id}", cart)
//	http.ListenAndServe(addr, vhttp.Handler(mux, vhttp.Options{}))
//
// Each request has a scope of its own, named by the pattern that it matches, and in it a thread that calls the handler. So a dump tells
// how many requests of each pattern there are, and where they are. The handler may park, sleep, join, and
// fork threads in scopes (package structured); they end before the request does.
//
// What a handler sees of net/http is as without this package: its writer is the server's, so that hijacking, flushing
// and http.ResponseController work; http.ErrAbortHandler aborts the response; runtime.Goexit closes the connection; a panic is
// logged by the server. A handler that blocks in an operation of Go's own, as reading the body or
// writing the response, holds its carrier meanwhile.
//
// # Concurrency
//
// A handler of this package may be called from anywhere, threads included, so that one may stand in another. It blocks its
// caller, the server's goroutine, until the request has ended.
//
// # Where to start reading
//
// [Handler], then handler.ServeHTTP and request.serve, which are the two sides.
package vhttp
