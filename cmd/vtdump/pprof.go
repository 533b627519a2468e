package main

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
	"github.com/vtscope/vtscope/dump/roster"
)

// pprofPath is where package net/http/pprof serves, and what tells its addresses from an agent's.
const pprofPath = "/debug/pprof"

// ofPprof are the commands that can ask package net/http/pprof.
const ofPprof = commandThreads | commandCheck | commandProfile | commandDiff

// isPprof reports whether a target is an address of package net/http/pprof.
func isPprof(target string) bool { return isAddress(target) && strings.Contains(target, pprofPath) }

// A pprofProfile is a profile of goroutines that a program serves.
type pprofProfile struct {
	base string // the address, as access.ClientOptions has it
	path string // beyond it
	text bool   // of debug=2, for which the program stops
}

// profileAt reads a target that is an address of package net/http/pprof. The address of all profiles means that of goroutines.
func profileAt(target string) (p pprofProfile, err error) {
	i := strings.Index(target, pprofPath) + len(pprofPath)
	if p.base = target[:i]; !strings.Contains(p.base, "://") {
		p.base = "http://" + p.base
	}
	name, query, _ := strings.Cut(strings.Trim(target[i:], "/"), "?")
	values, err := url.ParseQuery(query)
	switch name {
	case "":
		name = "goroutine"
	case "goroutine", "goroutineleak":
	default:
		return p, usageError{target + ": vtdump reads the profile of goroutines", "vtdump " + p.base + "/, or go tool pprof " + target}
	}
	debug := values.Get("debug")
	values.Del("debug")
	if err != nil || len(values) > 0 || debug != "" && debug != "0" && debug != "1" && debug != "2" {
		return p, usageError{target + ": of a profile's parameters vtdump knows debug=0 to 2", "vtdump " + p.base + "/" + name + "?debug=2"}
	}
	p.path, p.text = "/"+name, debug == "2"
	if debug != "" {
		p.path += "?debug=" + debug
	}
	return p, nil
}

// leastInterval is the time between two profiles that --watch asks a program for: each costs it, and for the text it
// stops.
func leastInterval(target string) time.Duration {
	if !isPprof(target) {
		return 0
	}
	if p, err := profileAt(target); err == nil && p.text {
		return 10 * time.Second
	}
	return 2 * time.Second
}

// answerTime is how long a program may take to begin its answer: it writes the text of 100,000 goroutines in about 7 s.
const answerTime = time.Minute

// errSilent says that a program has accepted a connection and does not answer.
var errSilent = fmt.Errorf("no answer in %s", dump.Span(answerTime))

// readPprof asks a program for its goroutines.
func (s *settings) readPprof(ctx context.Context, w world) (dump.Source, error) {
	p, err := profileAt(s.target)
	if err != nil {
		return nil, err
	}
	client, err := access.NewClient(access.ClientOptions{
		Address: p.base, TokenFile: s.remote.tokenFile, CA: s.remote.ca, Certificate: s.remote.cert, Key: s.remote.key,
		NotOfEnvironment: true, // the token there is for agents
	})
	if err != nil {
		var no *access.Refusal
		if errors.As(err, &no) {
			return nil, hint{err, no.Try}
		}
		return nil, hint{err, "vtdump http://HOST:PORT" + pprofPath + "/"}
	}
	defer client.Close()
	if p.text {
		fmt.Fprintln(w.stderr, "vtdump: the program stands still while it writes the text of debug=2")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(answerTime, func() { cancel(errSilent) })
	defer silent.Stop()
	q, err := http.NewRequestWithContext(ctx, "GET", client.URL(p.path), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.HTTP().Do(q)
	if err != nil {
		if context.Cause(ctx) == errSilent {
			return nil, hint{fmt.Errorf("%s: %w", p.base, errSilent), "vtdump PID on its machine, which needs no answer"}
		}
		return nil, unreachable(p.base, client, err, "whether the program serves there, and whether this machine may reach it")
	}
	defer answer.Body.Close()
	silent.Stop()
	if answer.StatusCode != http.StatusOK {
		return nil, noProfile(p, answer)
	}
	r, err := goroutines.Read(io.LimitReader(answer.Body, largestDump), goroutines.Options{Name: q.URL.Host, At: w.now()})
	if err != nil {
		// Not ErrNone: an address is no program's name.
		return nil, hint{fmt.Errorf("%s: an answer that is no profile of goroutines: %v", p.base, err), "vtdump http://HOST:PORT" + pprofPath + "/, where the program serves package net/http/pprof"}
	}
	p.explain(r)
	return r, nil
}

// explain says where there is more.
func (p pprofProfile) explain(r *roster.Roster) {
	if !p.text {
		name, _, _ := strings.Cut(p.path, "?")
		r.Miss("%s%s?debug=2 has them, and stops the program while it is written", p.base, name)
	}
}

// noProfile is the error of an answer with another status than 200. What it says is not trusted.
func noProfile(p pprofProfile, answer *http.Response) error {
	if err := access.Explain(answer.StatusCode, ""); err != nil {
		var no *access.Refusal
		errors.As(err, &no)
		return hint{fmt.Errorf("%s: %w", p.base, err), no.Try}
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if line != "" {
		line = ": " + dump.Printable(line)
	}
	return hint{fmt.Errorf("%s: it answers %q for %s%s", p.base, answer.Status, p.path, line),
		`the program must serve package net/http/pprof there: import _ "net/http/pprof"; without it, vtdump PID on its machine`}
}
