package agent

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Prefix is where a program serves its own agent, unless it says otherwise. Every agent is there too, beside "/", so that paths are the same both ways.
const Prefix = "/debug/vt/"

// usualIdle is how long an agent inside a program goes on after the last request.
const usualIdle = 5 * time.Minute

// A Within is the agent of the program itself: see [Handler].
type Within struct {
	options Options
	idle    time.Duration
	resting sync.WaitGroup // agents that are being closed because nobody has asked for long

	mu struct {
		sync.Mutex
		agent  *Agent // nil: nobody has asked, or not for long
		serve  http.Handler
		asked  time.Time // last
		asking int       // requests that are being served
		timer  *time.Timer
		closed bool
	}
}

// Handler serves the agent of this process below a path of its own server, in the manner of net/http/pprof: the page, the websocket, the HTTP interface and the
// profiles.
//
//	http.Handle(agent.Prefix, agent.Handler(agent.Options{}))
//
// It knows the path from the pattern under which it is registered; below another router than [http.ServeMux] it is Prefix. It reads the recorder of the process
// where it lies, in private memory too, and follows nothing else: Dirs, PIDs and Prefer are ignored. Nothing runs, and no memory is held, before the first request
// and from five minutes after the last one and the end of the last websocket on; with [Options.Observe] or [Options.Rules], which need it, it runs from the beginning. Errors
// of the options are told to [Options.Warn], or else on standard error, and to whoever asks. Close it in programs that end in an orderly way, such as tests.
func Handler(o Options) *Within {
	o.self = true
	o.Dirs, o.PIDs, o.Prefer = nil, nil, 0
	if o.Warn == nil {
		o.Warn = func(what string) { fmt.Fprintf(dump.CleanText(os.Stderr, false), "vtscope: %s\n", what) }
	}
	h := &Within{options: o, idle: usualIdle}
	if o.Observe != nil || len(o.Rules) > 0 {
		h.idle = 0
	}
	checked, err := o.withDefaults()
	switch {
	case err != nil:
		o.Warn(err.Error())
	case h.idle == 0: // it never rests
		h.running()
	default:
		h.options.Access = checked.Access // sessions and limits last, whether the agent runs or not
	}
	return h
}

// running returns what serves the agent, which is started if need be, and does not rest before served is called.
func (h *Within) running() (http.Handler, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.closed {
		return nil, errAgentClosed
	}
	if h.mu.agent == nil {
		a, err := New(h.options)
		if err != nil {
			return nil, err
		}
		h.mu.agent, h.mu.serve = a, a.Handler()
		if h.idle > 0 {
			h.mu.timer = time.AfterFunc(h.idle, h.rest)
		}
	}
	h.mu.asking++
	return h.mu.serve, nil
}

// served ends what running began.
func (h *Within) served() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.asking--
	h.mu.asked = time.Now()
}

// rest stops the agent if nobody has asked for long enough, and looks again later if somebody has.
func (h *Within) rest() {
	h.mu.Lock()
	a := h.mu.agent
	if a == nil || h.mu.closed {
		h.mu.Unlock()
		return
	}
	if wait := h.idle - time.Since(h.mu.asked); wait > 0 || h.mu.asking > 0 || a.busy() {
		h.mu.timer.Reset(max(wait, h.idle/4))
		h.mu.Unlock()
		return
	}
	h.mu.agent, h.mu.serve = nil, nil
	h.resting.Add(1)
	h.mu.Unlock()
	defer h.resting.Done()
	a.Close()
}

// busy reports whether somebody is being served for longer than a moment.
func (a *Agent) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.clients > 0 || len(a.recordings)+len(a.bundles)+len(a.dumps) > 0
}

// ServeHTTP may be called from any goroutine.
func (h *Within) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serve, err := h.running()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error(), "the options of agent.Handler")
		return
	}
	defer h.served()
	serve.ServeHTTP(w, beneath(r, mountedAt(r)))
}

// Close stops the agent, and returns when all that it runs is gone. It answers no more then. Further calls do nothing.
func (h *Within) Close() error {
	h.mu.Lock()
	h.mu.closed = true
	a := h.mu.agent
	h.mu.agent, h.mu.serve = nil, nil
	if h.mu.timer != nil {
		h.mu.timer.Stop()
	}
	h.mu.Unlock()
	h.resting.Wait() // none comes after closed
	if a == nil {
		return nil
	}
	return a.Close()
}

// mountedAt returns the path of the pattern under which a handler is registered.
func mountedAt(r *http.Request) string {
	pattern := r.Pattern
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		pattern = pattern[i:] // without a method and a host
	}
	if i := strings.IndexByte(pattern, '{'); i >= 0 {
		pattern = pattern[:i] // "/debug/vt/{rest...}"
	}
	return cmp.Or(pattern, Prefix)
}

// beneath returns a request for what lies below a prefix, which ends with a slash; the same one if it is for something else, or the prefix was taken away before.
func beneath(r *http.Request, prefix string) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.Path, strings.TrimSuffix(prefix, "/"))
	if !ok || !strings.HasPrefix(rest, "/") || prefix == "/" {
		return r
	}
	q := new(http.Request)
	*q = *r
	q.URL = new(url.URL)
	*q.URL = *r.URL
	q.URL.Path = rest
	q.URL.RawPath = "" // paths of the agent have nothing to escape: access refuses those that do
	if r.URL.RawPath != "" {
		q.URL.RawPath = r.URL.RawPath
	}
	return q
}

// underPrefix also serves what is asked for below [Prefix].
func underPrefix(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, beneath(r, Prefix)) })
}

// discoverSelf follows the process that the agent is in.
func (a *Agent) discoverSelf() {
	a.followGoroutines(os.Getpid(), true)
	own := flight.Default()
	if own == nil {
		return // it is off, which pages say
	}
	const path = "self"
	if a.follows(path) {
		return
	}
	open := func() (*flight.Reader, error) {
		r, err := own.Reader()
		if err == nil {
			a.options.Access.Redactor().Reader(r)
		}
		return r, err
	}
	r, err := open()
	if err != nil {
		a.warnOnce(err.Error())
		return
	}
	p := r.Process()
	r.Close()
	a.follow(path, open, p, own)
}

// keyOf is what clients call a process: the name of its flight file, or what that would be.
func keyOf(r *flight.Reader, file string) string {
	if key, ok := strings.CutSuffix(file, ".flight"); ok {
		return key
	}
	h := r.Header()
	return strconv.Itoa(h.PID) + "-" + strconv.FormatUint(h.StartTime, 10)
}
