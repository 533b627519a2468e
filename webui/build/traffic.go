package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// An entry is a line of a file of traffic: JSON, gzipped as a whole. It has what the page said or heard on one of its websockets, or a document.
type entry struct {
	At   int64           `json:"at"`             // milliseconds since the first
	Conn int             `json:"conn,omitempty"` // which websocket; 0: a document
	Sent json.RawMessage `json:"sent,omitempty"` // by the page
	Got  json.RawMessage `json:"got,omitempty"`  // by the page

	Get    string `json:"get,omitempty"` // path and query
	Status int    `json:"status,omitempty"`
	Type   string `json:"type,omitempty"` // of its content
	Body   string `json:"body,omitempty"`
}

// A scribe writes a file of traffic.
type scribe struct {
	mu struct {
		sync.Mutex
		began time.Time
		conns int
		file  *os.File
		zip   *gzip.Writer
		err   error // the first
	}
}

func newScribe(name string) (*scribe, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	s := &scribe{}
	s.mu.began, s.mu.file = time.Now(), f
	s.mu.zip, err = gzip.NewWriterLevel(f, gzip.BestCompression)
	return s, err
}

// conn returns the number of a new websocket. A nil scribe writes nothing.
func (s *scribe) conn() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.conns++
	return s.mu.conns
}

func (s *scribe) write(e entry) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.At = time.Since(s.mu.began).Milliseconds()
	line, err := json.Marshal(e)
	if err == nil && s.mu.err == nil {
		_, err = s.mu.zip.Write(append(line, '\n'))
	}
	if s.mu.err == nil {
		s.mu.err = err
	}
}

// close ends the file, and returns the first error there was.
func (s *scribe) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.mu.err, s.mu.zip.Close(), s.mu.file.Close())
}

// readTraffic reads a file of traffic.
func readTraffic(r io.Reader) (entries []entry, err error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}
