// Package auto puts the agent of a program where net/http/pprof puts its profiles: importing it is all there is to do.
//
//	import _ "github.com/vtscope/vtscope/agent/auto"
//
// With VTSCOPE_HTTP=ADDR in the environment the program listens there, on a server of its own: HOST:PORT of loopback, or unix:PATH. Without it the agent is
// registered with [http.DefaultServeMux] at [agent.Prefix], "/debug/vt/", for programs that serve that; VTSCOPE_HTTP=off does neither. On any other server it is
// put by hand: see [agent.Handler]. (net/http/pprof's own patterns are not in the way, nor this in theirs.)
//
// The page, the interface and the profiles are those of vtserve. On Linux the goroutines of the program are shown, too. Until somebody asks, nothing runs but, with an address, a goroutine that waits for connections.
// This user may ask on loopback; others need a token, which VTSCOPE_TOKEN_FILE names: docs/security.md. Registering fails, on standard error, and never stops the
// program: if an address is taken, or if a pattern that the program has registered is at odds with that of the agent.
//
// # Concurrency
//
// What init has started lasts as long as the process.
//
// # Where to start reading
//
// start.
package auto
