package agent

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent/access"
)

// admit counts a page that connects, unless there are too many; leave is for when it goes.
func (a *Agent) admit() (leave func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.clients >= a.options.Clients {
		return nil, refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d pages are connected already", a.options.Clients), "close some"}
	}
	a.mu.clients++
	return func() {
		a.mu.Lock()
		a.mu.clients--
		a.mu.Unlock()
	}, nil
}

func (a *Agent) serveWebsocket(w http.ResponseWriter, r *http.Request, _ *ask) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return refusal{http.StatusUpgradeRequired, "this address speaks websocket, subprotocol " + Subprotocol, "docs/protocol.md"}
	}
	if offered := websocket.Subprotocols(r); len(offered) > 0 && !slices.Contains(offered, Subprotocol) {
		return refusal{http.StatusBadRequest, fmt.Sprintf("none of the subprotocols %q is known", offered), Subprotocol}
	}
	leave, err := a.admit()
	if err != nil {
		return err
	}
	// Who may connect was decided by access.
	up := websocket.Upgrader{
		Subprotocols: []string{Subprotocol}, CheckOrigin: func(*http.Request) bool { return true },
		ReadBufferSize: readLimit, WriteBufferSize: 16 << 10, EnableCompression: !fromHere(r),
	}
	conn, err := up.Upgrade(w, r, nil) // answers by itself when it fails
	if err != nil {
		leave()
		return nil
	}
	keepLittle(conn.NetConn())
	c := &client{agent: a, caller: access.CallerOf(r.Context()), conn: conn, subs: make(chan Subscription, 1), bad: make(chan Problem), came: make(chan uint64, 1)}
	// The connection outlives the request, and Close waits for it.
	if !a.goWhileOpen(func() { defer leave(); c.serve() }) {
		leave()
		conn.Close()
	}
	return nil
}

// mostWaiting is how many bytes may wait in the kernel for a slow client. What waits there is old when it comes: at 50 KB/s half a second.
const mostWaiting = 16 << 10 // of which Linux makes twice as many

// keepLittle lets few bytes wait in a connection.
func keepLittle(conn net.Conn) {
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	if c, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
		c.SetWriteBuffer(mostWaiting) // if it cannot be set the client sees older frames, and that is all
	}
}

// fromHere reports whether a request did not cross a network: then compressing costs more than it saves.
func fromHere(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err != nil || at.Addr().Unmap().IsLoopback() // a Unix socket has no such address
}

func refuse(w http.ResponseWriter, status int, what, try string) {
	answer(w, status, Problem{Type: TypeError, Error: what, Try: try})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.Encode(body) // an error is the client's: it went away
}
