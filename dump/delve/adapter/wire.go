package adapter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/google/go-dap"
)

// A message is any message of the protocol, with what it carries unread.
type message struct {
	Seq  int    `json:"seq"`
	Type string `json:"type"`

	Command   string          `json:"command,omitempty"` // of requests and responses
	Arguments json.RawMessage `json:"arguments,omitempty"`

	RequestSeq int    `json:"request_seq,omitempty"` // of responses
	Success    *bool  `json:"success,omitempty"`
	Message    string `json:"message,omitempty"`

	Event string          `json:"event,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// ok reports whether a response is of success.
func (m *message) ok() bool { return m.Success != nil && *m.Success }

// read reads the next message. The error is io.EOF at the end.
func read(from *bufio.Reader) (*message, error) {
	b, err := dap.ReadBaseMessage(from)
	if err != nil {
		return nil, err
	}
	m := new(message)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("adapter: a message that is no JSON object: %w", err)
	}
	return m, nil
}

// A side is where messages are sent to. Numbers are given here, since some messages are the adapter's own.
type side struct {
	mu      sync.Mutex
	to      io.Writer
	seq     int
	pending map[int]waiting // by the number of a request, who waits for the response
}

// A waiting takes the response to a request: one of the adapter's own, or of the other side.
type waiting struct {
	then func(*message)
	own  bool
}

func newSide(to io.Writer) *side { return &side{to: to, pending: map[int]waiting{}} }

// send sends a message. If it is a request, w.then is called with the response.
func (s *side) send(m message, w waiting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	m.Seq = s.seq
	if w.then != nil {
		s.pending[m.Seq] = w
	}
	b, err := json.Marshal(&m)
	if err != nil {
		return err
	}
	return dap.WriteBaseMessage(s.to, b)
}

// take returns who waits for a response, and forgets it.
func (s *side) take(seq int) waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.pending[seq]
	delete(s.pending, seq)
	return w
}

// isOwn reports whether the adapter itself waits for a response.
func (s *side) isOwn(seq int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending[seq].own
}

// encoded returns a value as JSON.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("adapter: %T has no JSON: %v", v, err))
	}
	return b
}

// decoded reads a value, and leaves it zero where there is none that can be read.
func decoded[T any](b json.RawMessage) (v T) {
	_ = json.Unmarshal(b, &v)
	return v
}

// with returns a JSON object with a member replaced.
func with(object json.RawMessage, member string, value any) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &members)
	members[member] = encoded(value)
	return encoded(members)
}

// without returns a JSON object without some members.
func without(object json.RawMessage, names ...string) json.RawMessage {
	members := decoded[map[string]json.RawMessage](object)
	for _, name := range names {
		delete(members, name)
	}
	return encoded(members)
}

// merged replaces the members of an object by those of another value.
func merged(object []byte, by any) []byte {
	members := decoded[map[string]any](object)
	if members == nil {
		members = map[string]any{}
	}
	for name, value := range decoded[map[string]any](encoded(by)) {
		members[name] = value
	}
	return encoded(members)
}
