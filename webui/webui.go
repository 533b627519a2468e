package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// Files returns the bundle: index.html and what it loads.
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("webui: " + err.Error()) // dist is embedded by its name
	}
	return sub
}

// Policy is the content-security policy that the page works under: nothing but what its own server
// gives it, no inline script or style, in no frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// opener lets the page hand a trace to a window that it opened itself, at the user's click (webui/src/perfetto.ts). Who opens the page has no hand in it all the same.
const opener = "same-origin-allow-popups"

// A file of the bundle, as it is served.
type asset struct {
	data    []byte
	packed  []byte // with gzip; nil where that saves nothing
	kind    string
	tag     string
	forever bool // its name has the hash of its bytes: other bytes have another name
}

// linked finds the files that index.html loads. It is served with their names and hashes instead, page.0123456789ab.js, so that browsers keep them for ever; dist
// and whoever asks by hand have the plain names.
var linked = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// assets are the files of the bundle by path, made when the first one is asked for: a program that has the page in it pays nothing before.
var assets = sync.OnceValue(func() map[string]asset {
	files := Files()
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("webui: " + err.Error())
	}
	data := map[string][]byte{}
	for _, e := range entries {
		if data[e.Name()], err = fs.ReadFile(files, e.Name()); err != nil {
			panic("webui: " + err.Error())
		}
	}
	served := map[string]asset{}
	index := data["index.html"]
	for _, m := range linked.FindAllSubmatch(index, -1) {
		name := string(m[1])
		if data[name] == nil {
			panic("webui: index.html loads " + name + ", which is not in dist")
		}
		a := newAsset(name, data[name])
		ext := path.Ext(name)
		hashed := strings.TrimSuffix(name, ext) + "." + a.tag[1:13] + ext
		index = bytes.ReplaceAll(index, []byte(`"`+name+`"`), []byte(`"`+hashed+`"`))
		served["/"+name] = a
		a.forever = true
		served["/"+hashed] = a
	}
	data["index.html"] = index
	for name := range data {
		if _, ok := served["/"+name]; !ok {
			served["/"+name] = newAsset(name, data[name])
		}
	}
	served["/"] = served["/index.html"]
	return served
})

func newAsset(name string, data []byte) asset {
	sum := sha256.Sum256(data)
	a := asset{data: data, kind: contentType(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic("webui: " + err.Error()) // the level is right, and memory takes all
	}
	if b.Len() < len(data) {
		a.packed = b.Bytes()
	}
	return a
}

// Handler serves the page at "/" and its files beside it; any other path is not found. Browsers ask each time whether index.html changed, and so see a new vtserve
// at the next load; what it loads they keep.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets()[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", Policy)
		h.Set("Cross-Origin-Opener-Policy", opener)
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "no-cache")
		if a.forever {
			h.Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		data, tag := a.data, a.tag
		if a.packed != nil {
			h.Set("Vary", "Accept-Encoding")
			if takesGzip(r.Header.Values("Accept-Encoding")) {
				data, tag = a.packed, strings.TrimSuffix(a.tag, `"`)+`-gzip"`
				h.Set("Content-Encoding", "gzip")
			}
		}
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data)
	})
}

// takesGzip reports whether values of Accept-Encoding name gzip, and do not refuse it.
func takesGzip(values []string) bool {
	for _, value := range values {
		for coding := range strings.SplitSeq(value, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, weighed := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			n, err := strconv.ParseFloat(q, 64)
			return !weighed || err == nil && n > 0
		}
	}
	return false
}

// contentType does not ask the system's tables: they differ between machines.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}
