package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
)

// Path is where package net/http/pprof serves, and what tells its addresses from those of an agent.
const Path = "/debug/pprof"

// An Endpoint is a profile of goroutines that a program serves.
type Endpoint struct {
	Base string // the address that ends in [Path], with a scheme
	path string // beyond it
	text bool
}

// Parse reads an address, with or without a scheme. That of all profiles means the one of goroutines. Its error
// matches [*access.Refusal].
func Parse(address string) (e Endpoint, err error) {
	i := strings.Index(address, Path)
	if i < 0 {
		return e, access.Refuse(fmt.Errorf("%s: no address of package net/http/pprof", address), "http://HOST:PORT"+Path+"/")
	}
	i += len(Path)
	if e.Base = address[:i]; !strings.Contains(e.Base, "://") {
		e.Base = "http://" + e.Base
	}
	name, query, _ := strings.Cut(strings.Trim(address[i:], "/"), "?")
	values, err := url.ParseQuery(query)
	switch name {
	case "":
		name = "goroutine"
	case "goroutine", "goroutineleak":
	default:
		return e, access.Refuse(fmt.Errorf("%s: only the profile of goroutines can be read", address), e.Base+"/, or go tool pprof "+address)
	}
	debug := values.Get("debug")
	values.Del("debug")
	if err != nil || len(values) > 0 || debug != "" && debug != "0" && debug != "1" && debug != "2" {
		return e, access.Refuse(fmt.Errorf("%s: the only parameter that can be given is debug=0, 1 or 2", address), e.Base+"/"+name+"?debug=2")
	}
	e.path, e.text = "/"+name, debug == "2"
	if debug != "" {
		e.path += "?debug=" + debug
	}
	return e, nil
}

// Stops reports whether the program stands still while it writes the profile: for the text of debug=2.
func (e Endpoint) Stops() bool { return e.text }

// LeastInterval is the time between two profiles that a program is asked for again and again: each costs it.
func (e Endpoint) LeastInterval() time.Duration {
	if e.text {
		return 10 * time.Second
	}
	return 2 * time.Second
}

// A Client asks a program.
type Client struct {
	at     Endpoint
	client *access.Client
}

// Open returns a client. It connects to nothing. Of the options the address is the endpoint's, and a token of
// the environment is not shown: that is for agents. Its error matches [*access.Refusal].
func (e Endpoint) Open(o access.ClientOptions) (*Client, error) {
	o.Address, o.NotOfEnvironment = e.Base, true
	c, err := access.NewClient(o)
	if err != nil && !errors.As(err, new(*access.Refusal)) {
		err = access.Refuse(err, "http://HOST:PORT"+Path+"/")
	}
	if err != nil {
		return nil, err
	}
	return &Client{e, c}, nil
}

// Address is what [Parse] would make the endpoint of.
func (c *Client) Address() string { return c.at.Base + c.at.path }

// Stops is that of the endpoint.
func (c *Client) Stops() bool { return c.at.Stops() }

// Close closes the connections.
func (c *Client) Close() { c.client.Close() }

const (
	// answerTime is how long a program may take to begin its answer: it writes the text of 100,000 goroutines in about 7 s.
	answerTime = time.Minute
	// largest is how many bytes of an answer are read.
	largest = 1 << 30
)

// errSilent says that a program has accepted a connection and does not answer.
var errSilent = fmt.Errorf("no answer in %s", dump.Span(answerTime))

// Read asks for the goroutines as they are now. It blocks for a minute at most until the answer begins. Its error
// is that of ctx, or matches [*access.Refusal].
func (c *Client) Read(ctx context.Context, o goroutines.Options) (*goroutines.Dump, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(answerTime, func() { cancel(errSilent) })
	defer silent.Stop()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.client.URL(c.at.path), nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.client.HTTP().Do(q)
	switch {
	case err == nil:
	case context.Cause(ctx) == errSilent:
		return nil, access.Refuse(fmt.Errorf("%s: %w", c.at.Base, errSilent), "vtdump PID on its machine, which needs no answer")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		return nil, c.client.Unreachable(c.at.Base, err, "whether the program serves there, and whether this machine may reach it")
	}
	defer answer.Body.Close()
	silent.Stop()
	if answer.StatusCode != http.StatusOK {
		return nil, c.refused(answer)
	}
	if o.Name == "" {
		o.Name = q.URL.Host
	}
	d, err := goroutines.Read(io.LimitReader(answer.Body, largest), o)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // not goroutines.ErrNone: an address is no file that may be something else
		return nil, access.Refuse(fmt.Errorf("%s: the answer is no profile of goroutines: %v", c.at.Base, err),
			"http://HOST:PORT"+Path+"/, where the program serves package net/http/pprof")
	}
	if !c.at.text {
		name, _, _ := strings.Cut(c.at.path, "?")
		d.Miss("%s%s?debug=2 has them, and stops the program while it is written", c.at.Base, name)
	}
	return d, nil
}

// refused is the error of an answer with another status than 200. What it says is not trusted.
func (c *Client) refused(answer *http.Response) error {
	if err := access.Explain(answer.StatusCode, ""); err != nil {
		var no *access.Refusal
		errors.As(err, &no)
		return access.Refuse(fmt.Errorf("%s: %w", c.at.Base, err), no.Try)
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line != "" {
		line = ": " + dump.Printable(line)
	}
	return access.Refuse(fmt.Errorf("%s: it answers %q for %s%s", c.at.Base, answer.Status, c.at.path, line),
		`the program must serve package net/http/pprof there: import _ "net/http/pprof"; without it, vtdump PID on its machine`)
}
