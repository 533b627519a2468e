package access

import (
	"net/http"
	"path"
	"strings"
)

// A fault is what is wrong with a request.
type fault struct {
	status    int
	what, try string
}

var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true}

// secretParameters are names under which somebody might put a token into a URL, where histories and logs of proxies keep it.
var secretParameters = []string{"token", "access_token", "bearer", "authorization", "api_key", "apikey", "password", "secret"}

// shape finds what no request of ours has. All of it comes before who asks is known.
func shape(r *http.Request) *fault {
	switch {
	case !methods[r.Method]:
		return &fault{http.StatusMethodNotAllowed, "no such method here", "GET or POST"}
	case r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.RequestURI, "/"):
		return &fault{http.StatusBadRequest, "this is no proxy", "a request line with a path"}
	case r.URL.RawPath != "" || strings.Trim(r.URL.Path, pathCharacters) != "" || !cleanPath(r.URL.Path):
		return &fault{http.StatusNotFound, "no such path", "GET /api/v1/processes"}
	case len(r.TransferEncoding) > 0 || r.ContentLength < 0:
		return &fault{http.StatusLengthRequired, "a body whose length is not told", "Content-Length"}
	case r.ContentLength > 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return &fault{http.StatusBadRequest, "a " + r.Method + " with a body", "the request without it"}
	case r.Header.Get("Content-Encoding") != "" && !strings.EqualFold(r.Header.Get("Content-Encoding"), "identity"):
		return &fault{http.StatusUnsupportedMediaType, "a compressed body", "the body as it is"}
	case r.ProtoMajor != 1 && !(r.ProtoMajor == 2 && r.TLS != nil):
		return &fault{http.StatusHTTPVersionNotSupported, "another version of HTTP", "HTTP/1.1, or HTTP/2 over TLS"}
	case r.ProtoMajor == 2 && leftOfOne(r):
		return &fault{http.StatusBadRequest, "a head of HTTP/1.1 within HTTP/2", "the request without it"}
	case upgradesElsewhere(r):
		return &fault{http.StatusBadRequest, "an upgrade to something else than a websocket", "the request without it"}
	}
	query := r.URL.Query()
	for _, name := range secretParameters {
		if query.Has(name) {
			return &fault{http.StatusBadRequest, "a token in an address, where logs and histories keep it: it should be replaced", "Authorization: Bearer TOKEN"}
		}
	}
	return nil
}

// leftOfOne reports whether a request of HTTP/2 has what only HTTP/1.1 has (RFC 9113, 8.2.2), another host than its authority, or a length of no body: a proxy that
// passed it on as HTTP/1.1 would make two requests of it. A server of Go takes hardly any of these; it need not be one.
func leftOfOne(r *http.Request) bool {
	for _, name := range []string{"Connection", "Upgrade", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "HTTP2-Settings"} {
		if _, has := r.Header[http.CanonicalHeaderKey(name)]; has {
			return true
		}
	}
	for _, host := range r.Header["Host"] {
		if host != r.Host {
			return true
		}
	}
	length := r.Header.Get("Content-Length")
	return r.ContentLength == 0 && length != "" && length != "0"
}

// pathCharacters are those of all paths of ours.
const pathCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:@,+="

func cleanPath(p string) bool {
	trimmed := p
	if len(p) > 1 {
		trimmed = strings.TrimSuffix(p, "/")
	}
	return path.Clean(p) == trimmed && len(p) <= 1024
}

// upgradesElsewhere reports whether a request asks for another protocol than the websocket's, as h2c does.
func upgradesElsewhere(r *http.Request) bool {
	for _, line := range r.Header.Values("Upgrade") {
		for word := range strings.SplitSeq(line, ",") {
			if !strings.EqualFold(strings.TrimSpace(word), "websocket") {
				return true
			}
		}
	}
	return r.Header.Get("HTTP2-Settings") != ""
}
