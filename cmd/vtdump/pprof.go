package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/agent/endpoint"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
)

// ofPprof are the commands that can ask package net/http/pprof.
const ofPprof = ofTraces | commandProfile | commandDiff

// isPprof reports whether a target is an address of package net/http/pprof.
func isPprof(target string) bool { return isAddress(target) && strings.Contains(target, endpoint.Path) }

// leastInterval is the time between two looks of --watch at a target.
func leastInterval(target string) time.Duration {
	if !isPprof(target) {
		return 0
	}
	if e, err := endpoint.Parse(target); err == nil {
		return e.LeastInterval()
	}
	return 0
}

// readPprof asks a program for its goroutines.
func (s *settings) readPprof(ctx context.Context, w world) (dump.Source, error) {
	at, err := endpoint.Parse(s.target)
	var no *access.Refusal
	if errors.As(err, &no) {
		return nil, usageError{no.Error(), "vtdump " + no.Try}
	}
	c, err := at.Open(access.ClientOptions{TokenFile: s.remote.tokenFile, CA: s.remote.ca, Certificate: s.remote.cert, Key: s.remote.key})
	if err != nil {
		return nil, withStep(err)
	}
	defer c.Close()
	if at.Stops() {
		fmt.Fprintln(w.stderr, "vtdump: the program stands still while it writes the text of debug=2")
	}
	d, err := c.Read(ctx, goroutines.Options{At: w.now(), Scopes: s.memory.scopes})
	if err != nil {
		return nil, withStep(err)
	}
	return d, nil
}

// withStep makes an error that has a next step one that is printed with it.
func withStep(err error) error {
	if no := (*access.Refusal)(nil); errors.As(err, &no) && no.Try != "" {
		return hint{err, no.Try}
	}
	return err
}
