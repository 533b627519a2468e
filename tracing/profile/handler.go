package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// Prefix is the path that [Handler] is for.
const Prefix = "/debug/vt/pprof/"

// Sources are the processes whose profiles a [Handler] serves.
type Sources interface {
	// Find returns the process of a key, such as its pid; of "" that which is meant if nothing is said. nil: there is none. What is called when the handler has no
	// more need of the source may be nil.
	Find(key string) (src Source, release func())
	// Keys returns the keys of all, in the order in which they are listed.
	Keys() []string
}

// One is a single process. It has no key.
func One(s Source) Sources { return single{s} }

type single struct{ Source }

func (s single) Find(key string) (Source, func()) {
	if key == "" {
		return s.Source, nil
	}
	return nil, nil
}

func (s single) Keys() []string { return nil }

const (
	// mostSeconds is the longest that a request may wait.
	mostSeconds = 3600
	// mostWaiting is how many requests may make a profile, or wait for one, at a time.
	mostWaiting = 32
)

// Handler serves profiles below [Prefix], in the manner of net/http/pprof:
//
//	PREFIX                 an index, for people
//	PREFIX park            the profile park, as "go tool pprof" reads it
//	PREFIX 4711/           the index of the process with key 4711
//	PREFIX 4711/park       its profile
//
// ?seconds=N asks for what happens in the next N seconds, and ?debug=1 for text. It serves every path if mounted elsewhere with [http.StripPrefix]. Who may ask is not
// its business.
func Handler(s Sources) http.Handler {
	return &handler{sources: s, slots: make(chan struct{}, mostWaiting)}
}

type handler struct {
	sources Sources
	slots   chan struct{} // held while a profile is made
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "want GET")
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, Prefix), "/")
	if path+"/" == strings.TrimPrefix(Prefix, "/") { // without the last slash links would lead elsewhere
		http.Redirect(w, r, Prefix, http.StatusMovedPermanently)
		return
	}
	key, name, keyed := strings.Cut(path, "/")
	if !keyed {
		key, name = "", path
	}
	src, release := h.sources.Find(key)
	if release != nil {
		defer release()
	}
	switch kind := KindOf(name); {
	case src == nil && key == "" && name == "":
		h.index(w, nil, "")
	case src == nil && key == "":
		fail(w, http.StatusNotFound, "no process is followed")
	case src == nil:
		fail(w, http.StatusNotFound, "no process of this name is followed")
	case name == "" && key == "":
		h.index(w, src, "")
	case name == "":
		h.index(w, src, "../")
	case kind == nil:
		fail(w, http.StatusNotFound, "unknown profile: want one of "+strings.Join(Names(), ", "))
	default:
		h.serve(w, r, kind, src)
	}
}

func fail(w http.ResponseWriter, code int, why string) {
	w.Header().Set("X-Go-Pprof", "1") // "go tool pprof" prints the text then
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, why)
}

// seconds reads the parameter, which may be missing.
func seconds(r *http.Request) (time.Duration, error) {
	text := r.FormValue("seconds")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > mostSeconds {
		return 0, fmt.Errorf("seconds: want a whole number from 1 to %d", mostSeconds)
	}
	return time.Duration(n) * time.Second, nil
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, k *Kind, src Source) {
	d, err := seconds(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	debug := r.FormValue("debug")
	switch debug {
	case "", "0", "1":
	default:
		fail(w, http.StatusBadRequest, "debug: want 0 or 1")
		return
	}
	wait := d
	if wait == 0 && k.Origin == OfProcess {
		wait = UsualCPU
	}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.WriteTimeout != 0 && wait >= server.WriteTimeout {
		fail(w, http.StatusBadRequest, "the profile takes longer than the server waits (WriteTimeout)")
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%d profiles are made already", mostWaiting))
		return
	}
	p, err := Take(r.Context(), k, src, d)
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // nobody is there to read it
	case errors.Is(err, ErrNone):
		fail(w, http.StatusNotFound, err.Error())
		return
	case err != nil:
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	var b bytes.Buffer
	if debug == "1" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		err = Text(&b, k.Name, p)
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.pb.gz"`, k.Name))
		err = p.Write(&b)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // who does not read it has gone
}

// index tells what there is of a process, and which processes there are. up leads from the page to the index of all.
func (h *handler) index(w http.ResponseWriter, src Source, up string) {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>vtscope profiles</title></head>\n<body>\n<h1>Profiles</h1>\n")
	if src != nil {
		p := src.Threads().Process()
		fmt.Fprintf(&b, "<p>%s (pid %d), %s</p>\n", html.EscapeString(dump.Printable(p.Program)), p.PID, p.Status)
		b.WriteString("<table>\n<thead><tr><th>profile</th><th></th><th>what it is</th></tr></thead>\n")
		for i := range Kinds {
			k := &Kinds[i]
			fmt.Fprintf(&b, "<tr><td><a href=\"%s\">%s</a></td><td>", k.Name, k.Name)
			if k.Origin != OfProcess {
				fmt.Fprintf(&b, "<a href=\"%s?debug=1\">text</a>", k.Name)
			}
			fmt.Fprintf(&b, "</td><td>%s.</td></tr>\n", html.EscapeString(k.About))
		}
		b.WriteString("</table>\n<p>?seconds=N tells what happens in the next N seconds, ?debug=1 gives text.</p>\n<pre>go tool pprof -http=: 'http://HOST" + Prefix + "park?seconds=10'</pre>\n")
	} else {
		b.WriteString("<p>No process is followed.</p>\n")
	}
	if keys := h.sources.Keys(); len(keys) > 0 {
		b.WriteString("<h2>Processes</h2>\n<ul>\n")
		for _, key := range keys {
			s, release := h.sources.Find(key)
			if s == nil {
				continue
			}
			p := s.Threads().Process()
			fmt.Fprintf(&b, "<li><a href=\"%s%s/\">%s</a> %s (pid %d), %s</li>\n", up, html.EscapeString(url.PathEscape(key)), html.EscapeString(key), html.EscapeString(dump.Printable(p.Program)), p.PID, p.Status)
			if release != nil {
				release()
			}
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</body>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	_, _ = w.Write(b.Bytes())
}
