package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// A relay passes what the page asks for on to an agent. With a scribe it writes down what is said.
type relay struct {
	agent  *url.URL
	scribe *scribe // may be nil
	proxy  *httputil.ReverseProxy
}

func newRelay(agent string, s *scribe) (*relay, error) {
	if !strings.Contains(agent, "://") {
		agent = "http://" + agent
	}
	u, err := url.Parse(strings.TrimSuffix(agent, "/"))
	if err != nil {
		return nil, err
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("agent %q: want HOST:PORT or a URL", agent)
	}
	y := &relay{agent: u, scribe: s}
	y.proxy = &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(u)
			p.Out.Host = u.Host
			p.Out.Header = y.header(p.In)
			if s != nil {
				p.Out.Header.Del("Accept-Encoding")
				p.Out.Header.Del("If-None-Match")
			}
		},
		ModifyResponse: y.keep,
	}
	return y, nil
}

// header is that of a request, with the agent as the origin of what came from our own page.
func (y *relay) header(r *http.Request) http.Header {
	h := r.Header.Clone()
	if o, err := url.Parse(r.Header.Get("Origin")); err == nil && o.Host == r.Host {
		h.Set("Origin", y.agent.Scheme+"://"+y.agent.Host)
	}
	return h
}

// keep writes a document down. What is no text, such as a profile, is passed on and not kept.
func (y *relay) keep(answer *http.Response) error {
	if y.scribe == nil || answer.Request.Method != http.MethodGet {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(strings.NewReader(string(body)))
	if utf8.Valid(body) {
		at := url.URL{Path: strings.TrimPrefix(answer.Request.URL.Path, y.agent.Path), RawQuery: answer.Request.URL.RawQuery}
		y.scribe.write(entry{Get: at.String(), Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"), Body: string(body)})
	}
	return nil
}

func (y *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		y.websocket(w, r)
		return
	}
	y.proxy.ServeHTTP(w, r)
}

// websocket joins the page's websocket and one to the agent. While it is written down the agent is asked for whole members instead of deltas: then each frame can be
// understood without those before it.
func (y *relay) websocket(w http.ResponseWriter, r *http.Request) {
	there := *y.agent
	there.Scheme = strings.Replace(y.agent.Scheme, "http", "ws", 1)
	there.Path += r.URL.Path
	h := http.Header{}
	for _, name := range []string{"Origin", "Authorization", "Cookie"} {
		if v := y.header(r).Get(name); v != "" {
			h.Set(name, v)
		}
	}
	dialer := websocket.Dialer{Subprotocols: websocket.Subprotocols(r), EnableCompression: true}
	far, answer, err := dialer.DialContext(r.Context(), there.String(), h)
	if err != nil {
		status := http.StatusBadGateway
		if answer != nil {
			status = answer.StatusCode
		}
		http.Error(w, fmt.Sprintf("the agent: %v", err), status)
		return
	}
	defer far.Close()
	up := websocket.Upgrader{Subprotocols: []string{far.Subprotocol()}}
	near, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer near.Close()
	n := y.scribe.conn()
	said := make(chan struct{})
	go func() {
		defer close(said)
		defer far.Close()
		for {
			code, m, err := near.ReadMessage()
			if err != nil {
				return
			}
			if y.scribe != nil && kind(parse(m)) == "subscribe" {
				m = whole(m)
				y.scribe.write(entry{Conn: n, Sent: m})
			}
			if far.WriteMessage(code, m) != nil {
				return
			}
		}
	}()
	for {
		kind, m, err := far.ReadMessage()
		if err != nil {
			break
		}
		if json.Valid(m) {
			y.scribe.write(entry{Conn: n, Got: m})
		}
		if near.WriteMessage(kind, m) != nil {
			break
		}
	}
	near.Close()
	<-said
}

// whole is a subscription without the wish for deltas; any other message as it is.
func whole(m []byte) []byte {
	var s map[string]any
	if json.Unmarshal(m, &s) != nil || s["type"] != "subscribe" {
		return m
	}
	s["deltas"] = false
	out, err := json.Marshal(s)
	if err != nil {
		return m
	}
	return out
}
