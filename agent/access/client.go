package access

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// ClientOptions say how to reach a server.
type ClientOptions struct {
	// Address is HOST:PORT, unix:PATH, or http(s)://HOST:PORT with a path if the server lies under one. HOST:PORT is http on loopback without CA and
	// Certificate, else https.
	Address string
	// Token is shown to the server, and to nobody else. Default: that of TokenFile; else of the environment, [EnvToken], or the file that [EnvTokenFile] names.
	Token            Secret
	NotOfEnvironment bool   // there is no default beyond TokenFile
	TokenFile        string // only its owner may read it: a token, or lines as [ParseTokens] reads them, of which the first with the most rights counts

	CA               string // file in PEM: the server's certificate is signed by one of these. Default: the system's
	Certificate, Key string // files in PEM, for a server that knows its clients by certificates
}

// A Client asks a server. It shows its token to that server alone: it follows no redirects, and sends none in clear text over a network.
type Client struct {
	base   *url.URL
	token  Secret
	tls    *tls.Config
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	client *http.Client

	transport *http.Transport
}

// NewClient returns a client. It connects to nothing.
func NewClient(o ClientOptions) (*Client, error) {
	c := &Client{dial: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}
	if err := c.aim(o); err != nil {
		return nil, fmt.Errorf("access: %s: %w", clean(o.Address, 200), err)
	}
	token, err := o.token()
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	c.token = token
	if c.token != "" && c.base.Scheme == "http" && c.base.Host != unixHost && !IsLoopback(c.base.Hostname()) {
		return nil, fmt.Errorf("access: %s: %w", clean(o.Address, 200), Refuse(errors.New("the token would cross the network in clear text"), "https://"+c.base.Host))
	}
	if c.base.Scheme == "https" {
		if c.tls, err = o.tls(); err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
	}
	c.transport = &http.Transport{
		DialContext: c.dial, TLSClientConfig: c.tls, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
	c.client = &http.Client{
		Transport: c,
		// A token goes nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// unixHost is the host of addresses of Unix sockets.
const unixHost = "localhost"

func (c *Client) aim(o ClientOptions) error {
	if path, ok := strings.CutPrefix(o.Address, "unix:"); ok {
		if path == "" {
			return errors.New("unix: without a path")
		}
		c.base = &url.URL{Scheme: "http", Host: unixHost}
		c.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "unix", path)
		}
		return nil
	}
	if strings.Contains(o.Address, "://") {
		u, err := url.Parse(o.Address)
		switch {
		case err != nil:
			return errors.New("not an address")
		case u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("%q is neither http nor https", clean(u.Scheme, 20))
		case u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return errors.New("want a host, a port and maybe a path, without user, query and fragment")
		}
		u.Path = strings.TrimSuffix(u.Path, "/")
		c.base = u
		return nil
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil || host == "" || port == "" || strings.ContainsAny(o.Address, "/?#@ \t") {
		return errors.New("not of the form HOST:PORT, unix:PATH or https://HOST:PORT")
	}
	c.base = &url.URL{Scheme: "https", Host: o.Address}
	if IsLoopback(host) && o.CA == "" && o.Certificate == "" {
		c.base.Scheme = "http"
	}
	return nil
}

func (o *ClientOptions) token() (Secret, error) {
	file := o.TokenFile
	switch {
	case o.Token != "":
		return o.Token, nil
	case file == "" && o.NotOfEnvironment:
		return "", nil
	case file == "":
		if s := strings.TrimSpace(os.Getenv(EnvToken)); s != "" {
			return Secret(s), nil
		}
		if file = os.Getenv(EnvTokenFile); file == "" {
			return "", nil
		}
	}
	text, err := readSecret(file)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	if words := strings.Fields(text); len(words) == 1 {
		return Secret(words[0]), nil
	}
	tokens, err := ParseTokens(text)
	if err != nil {
		return "", fmt.Errorf("token: %s: %w", file, err)
	}
	best := tokens[0]
	for _, t := range tokens {
		if t.Role > best.Role {
			best = t
		}
	}
	return best.Secret, nil
}

func (o *ClientOptions) tls() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}}
	var pool *x509.CertPool
	if o.CA != "" {
		var err error
		if pool, err = readPool(o.CA); err != nil {
			return nil, err
		}
	}
	t.RootCAs = pool
	if (o.Certificate == "") != (o.Key == "") {
		return nil, errors.New("a certificate without its key, or a key without its certificate")
	}
	if o.Certificate != "" {
		pair, err := (&keyPair{cert: o.Certificate, key: o.Key}).pair()
		if err != nil {
			return nil, err
		}
		t.Certificates = []tls.Certificate{*pair}
	}
	return t, nil
}

