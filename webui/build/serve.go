package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

// policy is [webui.Policy], which a test compares: what the page may not do in vtserve it cannot do here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// reload is a script of the page that is served here alone.
const reload = `new EventSource("reload").onmessage = () => location.reload();
`

// A workshop serves the page as its sources are now, and has browsers load it again when they change. What is not the page comes from back.
type workshop struct {
	root string
	back http.Handler

	mu struct {
		sync.Mutex
		files   map[string][]byte
		changed chan struct{} // closed when files are replaced
	}
}

// serveSources serves the page on addr until ctx ends.
func serveSources(ctx context.Context, root, addr string, back http.Handler) error {
	w := &workshop{root: root, back: back}
	w.mu.changed = make(chan struct{})
	built := make(chan struct{})
	var once sync.Once
	o := options(root)
	o.Sourcemap, o.MinifyIdentifiers, o.MinifySyntax, o.MinifyWhitespace = api.SourceMapLinked, false, false, false
	o.Plugins = []api.Plugin{{Name: "workshop", Setup: func(b api.PluginBuild) {
		b.OnEnd(func(r *api.BuildResult) (api.OnEndResult, error) {
			w.take(r)
			once.Do(func() { close(built) })
			return api.OnEndResult{}, nil
		})
	}}}
	builder, wrong := api.Context(o)
	if wrong != nil {
		return errors.New(strings.Join(api.FormatMessages(wrong.Errors, api.FormatMessagesOptions{}), ""))
	}
	defer builder.Dispose()
	if err := builder.Watch(api.WatchOptions{}); err != nil {
		return err
	}
	select {
	case <-built:
	case <-ctx.Done():
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w, BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	fmt.Printf("build: the page, from %s: http://%s\n", filepath.Join(root, "src"), l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// untilInterrupt ends as Ctrl-C or the end of whoever started this says.
func untilInterrupt() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

// take has the result of a build served, if it is one; what was served stays if there are errors, which are printed.
func (w *workshop) take(r *api.BuildResult) {
	for _, m := range append(api.FormatMessages(r.Errors, api.FormatMessagesOptions{}), api.FormatMessages(r.Warnings, api.FormatMessagesOptions{Kind: api.WarningMessage})...) {
		fmt.Fprint(os.Stderr, m)
	}
	if len(r.Errors) > 0 {
		return
	}
	files := map[string][]byte{"/reload.js": []byte(reload)}
	for _, f := range r.OutputFiles {
		files["/"+filepath.Base(f.Path)] = f.Contents
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.files = files
	close(w.mu.changed)
	w.mu.changed = make(chan struct{})
}

// file returns what stands at a path of the page, and when that changes.
func (w *workshop) file(at string) (data []byte, changed <-chan struct{}) {
	w.mu.Lock()
	data, changed = w.mu.files[at], w.mu.changed
	w.mu.Unlock()
	switch at {
	case "/":
		data, _ = os.ReadFile(filepath.Join(w.root, "src", "index.html"))
		data = bytes.Replace(data, []byte("</head>"), []byte("<script type=\"module\" src=\"reload.js\"></script>\n</head>"), 1)
	case "/icon.svg":
		data, _ = os.ReadFile(filepath.Join(w.root, "src", "icon.svg"))
	case "/licences.txt":
		data, _ = licences(w.root)
	}
	return data, changed
}

func (w *workshop) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	// The agent lets in who asks on loopback, and here it is we who ask: a page of somebody else's whose name points at 127.0.0.1 must not.
	if !loopback(r.Host) {
		http.Error(out, "ask for http://127.0.0.1 or http://localhost", http.StatusForbidden)
		return
	}
	if r.URL.Path == "/reload" {
		w.tellChanges(out, r)
		return
	}
	data, _ := w.file(r.URL.Path)
	if data == nil {
		w.back.ServeHTTP(out, r)
		return
	}
	h := out.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
	if r.URL.Path == "/" {
		h.Set("Content-Type", "text/html; charset=utf-8")
	}
	h.Set("Cache-Control", "no-store")
	out.Write(data)
}

// tellChanges sends an event when the page is another.
func (w *workshop) tellChanges(out http.ResponseWriter, r *http.Request) {
	_, changed := w.file("")
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(out)
	fmt.Fprint(out, ": connected\n\n")
	for flush.Flush() == nil {
		select {
		case <-changed:
			_, changed = w.file("")
			fmt.Fprint(out, "data: changed\n\n")
		case <-time.After(20 * time.Second):
			fmt.Fprint(out, ": still here\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// loopback reports whether a request's Host is a name or an address that only this machine has.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
