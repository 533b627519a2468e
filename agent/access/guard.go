package access

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// Handler lets through to next what the policy allows. need tells which role a request needs; nil is [NeedByMethod]. A handler behind it finds who asks with
// [CallerOf], and a request whose role is [Operate] leaves a line in the audit.
//
// It may serve in a program's own server as well, under a prefix that http.StripPrefix takes away. Then it knows of a connection what the request says: loopback
// is this user, if there is no token and no proxy has been on the way; everybody else needs a token, and TLS.
func (p *Policy) Handler(next http.Handler, need func(*http.Request) Role) http.Handler {
	if need == nil {
		need = NeedByMethod
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		who := p.peer(r)
		caller := Caller{Peer: who.String()}
		if f := p.admit(r, who); f != nil {
			p.refuse(w, r, caller, f)
			return
		}
		watched := &statusWriter{ResponseWriter: w, patience: p.options.Limits.WriteTime}
		if f := p.readBody(w, r); f != nil {
			p.refuse(w, r, caller, f)
			return
		}
		if p.serveSession(w, r, who) {
			return
		}
		known, f := p.identify(r, who)
		if f != nil {
			if f.status == http.StatusUnauthorized && wantsPage(r) {
				p.loginPage(w, http.StatusUnauthorized, "")
				return
			}
			p.refuse(w, r, caller, f)
			return
		}
		caller.Name, caller.Role = known.Name, known.Role
		needed := need(r)
		if !caller.Role.May(needed) {
			p.refuse(w, r, caller, &fault{http.StatusForbidden, fmt.Sprintf("this needs the role %v: %s has %v", needed, caller.Name, caller.Role), "a token of that role"})
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
		if needed < Operate {
			next.ServeHTTP(watched, r)
			return
		}
		p.act(watched, r, caller, next)
	})
}

