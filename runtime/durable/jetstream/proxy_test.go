package jetstream_test

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy is between a keeper and its server. It can hold what goes through it, as if the keeper's process were stopped, lose the answers, and cut.
type proxy struct {
	listener net.Listener
	to       string
	deaf     atomic.Bool                                           // what servers say is lost
	loses    atomic.Pointer[func(said []byte, byServer bool) bool] // what is lost of what is said
	wg       sync.WaitGroup
	mu       struct {
		sync.Mutex
		held  bool
		wake  *sync.Cond
		conns map[net.Conn]bool
	}
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: u.Host}
	p.mu.wake = sync.NewCond(&p.mu)
	p.mu.conns = map[net.Conn]bool{}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.listener.Close()
		p.hold(false)
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		s, err := net.Dial("tcp", p.to)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.mu.conns[c], p.mu.conns[s] = true, true
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(s, c, false) })
		p.wg.Go(func() { p.copy(c, s, true) })
	}
}

func (p *proxy) copy(to, from net.Conn, byServer bool) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		delete(p.mu.conns, from)
		p.mu.Unlock()
	}()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.mu.Lock()
		for p.mu.held {
			p.mu.wake.Wait()
		}
		p.mu.Unlock()
		lost := byServer && p.deaf.Load()
		if f := p.loses.Load(); f != nil {
			lost = lost || (*f)(b[:n], byServer)
		}
		if n > 0 && !lost {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold keeps everything until it is let go.
func (p *proxy) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.held = held
	p.mu.wake.Broadcast()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.mu.conns {
		c.Close()
	}
}
