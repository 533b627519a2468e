package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/dump/stream"
)

// shown is the target, without secrets.
func (s *settings) shown() string {
	if stream.Is(s.target) {
		return stream.Shown(s.target)
	}
	return s.target
}

// ofStream are the flags that mean something to a stream alone.
var ofStream = []string{"namespace", "creds", "journals"}

// refuseOfStream reports flags of a stream that were given with another target.
func (s *settings) refuseOfStream() error {
	for _, name := range ofStream {
		if s.given(name) {
			return usageError{"--" + name + ": " + s.target + " is no stream", s.call() + " nats://HOST:PORT, or without it"}
		}
	}
	return nil
}

// variables are those of the environment that let us in, as NATS's own commands have them.
const variables = `NATS_CREDS, NATS_NKEY, NATS_USER with NATS_PASSWORD, NATS_CA, NATS_CERT with NATS_KEY`

// streamQuestion asks for the threads of a stream, or for one. What flags and the address say comes before the environment.
func (s *settings) streamQuestion(w world, id string) stream.Question {
	q := stream.Question{
		URL: s.target, Namespace: s.durable.namespace, Thread: id,
		Credentials: cmp.Or(s.durable.creds, w.getenv("NATS_CREDS")), NKey: w.getenv("NATS_NKEY"), CA: cmp.Or(s.remote.ca, w.getenv("NATS_CA")),
		User: w.getenv("NATS_USER"), Password: w.getenv("NATS_PASSWORD"),
		Certificate: s.remote.cert, Key: s.remote.key, Journals: s.durable.journals,
	}
	if q.Certificate == "" && q.Key == "" {
		q.Certificate, q.Key = w.getenv("NATS_CERT"), w.getenv("NATS_KEY")
	}
	if s.durable.creds != "" {
		q.NKey, q.User, q.Password = "", "", ""
	}
	if id != "" {
		q.Look = s.look()
		return q
	}
	o := s.durableOptions()
	q.Filter, q.Top = s.filter.String(), o.Top
	if o.Sort != nil {
		q.Sort = o.Sort.Name
	}
	return q
}

// durablesOfStream prints the threads of a stream, or the history of one.
func (s *settings) durablesOfStream(ctx context.Context, w world, id string) error {
	if (s.remote.cert == "") != (s.remote.key == "") {
		return usageError{"--cert and --key go together: threads in a stream are not encrypted with a program's secret", s.call() + " nats://HOST:PORT --cert FILE --key FILE"}
	}
	if s.remote.tokenFile != "" {
		return usageError{"--token-file is of an agent", s.call() + " nats://TOKEN@HOST:PORT"}
	}
	if id != "" && s.given("journals") {
		return usageError{"--journals is of the list", s.call() + " nats://HOST:PORT without the id " + id}
	}
	answer, err := stream.Ask(ctx, s.streamQuestion(w, id))
	if err != nil {
		return s.explainStream(err)
	}
	if id == "" {
		return s.printDurables(w, answer.Durables, nil)
	}
	return s.printDurable(w, answer.Thread, nil)
}

// explainStream adds the next step to an error of a stream.
func (s *settings) explainStream(err error) error {
	at := fmt.Errorf("%s: %w", stream.Shown(s.target), err)
	var p *stream.Problem
	switch {
	case errors.Is(err, stream.ErrNoThread):
		return hint{fmt.Errorf("%s: %s: %w", stream.Shown(s.target), s.more[0], err), s.call() + " " + stream.Shown(s.target) + ", for a list; one that was joined, or forgotten, is not kept"}
	case errors.Is(err, stream.ErrNoCommand):
		return hint{at, stream.Build}
	case errors.As(err, &p) && p.Try != "":
		return hint{at, p.Try}
	}
	return at
}

// anotherOfStream is the error of a command that has no stream for its target.
func (s *settings) anotherOfStream() error {
	shown := stream.Shown(s.target)
	return usageError{shown + ": a stream has durable threads, and nothing else to look at", "vtdump durable " + shown}
}
