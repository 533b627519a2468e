package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// A replay answers as the agent did when traffic was written down: documents by their path and query, websockets by what the page subscribes to.
type replay struct {
	config    json.RawMessage
	parts     []part
	documents map[string][]entry
	speed     float64
	missed    sync.Map // texts that miss has printed
}

// miss says, once, what was not recorded.
func (p *replay) miss(what string) {
	if _, told := p.missed.LoadOrStore(what, true); !told {
		fmt.Fprintf(os.Stderr, "build: %s\n", what)
	}
}

// A part is what was heard from one subscription until the next.
type part struct {
	of    fields // the subscription
	first json.RawMessage
	rest  []entry
	began int64
}

type fields map[string]json.RawMessage

func openReplay(name string) (*replay, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := readTraffic(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := newReplay(entries)
	if p.config == nil || len(p.parts) == 0 {
		return nil, fmt.Errorf("%s: nobody subscribes to anything in it", name)
	}
	return p, nil
}

func newReplay(entries []entry) *replay {
	p := &replay{documents: map[string][]entry{}, speed: 1}
	known := map[int]fields{} // what each websocket has heard so far
	open := map[int]*part{}
	done := func(q *part) {
		if q != nil && q.first != nil {
			p.parts = append(p.parts, *q)
		}
	}
	for _, e := range entries {
		switch {
		case e.Get != "":
			at := normal(e.Get)
			p.documents[at] = append(p.documents[at], e)
		case e.Sent != nil:
			q := &part{of: parse(e.Sent)}
			if old := open[e.Conn]; old != nil && !bytes.Equal(old.of["process"], q.of["process"]) {
				known[e.Conn] = nil
			}
			done(open[e.Conn])
			open[e.Conn] = q
		case e.Got != nil:
			m := parse(e.Got)
			q := open[e.Conn]
			switch kind(m) {
			case "config":
				p.config = e.Got
				continue
			case "frame":
				known[e.Conn] = merge(known[e.Conn], m)
			}
			switch {
			case q == nil:
			case q.first == nil:
				q.first, q.began = e.Got, e.At
				if kind(m) == "frame" {
					q.first = encode(known[e.Conn])
				}
			default:
				q.rest = append(q.rest, e)
			}
		}
	}
	for _, q := range open {
		done(q)
	}
	return p
}

// merge is a frame that says what old and m say together.
func merge(old, m fields) fields {
	out := fields{}
	for name, v := range old {
		out[name] = v
	}
	for name, v := range m {
		if name == "points" && old["points"] != nil {
			v = join(old["points"], v)
		}
		out[name] = v
	}
	return out
}

// join is the time line with its new points behind.
func join(old, now json.RawMessage) json.RawMessage {
	var a, b map[string]any
	if json.Unmarshal(old, &a) != nil || json.Unmarshal(now, &b) != nil || b["reset"] == true {
		return now
	}
	for name, v := range b {
		a[name] = joinValues(a[name], v, name == "counts")
	}
	a["reset"] = true
	return encode(a)
}

// joinValues joins columns, or of a list of columns each; of anything else it takes the newer.
func joinValues(old, now any, columns bool) any {
	was, ok1 := old.([]any)
	is, ok2 := now.([]any)
	if !ok1 || !ok2 {
		return now
	}
	if !columns {
		return append(was, is...)
	}
	for i := range is {
		if i == len(was) {
			was = append(was, []any{})
		}
		was[i] = joinValues(was[i], is[i], false)
	}
	return was
}

func parse(m json.RawMessage) fields {
	f := fields{}
	json.Unmarshal(m, &f) // what is no object has no fields
	return f
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic("build: " + err.Error()) // it was JSON
	}
	return out
}

func kind(m fields) (k string) {
	json.Unmarshal(m["type"], &k)
	return k
}

// normal is a path and query with its parameters in order.
func normal(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	u.RawQuery = u.Query().Encode()
	return u.String()
}

// find returns the part that agrees with a subscription in most members, and of those the one with most of the panels; and how many members differ.
func (p *replay) find(of fields) (best part, differ int) {
	least := -1
	for _, q := range p.parts {
		n := 0
		for name := range merge(of, q.of) {
			if name != "panels" && name != "deltas" && !bytes.Equal(given(of[name]), given(q.of[name])) {
				n++
			}
		}
		if score := n*1000 + lacks(of["panels"], q.of["panels"]); least < 0 || score < least {
			best, differ, least = q, n, score
		}
	}
	return best, differ
}

// given is a value, or nil for what is as good as absent.
func given(v json.RawMessage) json.RawMessage {
	switch string(v) {
	case `""`, "false", "[]", "0", "null":
		return nil
	}
	return v
}

// lacks returns how many of the wanted names are not among others.
func lacks(wanted, others json.RawMessage) (n int) {
	var a, b []string
	json.Unmarshal(wanted, &a) // what is no list has no names
	json.Unmarshal(others, &b)
	for _, name := range a {
		if !slices.Contains(b, name) {
			n++
		}
	}
	return n
}

func (p *replay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		p.websocket(w, r)
		return
	}
	all := p.documents[normal(r.URL.RequestURI())]
	if len(all) == 0 || r.Method != http.MethodGet {
		p.miss(r.Method + " " + r.URL.RequestURI() + " is not in what was recorded")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		w.Write(encode(map[string]string{"type": "error", "error": r.Method + " " + r.URL.RequestURI() + " is not in what was recorded", "try": "make ui-record"}))
		return
	}
	// In turn, so that what changed changes again.
	e := all[int(time.Now().Unix())%len(all)]
	w.Header().Set("Content-Type", e.Type)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(e.Status)
	w.Write([]byte(e.Body))
}

// websocket answers each subscription with the part that is nearest, in the rhythm in which it came, over and over.
func (p *replay) websocket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: websocket.Subprotocols(r)}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	wanted := make(chan fields)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			_, m, err := conn.ReadMessage()
			if err != nil {
				return
			}
			of := parse(m)
			if kind(of) != "subscribe" {
				continue // which frames have come
			}
			select {
			case wanted <- of:
			case <-r.Context().Done():
				return
			}
		}
	}()
	if conn.WriteMessage(websocket.TextMessage, p.config) != nil {
		return
	}
	seq := 0
	say := func(m json.RawMessage) bool {
		f := parse(m)
		if kind(f) == "frame" {
			seq++
			f["seq"] = encode(seq)
			m = encode(f)
		}
		return conn.WriteMessage(websocket.TextMessage, m) == nil
	}
	var q part
	next := -1 // of q.rest; -1: the first
	wait := time.NewTimer(time.Hour)
	for {
		select {
		case of := <-wanted:
			var differ int
			if q, differ = p.find(of); differ > 0 {
				delete(of, "panels")
				p.miss("nobody subscribed to " + string(encode(of)) + " when this was recorded; the nearest is shown")
			}
			next = -1
		case <-wait.C:
		case <-gone:
			return
		case <-r.Context().Done():
			return
		}
		pause := time.Second
		switch {
		case next < 0:
			if !say(q.first) {
				return
			}
		case !say(q.rest[next].Got):
			return
		}
		if next++; next == len(q.rest) {
			next = -1
		} else {
			before := q.began
			if next > 0 {
				before = q.rest[next-1].At
			}
			pause = min(time.Duration(q.rest[next].At-before)*time.Millisecond, 5*time.Second)
		}
		wait.Reset(time.Duration(float64(pause) / p.speed))
	}
}
