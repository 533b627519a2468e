package webui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
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

type asset struct {
	data []byte
	kind string
	tag  string
}

// Handler serves the page at "/" and its files beside it; any other path is not found. Browsers ask
// each time whether a file changed, so a new vtserve is seen at the next load.
func Handler() http.Handler {
	assets := map[string]asset{}
	files := Files()
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("webui: " + err.Error())
	}
	for _, e := range entries {
		data, err := fs.ReadFile(files, e.Name())
		if err != nil {
			panic("webui: " + err.Error())
		}
		sum := sha256.Sum256(data)
		assets["/"+e.Name()] = asset{data, contentType(e.Name()), `"` + hex.EncodeToString(sum[:12]) + `"`}
	}
	assets["/"] = assets["/index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets[r.URL.Path]
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
		h.Set("Content-Type", a.kind)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", a.tag)
		if strings.Contains(r.Header.Get("If-None-Match"), a.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Write(a.data)
	})
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
