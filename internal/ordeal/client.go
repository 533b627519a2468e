package ordeal

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/vtscope/vtscope/runtime/vnet"
)

// A client asks the ledger, from threads and goroutines. A worker without its ledger is of no use: it ends.
type client struct {
	address string
	mu      struct {
		sync.Mutex
		idle []*line
	}
}

// A line is a connection that one asks over at a time.
type line struct {
	conn net.Conn
	in   *json.Decoder
	out  *json.Encoder
}

func (c *client) effect(e Effect) int64 { return c.tell(question{Asks: asksEffect, Effect: e}).Number }

func (c *client) tell(q question) (a answer) {
	c.mu.Lock()
	var l *line
	if n := len(c.mu.idle); n > 0 {
		l, c.mu.idle = c.mu.idle[n-1], c.mu.idle[:n-1]
	}
	c.mu.Unlock()
	if l == nil {
		conn, err := vnet.Dial("tcp", c.address)
		if err != nil {
			lost(err)
		}
		l = &line{conn, json.NewDecoder(conn), json.NewEncoder(conn)}
	}
	// Never twice: an effect is one attempt.
	if err := l.out.Encode(q); err != nil {
		lost(err)
	}
	if err := l.in.Decode(&a); err != nil {
		lost(err)
	}
	c.mu.Lock()
	c.mu.idle = append(c.mu.idle, l)
	c.mu.Unlock()
	return a
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.mu.idle {
		l.conn.Close()
	}
	c.mu.idle = nil
}

func lost(err error) {
	fmt.Fprintf(os.Stderr, "ordeal: the ledger is lost: %v\n", err)
	os.Exit(4)
}
