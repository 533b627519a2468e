package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// Format is the version of questions and answers. Members may be added; a reader ignores those that it does not know.
const Format = "vtscope/stream/v1"

// A Question is for the threads of a stream, or for one of them. vtstream reads it from standard input, so that what is secret stands in no list of processes.
type Question struct {
	Format    string `json:"format"`
	URL       string `json:"url"`                 // of the servers, separated by commas; may have user and password, or a token
	Namespace string `json:"namespace,omitempty"` // "": that of the store's options

	// How to be let in: names of files, and a user.
	Credentials string `json:"credentials,omitempty"` // of NATS: a token and a seed
	NKey        string `json:"nkey,omitempty"`        // a seed
	User        string `json:"user,omitempty"`
	Password    string `json:"password,omitempty"`
	CA          string `json:"ca,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Key         string `json:"key,omitempty"` // of the certificate

	Thread string       `json:"thread,omitempty"` // its history, as much as Look says; "": the list
	Look   journal.Look `json:"look,omitzero"`

	// Of the list.
	Filter   string `json:"filter,omitempty"`
	Sort     string `json:"sort,omitempty"`
	Top      int    `json:"top,omitempty"`      // as [dump.DurableOptions.Top]
	Journals int    `json:"journals,omitempty"` // of how many trees journals are read; 0: the default, negative: all
}

// An Answer is what vtstream has found.
type Answer struct {
	Format   string              `json:"format"`
	Problem  *Problem            `json:"problem,omitempty"` // why there is nothing else
	Durables *dump.Durables      `json:"durables,omitempty"`
	Thread   *dump.DurableThread `json:"thread,omitempty"`
}

// A Problem is why a stream could not be looked at. It is an error, and matches the one of its kind.
type Problem struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Try  string `json:"try,omitempty"` // the next step, in words that go on after "try:"
}

// The kinds of problems that callers tell apart.
var (
	ErrNoServer = errors.New("no server lets us in")
	ErrDenied   = errors.New("the servers do not allow it")
	ErrSilent   = errors.New("no server has answered")
	ErrNoStream = errors.New("there is no such stream")
	ErrNoThread = errors.New("no such durable thread")
)

// Kinds are the kinds of problems, with the errors that they match.
var Kinds = map[string]error{"no-server": ErrNoServer, "denied": ErrDenied, "silent": ErrSilent, "no-stream": ErrNoStream, "no-thread": ErrNoThread}

func (p *Problem) Error() string        { return p.Text }
func (p *Problem) Is(target error) bool { return target != nil && Kinds[p.Kind] == target }

// Write writes an answer as one line of JSON.
func Write(w io.Writer, a *Answer) error {
	a.Format = Format
	return json.NewEncoder(w).Encode(a)
}

// The most bytes of a question, and of an answer: one with whole values may have a journal of 256 MiB.
const (
	largestQuestion = 1 << 20
	largestAnswer   = 1 << 30
)

// ReadQuestion reads a question.
func ReadQuestion(r io.Reader) (q Question, err error) {
	if err := json.NewDecoder(io.LimitReader(r, largestQuestion)).Decode(&q); err != nil {
		return q, fmt.Errorf("stream: read the question: %w", err)
	}
	switch {
	case q.Format != Format:
		return q, fmt.Errorf("stream: the question is in format %.40q, want %q: vtdump and %s are of different versions", q.Format, Format, Command)
	case q.URL == "":
		return q, errors.New("stream: a question without a URL")
	}
	return q, nil
}

// Read reads an answer. An error may be a [Problem].
func Read(r io.Reader) (*Answer, error) {
	var a Answer
	if err := json.NewDecoder(io.LimitReader(r, largestAnswer)).Decode(&a); err != nil {
		return nil, fmt.Errorf("stream: read the answer: %w", err)
	}
	switch {
	case a.Format != Format:
		return nil, fmt.Errorf("stream: the answer is in format %.40q, want %q: %w", a.Format, Format, errOtherVersion)
	case a.Problem != nil:
		return nil, a.Problem
	case a.Durables == nil && a.Thread == nil:
		return nil, errors.New("stream: an answer that tells nothing")
	}
	return &a, nil
}

var errOtherVersion = errors.New(Command + " is of another version")

// schemes are those of addresses of servers.
var schemes = []string{"nats://", "tls://", "ws://", "wss://"}

// Is reports whether a target names servers of a stream.
func Is(target string) bool {
	for _, s := range schemes {
		if strings.HasPrefix(target, s) {
			return true
		}
	}
	return false
}

// Shown returns addresses of servers as they may be shown: without user, password and token.
func Shown(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		one = strings.TrimSpace(one)
		scheme, rest, ok := strings.Cut(one, "://")
		if !ok {
			scheme, rest = "nats", one
		}
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			rest = rest[i+1:]
		}
		host, _, _ := strings.Cut(rest, "?")
		host, _, _ = strings.Cut(host, "#")
		shown = append(shown, scheme+"://"+host)
	}
	return strings.Join(shown, ",")
}
