package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/agent/endpoint"
)

// sources is what is shown.
type sources struct {
	pids    []int
	files   []string
	remotes []access.ClientOptions
	pprof   []access.ClientOptions
}

// add takes an argument that is no flag: a pid, an address of package net/http/pprof, or a file.
func (s *sources) add(arg string) error {
	if strings.Contains(arg, endpoint.Path) && strings.Contains(arg, ":") {
		return s.endpoint(arg)
	}
	if pid, err := strconv.Atoi(arg); err == nil {
		if pid < 1 {
			return fmt.Errorf("%q is not a pid", arg)
		}
		s.pids = append(s.pids, pid)
		return nil
	}
	if _, err := os.Stat(arg); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%q is neither a pid nor a file: want a recording, an incident bundle, a core file, or a dump of goroutines", arg)
		}
		return err
	}
	s.files = append(s.files, arg)
	return nil
}

// connect takes the value of --connect.
func (s *sources) connect(v string) error {
	o, err := parseClient(v)
	s.remotes = append(s.remotes, o)
	return err
}

// endpoint takes the value of --pprof.
func (s *sources) endpoint(v string) error {
	o, err := parseClient(v)
	if err == nil {
		_, err = endpoint.Parse(o.Address)
	}
	s.pprof = append(s.pprof, o)
	return err
}

// parseClient reads an address, and what its server demands.
func parseClient(v string) (access.ClientOptions, error) {
	address, rest, _ := strings.Cut(v, ",")
	o := access.ClientOptions{Address: address}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, ",")
		name, file, _ := strings.Cut(part, "=")
		to := map[string]*string{"token-file": &o.TokenFile, "ca": &o.CA, "cert": &o.Certificate, "key": &o.Key}[name]
		if to == nil || file == "" {
			return o, fmt.Errorf("%q: want ADDRESS, and then maybe ,token-file=FILE ,ca=FILE ,cert=FILE and ,key=FILE", part)
		}
		*to = file
	}
	return o, nil
}

// check refuses what cannot be done together.
func (s *settings) checkSources() error {
	switch {
	case s.goroutines && len(s.pids) > 0:
		return errors.New("--goroutines and a pid: without --goroutines the goroutines of a pid are shown, too")
	case s.demo && len(s.pids) > 0:
		return errors.New("--demo and a pid: choose one")
	case len(s.redact) > 0 && len(s.files) > 0:
		return errors.New("--redact and a file: what a file tells is not hidden; vtserve without the file")
	case len(s.redact) > 0 && len(s.remotes) > 0:
		return errors.New("--redact and --connect: what another agent tells it must hide itself")
	}
	return nil
}

// options adds the sources to those of the agent. Without a pid and a demo, files and other agents are all that is shown.
func (s *settings) show(o *agent.Options) error {
	o.PIDs, o.Files, o.Goroutines, o.Scopes = s.pids, s.files, s.goroutines, s.scopes
	o.NoLocal = len(s.files)+len(s.remotes)+len(s.pprof) > 0 && len(s.pids) == 0 && !s.demo && !s.local && !s.goroutines
	err := s.open(o)
	if err != nil {
		for _, made := range o.Remotes {
			made.Client.Close()
		}
		for _, made := range o.Endpoints {
			made.Client.Close()
		}
		var no *access.Refusal
		if errors.As(err, &no) {
			return hint{err, no.Try}
		}
		return hint{err, "--connect HOST:PORT, or https://HOST:PORT,token-file=FILE"}
	}
	return nil
}

// open makes the clients.
func (s *settings) open(o *agent.Options) error {
	for _, r := range s.remotes {
		c, err := access.NewClient(r)
		if err != nil {
			return err
		}
		o.Remotes = append(o.Remotes, agent.Remote{Name: nameOf(r.Address), Client: c})
	}
	for _, r := range s.pprof {
		at, err := endpoint.Parse(r.Address)
		if err != nil {
			return err
		}
		c, err := at.Open(r)
		if err != nil {
			return err
		}
		o.Endpoints = append(o.Endpoints, agent.Endpoint{Name: nameOf(strings.TrimSuffix(at.Base, endpoint.Path)), Client: c})
	}
	return nil
}

// nameOf makes the name of a remote agent of its address: host, port, and what else there is.
func nameOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	name := strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '.' || c == '-' || c == ':' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return c
		}
		return '_'
	}, strings.Trim(address, "/"))
	return strings.Trim(name, "_")
}
