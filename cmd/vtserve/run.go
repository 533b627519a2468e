package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A hint is an error with the next step for the user.
type hint struct {
	error
	try string
}

// run is the command. It returns the exit code when ctx ends or nothing can be served.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if text, asked, err := said(args); err != nil {
		report(stderr, err)
		return 2
	} else if asked {
		fmt.Fprint(stdout, text)
		return 0
	}
	s, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, help())
		return 0
	case err != nil:
		report(stderr, hint{err, "vtserve -h"})
		return 2
	}
	policy, audit, err := s.policy(stderr)
	if err != nil {
		report(stderr, withHint(err))
		return 2
	}
	defer audit.Close()
	if err := serve(ctx, s, policy, stdout, stderr); err != nil {
		report(stderr, err)
		return 1
	}
	return 0
}

func report(w io.Writer, err error) {
	w = dump.CleanText(w, false)
	fmt.Fprintf(w, "vtserve: %v\n", err)
	if h := (hint{}); errors.As(err, &h) && h.try != "" {
		fmt.Fprintf(w, "    try: %s\n", h.try)
	}
}

// serve listens first, so that a port in use is told before anything is started.
func serve(ctx context.Context, s *settings, policy *access.Policy, stdout, stderr io.Writer) (err error) {
	for _, pid := range s.pids {
		if err := checkPID(pid); err != nil {
			return err
		}
	}
	listeners, err := s.listenAll(policy)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		defer l.Close()
	}

	options := agent.Options{
		Checks:   s.checks,
		Access:   policy,
		Marks:    s.marks,
		TraceURL: s.traceURL,
		MaxCPU:   s.maxCPU, MaxMemory: s.maxMemory,
		Warn: func(what string) { fmt.Fprintf(dump.CleanText(stderr, false), "vtserve: %s\n", what) },
	}
	if err := s.show(&options); err != nil {
		return err
	}
	if s.maxMemory > 0 {
		// The garbage collector tries first, before anything is left out.
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(s.maxMemory / 10 * 9)))
	}
	if s.incidents != "" {
		if options.Incidents, err = incident.OpenStore(incident.Options{Dir: s.incidents, Take: incident.TakeOptions{Profile: policy.Redactor().Profile}}); err != nil {
			return hint{err, "--incidents DIR, another directory"}
		}
		options.Rules = s.rules
	}
	telemetry, err := newTelemetry(s)
	if err != nil {
		return err
	}
	if err := telemetry.attach(&options); err != nil {
		return err
	}
	defer telemetry.stop(options.Warn)
	address := policy.URL(listeners[0])
	for _, l := range listeners {
		fmt.Fprintf(stdout, "vtserve: %s\n%s", policy.URL(l), howToReach(policy.URL(l)))
	}
	if s.demo {
		demo, err := startDemo(ctx, s, stdout, stderr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, demo.stop()) }()
		options.Prefer = demo.pid()
		fmt.Fprint(stdout, demoText(address, demo.pid(), s.threads))
	}

	a, err := agent.New(options)
	switch {
	case err == nil:
	case len(s.remotes)+len(s.pprof) > 1 && len(s.files) == 0:
		err = hint{err, "each address once"}
	case len(s.files) > 0:
		err = hint{err, "a recording, an incident bundle, a core file, or a file in which Go has printed goroutines"}
	}
	if err != nil {
		return err
	}
	defer a.Close()
	if err := telemetry.start(ctx, a, options.Warn); err != nil {
		return err
	}
	server := policy.Server(a.Handler())
	done := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { done <- server.Serve(l) }()
	}
	select {
	case err := <-done:
		server.Close()
		for range len(listeners) - 1 {
			<-done
		}
		return fmt.Errorf("serve %s: %w", address, err)
	case <-ctx.Done():
	}
	a.Close() // the websockets: Shutdown does not know them
	patience, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		server.Close()
	}
	for range listeners {
		<-done
	}
	return nil
}

func listenError(addr string, err error) error {
	var no syscall.Errno
	if errors.As(err, &no) {
		err = no // without "listen tcp …" twice
	}
	err = fmt.Errorf("listen on %s: %w", addr, err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return hint{err, "vtserve --addr 127.0.0.1:0, which takes any free port, or end what listens there"}
	case errors.Is(err, syscall.EACCES):
		return hint{err, "a port above 1023"}
	}
	return err
}

// checkPID tells in good time that there is nothing to follow.
func checkPID(pid int) error {
	r, err := flight.OpenPID(pid)
	if err == nil {
		return r.Close()
	}
	if errors.Is(err, flight.ErrNotVtscope) {
		var src *memory.Goroutines
		if src, err = memory.AttachGo(pid, memory.GoroutineOptions{}); err == nil {
			return src.Close()
		}
	}
	var denied *memory.Denied
	if errors.As(err, &denied) {
		return hint{fmt.Errorf("follow pid %d: %w", pid, err), denied.Try}
	}
	err = fmt.Errorf("follow pid %d: %w", pid, err)
	switch {
	case errors.Is(err, flight.ErrNoProcess), errors.Is(err, flight.ErrNotVtscope), errors.Is(err, memory.ErrNotGo):
		return hint{err, "vtdump, which lists the processes that can be followed"}
	case errors.Is(err, flight.ErrPermission):
		return hint{err, "as the user that runs the process"}
	}
	return err
}
