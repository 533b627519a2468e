package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/webui"
)

// A Remote is an agent somewhere else, whose processes are shown beside the agent's own.
type Remote struct {
	Name   string // as it is shown, and in paths: letters, digits and .-_: alone
	Client *access.Client
}

// statusUnreachable is the status of processes whose agent does not answer.
const statusUnreachable = "unreachable"

const (
	remoteTimeout = 5 * time.Second // for a list
	remoteList    = 4 << 20         // bytes of one
	remoteRows    = 1000            // processes of one
)

// A remote is what is known of a [Remote]. Its goroutine asks for the list of processes once an interval.
type remote struct {
	Remote
	agent *Agent
	since time.Time

	mu struct {
		sync.Mutex
		rows    []ProcessRow // as it told them, under the names that they have here
		heard   time.Time    // when; zero: never
		problem error        // of the last time it was asked; nil: it has answered
	}
}

// checkRemotes refuses names that no path can have, and names that two have.
func checkRemotes(remotes []Remote) error {
	for i, r := range remotes {
		switch {
		case r.Client == nil:
			return fmt.Errorf("agent: remote %q: no client", r.Name)
		case !isName(r.Name):
			return fmt.Errorf("agent: remote %q: a name has letters, digits and .-_: alone", r.Name)
		case slices.ContainsFunc(remotes[:i], func(o Remote) bool { return o.Name == r.Name }):
			return fmt.Errorf("agent: remote %q: two have this name", r.Name)
		}
	}
	return nil
}

// connect begins to ask a remote.
func (a *Agent) connect(r Remote) {
	m := &remote{Remote: r, agent: a, since: time.Now()}
	a.remotes = append(a.remotes, m) // before anybody reads it
	a.goWhileOpen(m.run)
}

func (m *remote) run() {
	defer m.Client.Close()
	for {
		rows, err := m.list()
		if m.agent.ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		if m.mu.problem = err; err == nil {
			m.mu.rows, m.mu.heard = rows, time.Now()
		}
		m.mu.Unlock()
		if pause(m.agent.ctx, m.agent.options.Interval) != nil {
			return
		}
	}
}

// list asks for the processes.
func (m *remote) list() ([]ProcessRow, error) {
	ctx, cancel := context.WithTimeout(m.agent.ctx, remoteTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, m.Client.URL("/api/v1/processes"), nil)
	if err != nil {
		return nil, err
	}
	answer, err := m.Client.HTTP().Do(q)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, remoteList))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		var p Problem
		_ = json.Unmarshal(text, &p) // without one there is nothing to say
		if err := access.Explain(answer.StatusCode, p.Error); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("it answers %q", answer.Status)
	}
	var all ProcessList
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("a list that is none: %w", err)
	}
	rows := all.Processes[:min(len(all.Processes), remoteRows)]
	for i := range rows {
		row := &rows[i]
		row.Key, row.Host = m.Name+"/"+row.Key, m.Name
		row.Program, row.Status = dump.Cut(dump.Printable(row.Program), 200), dump.Cut(dump.Printable(row.Status), 40)
	}
	return rows, nil
}

// listed are the rows as they are told. Of a remote that does not answer they are those it told last, and tell when; of one that never did there is one that stands for it.
func (m *remote) listed() []ProcessRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.problem == nil {
		return m.mu.rows
	}
	rows := slices.Clone(m.mu.rows)
	if len(rows) == 0 {
		heard := int64(0)
		if !m.mu.heard.IsZero() {
			heard = m.mu.heard.UnixMilli()
		}
		return []ProcessRow{{Key: m.Name + "/", Host: m.Name, Program: "agent", Status: statusUnreachable, Started: m.since.UnixMilli(), Heard: heard}}
	}
	for i := range rows {
		rows[i].Status, rows[i].Heard = statusUnreachable, m.mu.heard.UnixMilli()
	}
	return rows
}

// silence says since when a remote does not answer, and why.
func (m *remote) silence(err error) refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	age := "it never has answered"
	if !m.mu.heard.IsZero() {
		age = "it has answered last " + dump.Span(max(time.Since(m.mu.heard), 0)) + " ago"
	}
	return refusal{http.StatusBadGateway, fmt.Sprintf("the agent %s does not answer: %v; %s", m.Name, err, age), "whether vtserve runs there, and may be reached from here"}
}

// allRows are those of all processes that are shown, the agent's own first.
func (a *Agent) allRows() []ProcessRow {
	rows := []ProcessRow{}
	for _, v := range a.views() {
		rows = append(rows, v.row)
	}
	for _, m := range a.remotes {
		rows = append(rows, m.listed()...)
	}
	return rows
}

// serveRemote passes a request on to a remote. The page is this agent's own, whatever is below it the remote's.
func (a *Agent) serveRemote(w http.ResponseWriter, r *http.Request, _ *ask) error {
	name, rest := r.PathValue("host"), r.PathValue("rest")
	i := slices.IndexFunc(a.remotes, func(m *remote) bool { return m.Name == name })
	if i < 0 {
		return refusal{http.StatusNotFound, fmt.Sprintf("vtserve is connected to no agent %s", short(name)), "vtserve --connect HOST:PORT"}
	}
	m := a.remotes[i]
	if rest != "ws" && !strings.HasPrefix(rest, "api/") && !strings.HasPrefix(rest, "pprof/") {
		q := r.Clone(r.Context())
		q.URL.Path = "/" + rest
		webui.Handler().ServeHTTP(w, q)
		return nil
	}
	if websocket.IsWebSocketUpgrade(r) {
		leave, err := a.admit()
		if err != nil {
			return err
		}
		defer leave()
	}
	ctx, end := a.during(r)
	defer end()
	target, err := url.Parse(m.Client.URL("/" + rest))
	if err != nil {
		return err
	}
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport:     m.Client,
		FlushInterval: -1, // a recording comes as it is made
		Rewrite: func(p *httputil.ProxyRequest) {
			target.RawQuery = p.In.URL.RawQuery
			p.Out.URL, p.Out.Host = target, target.Host
			// Who asks was decided here; there it is this agent, which has a token of its own.
			for name := range p.Out.Header {
				switch name {
				case "Accept", "Content-Type", "Content-Length", "Connection", "Upgrade", "Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions":
				default:
					delete(p.Out.Header, name)
				}
			}
		},
		ModifyResponse: func(answer *http.Response) error {
			// What a page of ours may do is said here.
			for name := range answer.Header {
				switch name {
				case "Content-Type", "Content-Length", "Content-Disposition", "Cache-Control", foundHeader, "X-Go-Pprof", "Retry-After",
					"Connection", "Upgrade", "Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions":
				default:
					delete(answer.Header, name)
				}
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
	if failed != nil && r.Context().Err() == nil {
		if wrapped := (*net.OpError)(nil); errors.As(failed, &wrapped) {
			failed = wrapped
		}
		return m.silence(failed)
	}
	return nil
}
