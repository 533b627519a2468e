package access

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"
)

// Limits bound what those who ask may cost. A zero field means its default.
type Limits struct {
	Body        int64         // bytes of a request's body: 64 KiB
	Header      int           // bytes of a request's head, and about 4 KiB more: 16 KiB
	Connections int           // at a time: 512
	PerPeer     int           // of these, from one address: 256
	Rate        float64       // requests in a second from one address: 100
	Burst       int           // at once: 400
	Failures    int           // wrong tokens in a minute from one address: 10
	Sessions    int           // pages that showed a token: 64; the oldest goes
	HeaderTime  time.Duration // for the head of a request, and the handshake: 5 s
	BodyTime    time.Duration // for its body: 10 s
	WriteTime   time.Duration // to take a piece of the answer: 1 min
	IdleTime    time.Duration // between two requests: 1 min
	SessionTime time.Duration // of a page that showed a token: 12 h
}

func (l Limits) withDefaults() (Limits, error) {
	given := l
	l.Body, l.Header = cmp.Or(l.Body, 64<<10), cmp.Or(l.Header, 16<<10)
	l.Connections, l.PerPeer = cmp.Or(l.Connections, 512), cmp.Or(l.PerPeer, 256)
	l.Rate, l.Burst, l.Failures = cmp.Or(l.Rate, 100), cmp.Or(l.Burst, 400), cmp.Or(l.Failures, 10)
	l.Sessions = cmp.Or(l.Sessions, 64)
	l.HeaderTime, l.BodyTime = cmp.Or(l.HeaderTime, 5*time.Second), cmp.Or(l.BodyTime, 10*time.Second)
	l.WriteTime, l.IdleTime = cmp.Or(l.WriteTime, time.Minute), cmp.Or(l.IdleTime, time.Minute)
	l.SessionTime = cmp.Or(l.SessionTime, 12*time.Hour)
	if l.Body < 0 || l.Header < 0 || l.Connections < 0 || l.PerPeer < 0 || !(l.Rate > 0) || l.Burst < 0 || l.Failures < 0 || l.Sessions < 0 ||
		l.HeaderTime < 0 || l.BodyTime < 0 || l.WriteTime < 0 || l.IdleTime < 0 || l.SessionTime < 0 {
		return l, fmt.Errorf("limits %+v: one is negative", given)
	}
	return l, nil
}

// maxPeers bounds the addresses that are remembered: the one that was quiet longest is forgotten.
const maxPeers = 4096

// rates are buckets by address: each is filled at a rate up to what fits, and every event takes one.
type rates struct {
	rate, burst float64
	mu          struct {
		sync.Mutex
		peers map[string]*bucket
	}
}

type bucket struct {
	left float64
	at   time.Time
}

func (r *rates) init(rate, burst float64) {
	r.rate, r.burst = rate, burst
	r.mu.peers = map[string]*bucket{}
}

// take takes one, if take is set, and reports whether there was one; else how long it lasts until there is.
func (r *rates) take(peer string, now time.Time, take bool) (ok bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.mu.peers[peer]
	if b == nil {
		if !take {
			return true, 0
		}
		if len(r.mu.peers) >= maxPeers {
			r.forgetLocked()
		}
		b = &bucket{r.burst, now}
		r.mu.peers[peer] = b
	}
	if since := now.Sub(b.at).Seconds(); since > 0 {
		b.left = min(r.burst, b.left+since*r.rate)
		b.at = now
	}
	if b.left < 1 {
		return false, time.Duration(math.Ceil((1-b.left)/r.rate)) * time.Second
	}
	if take {
		b.left--
	}
	return true, 0
}

func (r *rates) forgetLocked() {
	var oldest string
	var at time.Time
	for peer, b := range r.mu.peers {
		if oldest == "" || b.at.Before(at) {
			oldest, at = peer, b.at
		}
	}
	delete(r.mu.peers, oldest)
}

// connections counts those that are open, by address.
type connections struct {
	most, each int
	mu         struct {
		sync.Mutex
		all     int
		peers   map[string]int
		refused uint64
	}
}

func (c *connections) init(most, each int) {
	c.most, c.each = most, each
	c.mu.peers = map[string]int{}
}

// enter counts one, unless there are too many.
func (c *connections) enter(peer string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.all >= c.most || c.mu.peers[peer] >= c.each {
		c.mu.refused++
		return false
	}
	c.mu.all++
	c.mu.peers[peer]++
	return true
}

func (c *connections) leave(peer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.all--
	if c.mu.peers[peer]--; c.mu.peers[peer] == 0 {
		delete(c.mu.peers, peer)
	}
}

// Refused returns how many connections were refused because there were too many.
func (p *Policy) Refused() uint64 {
	p.served.mu.Lock()
	defer p.served.mu.Unlock()
	return p.served.mu.refused
}
