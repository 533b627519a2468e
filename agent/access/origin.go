package access

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ownHost reports whether a request's Host is a name that only its own server can have: loopback's, the address that it listens on, one of the certificate, or one
// of the options. A page that points its own name at 127.0.0.1 has a name that is not.
func (p *Policy) ownHost(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || p.hosts[host] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.Unmap().IsLoopback() {
		return true
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if ap, err := netip.ParseAddrPort(local.String()); err == nil {
			return ap.Addr().Unmap() == ip.Unmap() // nobody can make a name of a number
		}
	}
	return false
}

// sameSite reports whether a request comes from this server's own page, from a link that the user followed, or from no browser at all.
func sameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host || u.Host == "" {
			return false
		}
		return u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil // a proxy may have ended TLS
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// Another site may link to the page; it may not load anything from here.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && !strings.Contains(r.URL.Path, "/api/")
}