// pair reads the files.
func (k *keyPair) pair() (*tls.Certificate, error) {
	if _, err := k.load(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.pair, nil
}

// URL returns the address of a path of the server, such as "/api/v1/processes".
func (c *Client) URL(path string) string { return c.base.String() + path }

// WebsocketURL is [Client.URL] for a websocket.
func (c *Client) WebsocketURL(path string) string {
	u := *c.base
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	return u.String() + path
}

// HTTP returns a client for the server.
func (c *Client) HTTP() *http.Client { return c.client }

// Header returns what the handshake of a websocket must have beside its own. It is the caller's.
func (c *Client) Header() http.Header {
	h := http.Header{}
	if c.token != "" {
		h.Set("Authorization", "Bearer "+string(c.token))
	}
	return h
}

// TLS returns how a websocket connects: nil without TLS.
func (c *Client) TLS() *tls.Config {
	if c.tls == nil {
		return nil
	}
	return c.tls.Clone()
}

// Dial connects to the server, for a websocket: the address is that of [Client.WebsocketURL].
func (c *Client) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.dial(ctx, network, addr)
}

// RoundTrip sends a request with the token, to its own server only.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != c.base.Scheme || r.URL.Host != c.base.Host {
		return nil, fmt.Errorf("access: %s is not the server %s", clean(r.URL.Host, 80), c.base.Host)
	}
	r = r.Clone(r.Context())
	for k, v := range c.Header() {
		r.Header[k] = v
	}
	return c.transport.RoundTrip(r)
}

// Close closes connections that are not in use.
func (c *Client) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

// CloseIdleConnections closes those that are not in use; [http.Client] calls it.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// Explain returns an error for an answer that refuses, with the next step, or nil. It reads what the server said, which is not trusted to be short or printable.
func Explain(status int, said string) error {
	said = clean(cmp.Or(said, http.StatusText(status)), 300)
	switch status {
	case http.StatusUnauthorized:
		return Refuse(errors.New(said), EnvTokenFile+"=FILE, with a token of the server's")
	case http.StatusForbidden:
		return Refuse(errors.New(said), "a token of another role, or the address that the server has")
	case http.StatusTooManyRequests:
		return Refuse(errors.New(said), "again in a minute")
	}
	return nil
}

// Unreachable adds the next step to an error of a connection to an address; refused is that where nobody listens.
func (c *Client) Unreachable(address string, err error, refused string) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL, which the target is
	}
	try := ""
	switch unknown, header := (x509.UnknownAuthorityError{}), (tls.RecordHeaderError{}); {
	case errors.Is(err, context.Canceled):
	case errors.As(err, &unknown), errors.As(err, new(x509.HostnameError)):
		try = "--ca FILE, with the certificate that signed the server's; and the name that is in it"
	case errors.As(err, &header), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		try = "http://" + strings.TrimPrefix(address, "https://") + ": it speaks no TLS"
	case errors.Is(err, io.EOF) && strings.HasPrefix(c.URL(""), "http://"):
		try = "https://" + strings.TrimPrefix(address, "http://")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		try = refused
	case errors.Is(err, fs.ErrPermission):
		try = "as the user who runs vtserve"
	default:
		try = "whether the name and the port are right, and whether this machine may reach it"
	}
	return Refuse(fmt.Errorf("%s: %w", address, err), try)
}
