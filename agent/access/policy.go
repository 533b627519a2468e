package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// DefaultListen is the address that is listened on if none is given.
const DefaultListen = "127.0.0.1:7070"

// Options say who may ask. The zero value is usable: loopback, this user.
type Options struct {
	// Listen has addresses, HOST:PORT or unix:PATH. Default: [DefaultListen]. Who serves by listeners of their own gives none, and does not call [Policy.Listen].
	Listen []string

	Certificate, Key string // files in PEM, read again when they change: TLS
	ClientCA         string // file in PEM: certificates of clients that it signed are accepted, and demanded if there are no tokens
	Tokens           []Token

	// Hosts are names that the Host of a request may have, beside loopback's, the address listened on, and the names of the certificate.
	Hosts []string
	// Redact hides texts from all who ask. nil: nothing is hidden.
	Redact *Redactor
	// Audit is told what was done and what was refused, one line each. nil: nobody.
	Audit  *slog.Logger
	Limits Limits
}

// A Refusal is an error with the next step for the user.
type Refusal struct {
	error
	Try string
}

// Unwrap returns what was wrong.
func (r *Refusal) Unwrap() error { return r.error }

// Refuse adds the next step to an error.
func Refuse(err error, try string) error { return &Refusal{err, try} }

// A Policy decides who may ask what.
type Policy struct {
	options   Options
	addresses []address
	hosts     map[string]bool
	keys      *keyring
	sessions  sessions
	rates     rates
	failures  rates
	served    connections
	tls       *tls.Config // nil: none
	files     *keyPair

	mu struct {
		sync.Mutex
		quiet time.Time // refusals are not told one by one before that
		count int       // that were not told
	}
}

// New returns a policy. What others could use without a right is an error that matches [*Refusal].
func New(o Options) (*Policy, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	o.Limits = limits
	for _, t := range o.Tokens {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
	}
	if o.Redact == nil {
		o.Redact = &Redactor{}
	}
	p := &Policy{options: o, keys: newKeyring(o.Tokens), hosts: map[string]bool{}}
	p.sessions.init(limits.Sessions)
	p.rates.init(limits.Rate, float64(limits.Burst))
	p.failures.init(float64(limits.Failures)/60, float64(limits.Failures))
	p.served.init(limits.Connections, limits.PerPeer)
	for _, h := range o.Hosts {
		p.hosts[strings.ToLower(strings.TrimSuffix(strings.Trim(h, "[]"), "."))] = true
	}
	if err := p.readTLS(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	listen := o.Listen
	if len(listen) == 0 {
		listen = []string{DefaultListen}
	}
	for _, a := range listen {
		parsed, err := parseAddress(a)
		if err == nil {
			err = p.allows(parsed)
		}
		if err != nil {
			return nil, fmt.Errorf("access: listen on %s: %w", clean(a, 200), err)
		}
		p.addresses = append(p.addresses, parsed)
	}
	return p, nil
}

// open reports whether whoever is the same user needs no token.
func (p *Policy) open() bool { return len(p.options.Tokens) == 0 && p.options.ClientCA == "" }

// allows refuses an address that other machines reach, unless who asks must show who they are, and cannot be overheard.
func (p *Policy) allows(a address) error {
	if a.unix != "" || a.loopback {
		return nil
	}
	switch noTLS := p.tls == nil; {
	case p.open() && noTLS:
		return Refuse(errors.New("other machines reach it, and there is neither a token nor TLS"), "--token-file FILE --tls-cert FILE --tls-key FILE, or a loopback address, which ssh -L carries to another machine")
	case p.open():
		return Refuse(errors.New("other machines reach it, and there is no token"), "--token-file FILE or --client-ca FILE, or a loopback address, which ssh -L carries to another machine")
	case noTLS:
		return Refuse(errors.New("other machines reach it, and tokens would cross the network in clear text"), "--tls-cert FILE --tls-key FILE, or a loopback address, which ssh -L carries to another machine")
	}
	return nil
}

// readTLS reads certificates, if there are any.
func (p *Policy) readTLS() error {
	o := &p.options
	switch {
	case (o.Certificate == "") != (o.Key == ""):
		return Refuse(errors.New("a certificate without its key, or a key without its certificate"), "--tls-cert FILE --tls-key FILE")
	case o.Certificate == "" && o.ClientCA != "":
		return Refuse(errors.New("certificates of clients without TLS"), "--tls-cert FILE --tls-key FILE beside --client-ca FILE")
	case o.Certificate == "":
		return nil
	}
	p.files = &keyPair{cert: o.Certificate, key: o.Key}
	leaf, err := p.files.load()
	if err != nil {
		return err
	}
	for _, name := range leaf.DNSNames {
		if !strings.Contains(name, "*") {
			p.hosts[strings.ToLower(name)] = true
		}
	}
	for _, ip := range leaf.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			p.hosts[a.Unmap().String()] = true
		}
	}
	p.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, GetCertificate: p.files.get,
		NextProtos: []string{"http/1.1"}, // the websocket needs it, and what is not spoken is not attacked
	}
	if o.ClientCA != "" {
		pool, err := readPool(o.ClientCA)
		if err != nil {
			return err
		}
		p.tls.ClientCAs, p.tls.ClientAuth = pool, tls.VerifyClientCertIfGiven
		if len(o.Tokens) == 0 {
			p.tls.ClientAuth = tls.RequireAndVerifyClientCert
		}
	}
	return nil
}

// Redactor returns what hides texts; it is never nil.
func (p *Policy) Redactor() *Redactor { return p.options.Redact }

// roleOfCertificate is what the owner of a certificate may do that the client CA signed: operate if its subject has an organizational unit of that name, else read.
func roleOfCertificate(c *x509.Certificate) Caller {
	caller := Caller{Name: "certificate:" + clean(c.Subject.CommonName, 80), Role: Read}
	for _, unit := range c.Subject.OrganizationalUnit {
		if unit == Operate.String() {
			caller.Role = Operate
		}
	}
	return caller
}