// readBody reads a body, which is small and must come soon, before anybody begins to work. While a handler does, no time is set: it may take long.
func (p *Policy) readBody(w http.ResponseWriter, r *http.Request) *fault {
	if r.ContentLength == 0 {
		r.Body = http.NoBody
		return nil
	}
	most := p.options.Limits.Body
	if r.ContentLength > most {
		return &fault{http.StatusRequestEntityTooLarge, fmt.Sprintf("a body of %d bytes: at most %d", r.ContentLength, most), "less"}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(p.options.Limits.BodyTime)) // a server of somebody else may have none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = control.SetReadDeadline(time.Time{})
	if err != nil {
		return &fault{http.StatusRequestTimeout, "the body did not come", "the request again"}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// act serves an action, and writes its line whatever becomes of it.
func (p *Policy) act(w *statusWriter, r *http.Request, caller Caller, next http.Handler) {
	began := time.Now()
	done := false
	defer func() {
		result := "panic"
		if done {
			result = strconv.Itoa(w.code())
		}
		p.line(levelInfo, "action", caller, r.Method+" "+r.URL.Path, r.PathValue("pid"), result, time.Since(began))
	}()
	next.ServeHTTP(w, r)
	done = true
}

// admit decides what does not depend on who asks.
func (p *Policy) admit(r *http.Request, who peer) *fault {
	if f := shape(r); f != nil {
		return f
	}
	if !p.ownHost(r) {
		return &fault{http.StatusForbidden, fmt.Sprintf("the host %q is not one of this server's", clean(r.Host, 40)), "http://localhost or http://127.0.0.1 with the same port, or --host NAME"}
	}
	if !sameSite(r) {
		return &fault{http.StatusForbidden, "a page of another site asks", "open the address itself"}
	}
	if ok, wait := p.rates.take(who.key(), time.Now(), true); !ok {
		return tooOften("too many requests", wait)
	}
	return nil
}

func tooOften(what string, wait time.Duration) *fault {
	return &fault{http.StatusTooManyRequests, what, "again in " + wait.String()}
}

// peer tells who is at the other end: what the listener saw, else what the request says.
func (p *Policy) peer(r *http.Request) peer {
	if who, ok := r.Context().Value(peerKey{}).(peer); ok {
		return who
	}
	return peerOf(r.RemoteAddr)
}

// identify tells who asks.
func (p *Policy) identify(r *http.Request, who peer) (Caller, *fault) {
	local := who.addr.IsLoopback() || who.unix
	if p.options.ClientCA != "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return roleOfCertificate(r.TLS.VerifiedChains[0][0]), nil
	}
	if who.unix && (!who.known || ownUID(who.uid)) { // the kernel has told, or the modes of socket and directory have
		return Caller{Name: who.String(), Role: Operate}, nil
	}
	if len(p.options.Tokens) > 0 {
		if !local && r.TLS == nil {
			return Caller{}, &fault{http.StatusForbidden, "a token would cross the network in clear text", "TLS"}
		}
		if shown, ok := bearer(r); ok {
			return p.checkToken(shown, who)
		}
		if caller, ok := p.sessions.find(r, who, time.Now()); ok {
			return caller, nil
		}
		return Caller{}, &fault{http.StatusUnauthorized, "no token", "Authorization: Bearer TOKEN, or open the address in a browser"}
	}
	switch {
	case !p.open():
		return Caller{}, &fault{http.StatusUnauthorized, "no certificate", "the certificate of a client that the server's CA signed"}
	case !local:
		return Caller{}, &fault{http.StatusForbidden, "other machines may not ask: there is no token", "--token-file FILE, or ssh -L"}
	case forwarded(r):
		return Caller{}, &fault{http.StatusForbidden, "a proxy asks for somebody: there is no token", "--token-file FILE"}
	case who.left:
		return Caller{}, &fault{http.StatusForbidden, "who asks was gone before the system could say who that is", "to wait for the answer"}
	case who.known && !ownUID(who.uid):
		return Caller{}, &fault{http.StatusForbidden, fmt.Sprintf("user %d asks, and this is a server of user %d", who.uid, os.Geteuid()), "--token-file FILE, or as that user"}
	}
	return Caller{Name: "local", Role: Operate}, nil
}

func ownUID(uid int) bool { return uid == 0 || uid == os.Geteuid() }

// forwarded reports whether a proxy says that it asks for somebody else, who is no more on loopback than the proxy lets them be.
func forwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// bearer returns the token of a request's head.
func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

// checkToken tells whose token it is. After too many wrong ones from an address none is looked at.
func (p *Policy) checkToken(shown string, who peer) (Caller, *fault) {
	now := time.Now()
	if ok, wait := p.failures.take(who.key(), now, false); !ok {
		return Caller{}, tooOften("too many wrong tokens", wait)
	}
	if len(shown) <= longestToken {
		if caller, ok := p.keys.find(shown); ok {
			return caller, nil
		}
	}
	p.failures.take(who.key(), now, true)
	return Caller{}, &fault{http.StatusUnauthorized, "a token that is none of this server's", "another token"}
}

// secure sets what tells browsers to be careful. Handlers may set another policy for what they serve.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// refuse answers with what is wrong, in the form of the agent's other errors, and writes a line.
func (p *Policy) refuse(w http.ResponseWriter, r *http.Request, caller Caller, f *fault) {
	p.refused(caller, r.Method+" "+r.URL.Path, fmt.Sprintf("%d %s", f.status, f.what))
	h := w.Header()
	switch f.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="vtscope"`)
	case http.StatusTooManyRequests:
		h.Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", "GET, POST")
	case http.StatusLengthRequired, http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		h.Set("Connection", "close") // what follows may be another half of it
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.Encode(struct {
		Type  string `json:"type"`
		Error string `json:"error"`
		Try   string `json:"try"`
	}{"error", f.what, f.try}) // an error is the client's: it went away
}

// IsLoopback reports whether a host, without a port, is this machine's own by its name or number.
func IsLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
