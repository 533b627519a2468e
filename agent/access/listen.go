package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// An address is one to listen on.
type address struct {
	unix     string // path; "": TCP
	hostport string
	loopback bool
}

func parseAddress(s string) (address, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		switch {
		case path == "":
			return address{}, errors.New("unix: without a path")
		case strings.ContainsAny(path[:1], "@\x00") || strings.ContainsRune(path, 0):
			return address{}, errors.New("an abstract socket has no permissions: want a path")
		}
		return address{unix: path}, nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return address{}, errors.New("not of the form HOST:PORT or unix:PATH")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return address{}, fmt.Errorf("%q is not a port", clean(port, 20))
	}
	ip, err := netip.ParseAddr(host)
	return address{hostport: s, loopback: host == "localhost" || err == nil && ip.Unmap().IsLoopback()}, nil
}

// CheckAddress reports an error if an address to listen on is none.
func CheckAddress(s string) error {
	_, err := parseAddress(s)
	return err
}

// Listen listens on all addresses, or on none. The caller closes the listeners; serve them with [Policy.Server].
func (p *Policy) Listen() ([]net.Listener, error) {
	var all []net.Listener
	for _, a := range p.addresses {
		l, err := p.listen(a)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func (p *Policy) listen(a address) (net.Listener, error) {
	if a.unix != "" {
		l, err := listenUnix(a.unix)
		if err != nil {
			return nil, fmt.Errorf("listen on unix:%s: %w", a.unix, err)
		}
		return &listener{Listener: l, policy: p, unix: true}, nil
	}
	l, err := net.Listen("tcp", a.hostport)
	if err != nil {
		return nil, err
	}
	// A name may stand for more than it says.
	bound, ok := l.Addr().(*net.TCPAddr)
	a.loopback = ok && bound.IP.IsLoopback()
	if err := p.allows(a); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen on %s: %w", a.hostport, err)
	}
	limited := &listener{Listener: l, policy: p}
	if p.tls != nil {
		return tls.NewListener(limited, p.tls), nil
	}
	return limited, nil
}

// URL is what a client calls a listener's address.
func (p *Policy) URL(l net.Listener) string {
	switch {
	case l.Addr().Network() == "unix":
		return "unix:" + l.Addr().String()
	case p.tls != nil:
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// A listener counts connections, and knows who is at their other end.
type listener struct {
	net.Listener
	policy *Policy
	unix   bool
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		who := l.peer(c)
		if !l.policy.served.enter(who.key()) {
			c.Close()
			l.policy.refused(Caller{Peer: who.String()}, "connection", "too many connections")
			continue
		}
		return &conn{Conn: c, peer: who, leave: sync.OnceFunc(func() { l.policy.served.leave(who.key()) })}, nil
	}
}

func (l *listener) peer(c net.Conn) peer {
	if l.unix {
		uid, known := unixUID(c)
		return peer{unix: true, uid: uid, known: known}
	}
	who := peerOf(c.RemoteAddr().String())
	if l.policy.open() && who.addr.IsLoopback() {
		who.uid, who.known, who.left = tcpUID(c)
	}
	return who
}

// A conn is a connection that is counted until it is closed.
type conn struct {
	net.Conn
	peer  peer
	leave func()
}

func (c *conn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

func (c *conn) RemoteAddr() net.Addr {
	if c.peer.unix {
		return unixAddr(c.peer.String())
	}
	return c.Conn.RemoteAddr()
}

type unixAddr string

func (unixAddr) Network() string  { return "unix" }
func (a unixAddr) String() string { return string(a) }

// A peer is who is at the other end of a connection.
type peer struct {
	addr  netip.Addr
	unix  bool
	uid   int
	known bool // uid is
	left  bool // it was gone before the system could be asked who it is
}

func peerOf(remote string) peer {
	if ap, err := netip.ParseAddrPort(remote); err == nil {
		return peer{addr: ap.Addr().Unmap().WithZone("")}
	}
	return peer{}
}

// key is what limits count by. An owner of an IPv6 network has 2^64 addresses, which count as one.
func (p peer) key() string {
	if p.addr.Is6() && !p.addr.IsLoopback() {
		if net, err := p.addr.Prefix(64); err == nil {
			return net.String()
		}
	}
	if p.addr.IsLoopback() { // a user of this machine has 2^24 of them
		if p.known {
			return "loopback uid " + strconv.Itoa(p.uid)
		}
		return "loopback"
	}
	return p.String()
}

func (p peer) String() string {
	switch {
	case p.unix && p.known:
		return "unix:" + strconv.Itoa(p.uid)
	case p.unix:
		return "unix"
	case p.known:
		return p.addr.String() + " uid " + strconv.Itoa(p.uid)
	case p.addr.IsValid():
		return p.addr.String()
	}
	return "unknown"
}

type peerKey struct{}

// Server returns a server of handler with the limits of the policy, for its listeners.
func (p *Policy) Server(handler http.Handler) *http.Server {
	l := &p.options.Limits
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, Protocols: &protocols,
		ReadHeaderTimeout: l.HeaderTime, IdleTimeout: l.IdleTime, MaxHeaderBytes: l.Header, // times for bodies and answers are the handler's: both may be long in coming
		ErrorLog:                     log.New(errorLog{p}, "", 0),
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn()
			}
			if c, ok := c.(*conn); ok {
				ctx = context.WithValue(ctx, peerKey{}, c.peer)
			}
			return ctx
		},
	}
}
