// Package vgrpc makes the calls of a gRPC server threads.
//
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(vgrpc.UnaryServerInterceptor()),
//		grpc.ChainStreamInterceptor(vgrpc.StreamServerInterceptor()),
//	)
//
// The server's goroutine is the thread for the time of a call, in a scope that is named by the method. So a
// dump tells how many calls of each method there are, and where they are; the server works as before. The
// handler may park, sleep, join, and fork threads in scopes (package structured).
//
// It is a module of its own, since it needs that of gRPC.
//
// # Concurrency
//
// An interceptor may be called from anywhere. It blocks its caller, the server's goroutine, until the call
// has ended.
//
// # Where to start reading
//
// methods.serve, which is what both interceptors do.
package vgrpc
