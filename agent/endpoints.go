package agent

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/agent/endpoint"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// An Endpoint is a program that serves package net/http/pprof, whose goroutines are shown.
type Endpoint struct {
	Name   string // as it is shown, and in paths: letters, digits and .-_: alone
	Client *endpoint.Client
}

// endpointShare is the part of the time in which a program may be answering: its answers cost it.
const endpointShare = 0.02

// endpointPause is the least time between two looks at a program that serves package net/http/pprof. Tests have another one.
var endpointPause = 5 * time.Second

// An asked is what is known of an [Endpoint].
type asked struct {
	Endpoint
	agent *Agent

	mu struct {
		sync.Mutex
		exe, program string
		took         time.Duration // the newest answer
		problem      error         // of the newest; nil: it has answered
	}
}

// followEndpoint begins to ask a program.
func (a *Agent) followEndpoint(e Endpoint) {
	k := &asked{Endpoint: e, agent: a}
	p := &plain{process: k.process, look: k.look}
	blank := roster.New(k.process(), time.Now())
	f := a.newPlain("pprof:"+e.Name, e.Name, p, blank, func() error { e.Client.Close(); return nil })
	f.asked = k
	a.start(f)
}

// checkEndpoints refuses names that no path can have, and names that two have.
func checkEndpoints(all []Endpoint, others func(name string) bool) error {
	known := map[string]bool{}
	for _, e := range all {
		switch {
		case e.Client == nil:
			return fmt.Errorf("agent: endpoint %q: no client", e.Name)
		case !isName(e.Name):
			return fmt.Errorf("agent: endpoint %q: a name has letters, digits and .-_: alone", e.Name)
		case known[e.Name] || others(e.Name):
			return fmt.Errorf("agent: endpoint %q: two have this name", e.Name)
		}
		known[e.Name] = true
	}
	return nil
}

// process describes the program, as far as it has told. It cannot be seen to end: then it is silent.
func (k *asked) process() flight.Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := k.Name
	if k.mu.program != "" {
		name = k.mu.program + " at " + k.Name
	}
	return flight.Process{Program: name, Exe: k.mu.exe, Status: flight.StatusRunning, LastSeen: time.Now()}
}

// look asks the program. Where it does not answer, the source says so.
func (k *asked) look() dump.Source {
	began := time.Now()
	d, err := k.Client.Read(k.agent.ctx, goroutines.Options{Name: k.Name, Status: dump.StatusRunning, Scopes: k.agent.options.Scopes})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.took, k.mu.problem = time.Since(began), err
	if err != nil {
		return silent{roster.New(flight.Process{}, began), err}
	}
	p := d.Process()
	if p.Exe != "" {
		k.mu.exe, k.mu.program = p.Exe, p.Program
	}
	return d
}

// pause is the time that the newest answer demands until the next.
func (k *asked) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	least := endpointPause
	if k.Client.Stops() {
		least *= 2
	}
	return max(least, time.Duration(float64(k.mu.took)/endpointShare))
}

// problem says why the program was not seen when it was last asked; "" if it was.
func (k *asked) problem() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.problem == nil {
		return ""
	}
	return k.mu.problem.Error()
}

// silent is the source of a program that did not answer.
type silent struct {
	*roster.Roster
	err error
}

// failed returns why there is nothing in a source, nil if there is something.
func failed(src dump.Source) error {
	if s, ok := src.(silent); ok {
		return s.err
	}
	return nil
}

// isName reports whether paths can have a name.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:") == ""
}
