package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/vtscope/vtscope/agent/access"
)

// reached says where it listens, and who may ask.
type reached struct {
	addrs     []string
	cert, key string
	clientCA  string
	tokenFile string
	hosts     []string
	redact    []string
	audit     string
}

// policy makes the policy that the flags and the environment ask for. The file, if there is one, is the caller's to close.
func (c *reached) policy(stderr io.Writer) (*access.Policy, io.Closer, error) {
	o := access.Options{Listen: c.addrs, Certificate: c.cert, Key: c.key, ClientCA: c.clientCA, Hosts: c.hosts}
	if len(o.Listen) == 0 {
		o.Listen = []string{defaultAddr}
	}
	var err error
	if o.Tokens, err = access.TakeEnvironment(); err != nil {
		return nil, nil, err
	}
	if c.tokenFile != "" {
		tokens, err := access.ReadTokens(c.tokenFile)
		if err != nil {
			return nil, nil, err
		}
		o.Tokens = append(o.Tokens, tokens...)
	}
	if o.Redact, err = access.ParseRules(c.redact...); err != nil {
		return nil, nil, err
	}
	// An action has its line somewhere: with no file for it, among what goes wrong.
	var file *os.File
	o.Audit = slog.New(slog.NewTextHandler(stderr, nil))
	if c.audit != "" {
		if o.Audit, file, err = access.OpenAudit(c.audit); err != nil {
			return nil, nil, err
		}
	}
	p, err := access.New(o)
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, nil, err
	}
	if file == nil {
		return p, io.NopCloser(nil), nil
	}
	return p, file, nil
}

// withHint gives an error of access the form of the command's own.
func withHint(err error) error {
	if r := (*access.Refusal)(nil); errors.As(err, &r) && r.Try != "" {
		return hint{err, r.Try}
	}
	return hint{err, "vtserve -h"}
}

// listenAll listens on all addresses.
func (c *reached) listenAll(p *access.Policy) ([]net.Listener, error) {
	listeners, err := p.Listen()
	var op *net.OpError
	switch {
	case err == nil:
		return listeners, nil
	case errors.As(err, &op):
		where := defaultAddr
		if op.Addr != nil {
			where = op.Addr.String()
		}
		return nil, listenError(where, err)
	}
	return nil, withHint(err)
}

// howToReach is what to say of an address after it.
func howToReach(address string) string {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return fmt.Sprintf("vtserve: for a browser: ssh -L 7070:%s HOST, then http://localhost:7070\n", path)
	}
	return ""
}
