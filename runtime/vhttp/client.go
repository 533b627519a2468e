package vhttp

import (
	"net/http"

	"github.com/vtscope/vtscope/runtime/vthread"
)

// RoundTripper returns next for threads: a thread that waits for a response parks, where [http.Transport] would wait in a channel and so hold the carrier. The body
// is read as next gives it: with a transport whose connections are those of package vnet, a thread that reads it parks, too. On a goroutine it is next. An
// interrupt does not end a request: its context does, such as [vthread.Thread.Context].
func RoundTripper(next http.RoundTripper) http.RoundTripper { return roundTripper{next} }

type roundTripper struct{ next http.RoundTripper }

func (r roundTripper) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	vthread.Blocking(func() { resp, err = r.next.RoundTrip(req) })
	return resp, err
}

// CloseIdleConnections is that of next, if it has it.
func (r roundTripper) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
