// Package access decides who may ask an agent what: it listens, knows who asks, refuses, limits, keeps an audit, and hides what must not leave.
//
//	policy, err := access.New(access.Options{Listen: []string{"127.0.0.1:0"}})
//	…
//	listeners, err := policy.Listen()
//	…
//	server := policy.Server(policy.Handler(handler, need))
//	for _, l := range listeners {
//		go server.Serve(l)
//	}
//
// Without more than that it listens on loopback or on a Unix socket, and answers whoever is the same user. Any other address needs a token or certificates of
// clients, and TLS: [New] refuses what is open to others, and says what is missing. docs/security.md has the threats, the defaults and what remains.
//
// # Concurrency
//
// The methods of [Policy], [Redactor] and [Client] may be called from any goroutine. The package starts no goroutine.
//
// # Where to start reading
//
// policy.go is what there is to decide, guard.go the way of a request: shape.go (is it one of ours), origin.go (may that page ask), limits.go (not so often),
// tokens.go and session.go (who is it), roles.go (may they). listen.go and unix_linux.go are below it, audit.go and redact.go beside it; client.go is the other side.
package access
