package agent

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/webui"
)

// Handler serves the page, the websocket and the HTTP interface. It may be used by several servers.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", webui.Handler())
	mux.HandleFunc("GET /ws", a.serveWebsocket)
	mux.HandleFunc("GET /api/v1/processes", a.serveProcesses)
	mux.HandleFunc("GET /api/v1/processes/{pid}/dump", a.serveDump)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such path, or not with this method: "+short(r.URL.Path), "GET /api/v1/processes")
	})
	return a.guard(mux)
}

// guard lets through only what comes from this machine's own user, as far as a request can tell.
func (a *Agent) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		switch {
		case !a.ownHost(r.Host):
			refuse(w, http.StatusForbidden, fmt.Sprintf("the host %q is not one of this server's", short(r.Host)), "http://localhost or http://127.0.0.1 with the same port")
		case !sameSite(r):
			refuse(w, http.StatusForbidden, "a page of another site asks", "open the address itself")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownHost reports whether a request's Host is a name that only this machine can have given it. A page that
// points its own name at 127.0.0.1 has a name that is not.
func (a *Agent) ownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(a.options.Hosts, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameSite reports whether a request comes from this server's own page, from a link that the user
// followed, or from no browser at all.
func sameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host == r.Host && u.Host != ""
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// Another site may link to the page; it may not load anything from here.
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && !strings.HasPrefix(r.URL.Path, "/api/")
}

func (a *Agent) serveWebsocket(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		refuse(w, http.StatusUpgradeRequired, "this address speaks websocket, subprotocol "+Subprotocol, "docs/protocol.md")
		return
	}
	if offered := websocket.Subprotocols(r); len(offered) > 0 && !slices.Contains(offered, Subprotocol) {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("none of the subprotocols %q is known", offered), Subprotocol)
		return
	}
	a.mu.Lock()
	full := a.mu.clients >= a.options.Clients
	if !full {
		a.mu.clients++
	}
	a.mu.Unlock()
	if full {
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are connected already", a.options.Clients), "close some")
		return
	}
	leave := func() {
		a.mu.Lock()
		a.mu.clients--
		a.mu.Unlock()
	}
	// Who may connect was decided by guard.
	up := websocket.Upgrader{
		Subprotocols: []string{Subprotocol}, CheckOrigin: func(*http.Request) bool { return true },
		ReadBufferSize: readLimit, WriteBufferSize: 16 << 10,
	}
	conn, err := up.Upgrade(w, r, nil) // answers by itself when it fails
	if err != nil {
		leave()
		return
	}
	c := &client{agent: a, conn: conn, subs: make(chan Subscription, 1), bad: make(chan Problem)}
	// The connection outlives the request, and Close waits for it.
	if !a.goWhileOpen(func() { defer leave(); c.serve() }) {
		leave()
		conn.Close()
	}
}

func (a *Agent) serveProcesses(w http.ResponseWriter, _ *http.Request) {
	rows := []ProcessRow{}
	for _, v := range a.views() {
		rows = append(rows, v.row)
	}
	answer(w, http.StatusOK, struct {
		Processes []ProcessRow `json:"processes"`
	}{rows})
}

// serveDump takes a snapshot, one at a time. Of a process that is gone it gives the last.
func (a *Agent) serveDump(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("pid")
	f := a.find(name)
	if f == nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("vtserve knows no process %s", short(name)), "GET /api/v1/processes")
		return
	}
	select {
	case a.dumps <- struct{}{}:
		defer func() { <-a.dumps }()
	case <-r.Context().Done():
		return
	case <-a.ctx.Done():
		return
	}
	s, err := f.dump(r.Context())
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error(), "again in a moment")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	dump.JSON(w, s) // an error is the client's: it went away
}

func refuse(w http.ResponseWriter, status int, what, try string) {
	answer(w, status, Problem{TypeError, what, try})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.Encode(body) // an error is the client's: it went away
}
