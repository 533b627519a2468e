package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// A session is a page that showed a token once, and shows a cookie since. Scripts cannot read the cookie, other sites cannot have it sent, and another address
// cannot use it. Sessions live in memory alone: they end with the server.
type session struct {
	caller  Caller
	peer    string
	expires time.Time
}

type sessions struct {
	most int
	mu   struct {
		sync.Mutex
		bySum map[[sha256.Size]byte]session // of the cookie's value: who reads this memory later has no cookie
	}
}

func (s *sessions) init(most int) {
	s.most = most
	s.mu.bySum = map[[sha256.Size]byte]session{}
}

// begin returns the value of a cookie for who showed a token.
func (s *sessions) begin(caller Caller, who peer, now time.Time, lasts time.Duration) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	value := base64.RawURLEncoding.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.mu.bySum) >= s.most {
		var first [sha256.Size]byte
		var at time.Time
		for sum, old := range s.mu.bySum {
			if at.IsZero() || old.expires.Before(at) {
				first, at = sum, old.expires
			}
		}
		delete(s.mu.bySum, first)
	}
	s.mu.bySum[sha256.Sum256([]byte(value))] = session{caller, who.key(), now.Add(lasts)}
	return value
}

// find returns who a request's cookie belongs to. A cookie has 256 bits, and is looked up by its sum: there is nothing to guess bit by bit.
func (s *sessions) find(r *http.Request, who peer, now time.Time) (Caller, bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return Caller{}, false
	}
	sum := sha256.Sum256([]byte(c.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.mu.bySum[sum]
	if !ok || found.peer != who.key() {
		return Caller{}, false
	}
	if now.After(found.expires) {
		delete(s.mu.bySum, sum)
		return Caller{}, false
	}
	return found.caller, true
}

func (s *sessions) end(r *http.Request) {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.mu.bySum, sha256.Sum256([]byte(c.Value)))
	}
}

// cookieName has the port in it, because browsers share cookies between the ports of a host.
func cookieName(r *http.Request) string {
	name := "vtscope"
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		if ap, err := netip.ParseAddrPort(local.String()); err == nil {
			_, port, _ := net.SplitHostPort(ap.String())
			name += "-" + port
		}
	}
	if r.TLS != nil {
		return "__Secure-" + name
	}
	return name
}

const (
	loginPath  = "/access/login"
	logoutPath = "/access/logout"
)

// serveSession answers what is about sessions, and reports whether it did.
func (p *Policy) serveSession(w http.ResponseWriter, r *http.Request, who peer) bool {
	in, out := strings.HasSuffix(r.URL.Path, loginPath), strings.HasSuffix(r.URL.Path, logoutPath)
	if !in && !out || len(p.options.Tokens) == 0 {
		return false
	}
	caller := Caller{Peer: who.String()}
	if r.Method != http.MethodPost {
		p.refuse(w, r, caller, &fault{http.StatusMethodNotAllowed, "no such method here", "POST"})
		return true
	}
	if !who.addr.IsLoopback() && !who.unix && r.TLS == nil {
		p.refuse(w, r, caller, &fault{http.StatusForbidden, "a token would cross the network in clear text", "TLS"})
		return true
	}
	if out {
		known, _ := p.sessions.find(r, who, time.Now())
		p.sessions.end(r)
		caller.Name, caller.Role = known.Name, known.Role
		p.line(levelInfo, "logout", caller, "session", "", "ended", 0)
		p.leave(w, r, "", -1)
		return true
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		p.refuse(w, r, caller, &fault{http.StatusUnsupportedMediaType, "not a form", "the page at /"})
		return true
	}
	if err := r.ParseForm(); err != nil {
		p.refuse(w, r, caller, &fault{http.StatusBadRequest, "not a form", "the page at /"})
		return true
	}
	known, f := p.checkToken(strings.TrimSpace(r.PostForm.Get("token")), who)
	if f != nil {
		p.refused(caller, "login", f.what)
		p.loginPage(w, f.status, f.what)
		return true
	}
	caller.Name, caller.Role = known.Name, known.Role
	p.line(levelInfo, "login", caller, "session", "", "begun", 0)
	lasts := p.options.Limits.SessionTime
	p.leave(w, r, p.sessions.begin(known, who, time.Now(), lasts), int(lasts.Seconds()))
	return true
}

// leave sets the cookie and sends the browser back to the page.
func (p *Policy) leave(w http.ResponseWriter, r *http.Request, value string, age int) {
	// What the browser asked for has the prefix that a server's own handler may have taken away.
	prefix, _, _ := strings.Cut(r.RequestURI, "/access/")
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: value, Path: prefix + "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	w.Header().Set("Location", "../")
	w.WriteHeader(http.StatusSeeOther)
}

// wantsPage reports whether a person opened the page.
func wantsPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.Contains(r.URL.Path, "/api/")
}

var loginTemplate = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>vtscope</title></head>
<body>
<h1>vtscope</h1>
<form method="post" action="access/login" autocomplete="off">
<p><label>Token <input type="password" name="token" required autofocus></label> <button>Open</button></p>
{{with .}}<p role="alert">{{.}}</p>{{end}}
</form>
</body>
</html>
`))

// loginPage asks for a token. Its action is relative to the page, which lies at the root or under a prefix.
func (p *Policy) loginPage(w http.ResponseWriter, status int, problem string) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "same-origin") // else the form's Origin is null
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="vtscope"`)
	}
	w.WriteHeader(status)
	loginTemplate.Execute(w, problem) // an error is the client's: it went away
}
