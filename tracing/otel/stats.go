package otel

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Stats says what became of what was observed. Each number counts from the beginning.
//
//	Threads = those kept + those left out; Traces.Built = Sent + Refused + Failed + Waiting
type Stats struct {
	Threads     uint64 `json:"threads"`      // that have ended and were examined
	ThreadsKept uint64 `json:"threads_kept"` // of these, those that became spans
	Scopes      uint64 `json:"scopes"`       // that were closed and were examined
	ScopesKept  uint64 `json:"scopes_kept"`
	NotSampled  uint64 `json:"not_sampled"` // scopes of traces that the program has decided not to keep
	Limited     uint64 `json:"limited"`     // scopes and threads that a rule's rate has left out
	Untold      uint64 `json:"untold"`      // threads that were to be kept, and for which there was no room in their scope
	Unseen      uint64 `json:"unseen"`      // scopes that were closed while events were missing: they have no span
	Lost        uint64 `json:"lost"`        // events that were overwritten before they were read

	Traces   SignalStats `json:"traces"`
	Logs     SignalStats `json:"logs"`
	Profiles SignalStats `json:"profiles"`
}

// A SignalStats counts spans, log records or profiles.
type SignalStats struct {
	To      string `json:"to"`      // where they go, without what is secret; "off" if nowhere
	Built   uint64 `json:"built"`   // that had room in the queue
	Dropped uint64 `json:"dropped"` // that had none
	Sent    uint64 `json:"sent"`    // that the collector has taken
	Refused uint64 `json:"refused"` // that the collector did not take
	Failed  uint64 `json:"failed"`  // that could not be sent in time
	Waiting uint64 `json:"waiting"` // in the queue or on the way
	Retries uint64 `json:"retries"` // exports that were tried again

	LastSent  time.Time `json:"last_sent,omitzero"` // when an export has succeeded
	LastError string    `json:"last_error,omitempty"`
	ErrorAt   time.Time `json:"error_at,omitzero"`
}

// counters are the Stats of what is observed.
type counters struct {
	threads, threadsKept, scopes, scopesKept, notSampled, limited, untold, unseen, lost atomic.Uint64
}

// signalCounters are the SignalStats of a signal.
type signalCounters struct {
	to                                             string
	built, dropped, sent, refused, failed, retries atomic.Uint64
	last                                           struct {
		sync.Mutex
		sent, failed time.Time
		err          string
	}
}

func (c *signalCounters) stats() SignalStats {
	s := SignalStats{
		To: c.to, Dropped: c.dropped.Load(), Sent: c.sent.Load(), Refused: c.refused.Load(), Failed: c.failed.Load(), Retries: c.retries.Load(),
	}
	s.Built = c.built.Load() // last: the others never come to more
	s.Waiting = s.Built - s.Sent - s.Refused - s.Failed
	c.last.Lock()
	defer c.last.Unlock()
	s.LastSent, s.LastError, s.ErrorAt = c.last.sent, c.last.err, c.last.failed
	return s
}

func (c *signalCounters) succeeded() {
	c.last.Lock()
	defer c.last.Unlock()
	c.last.sent = time.Now()
}

// wentWrong notes an error, and reports whether it is another one than the last.
func (c *signalCounters) wentWrong(err error) bool {
	text := cut(err.Error(), 512)
	c.last.Lock()
	defer c.last.Unlock()
	other := c.last.err != text
	c.last.err, c.last.failed = text, time.Now()
	return other
}

// Stats returns what became of everything. It may be called from any goroutine.
func (x *Exporter) Stats() Stats {
	c := &x.counted
	return Stats{
		Threads: c.threads.Load(), ThreadsKept: c.threadsKept.Load(), Scopes: c.scopes.Load(), ScopesKept: c.scopesKept.Load(), NotSampled: c.notSampled.Load(),
		Limited: c.limited.Load(), Untold: c.untold.Load(), Unseen: c.unseen.Load(), Lost: c.lost.Load(),
		Traces: x.traces.stats(), Logs: x.logs.stats(), Profiles: x.profiles.stats(),
	}
}

// ServeHTTP answers with the Stats as JSON, for the agent's Mount.
func (x *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(x.Stats()) // who asked is gone
}
