package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for k, v := range header {
		r.Header[k] = v
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

// loads returns the paths that index.html loads.
func loads(t *testing.T) (paths []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(get(t, "/", nil).Body.String(), -1) {
		paths = append(paths, "/"+m[1])
	}
	if len(paths) < 3 {
		t.Fatalf("index.html loads %q, want scripts, a sheet and an icon", paths)
	}
	return paths
}

// What crosses the network before the page can show figures; the first frame needs room within 200 KB too. What the browser has to read is limited as well, for
// telephones: a script of 400 KB takes a slow one a third of a second.
const (
	mostPacked = 125 << 10
	mostPlain  = 400 << 10
)

func TestTheFirstScreenIsSmall(t *testing.T) {
	plain, packed := 0, 0
	for _, path := range append(loads(t), "/") {
		w := get(t, path, nil)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Fatalf("GET %s: status %d with %d bytes, want 200 with some", path, w.Code, w.Body.Len())
		}
		plain += w.Body.Len()
		z := get(t, path, http.Header{"Accept-Encoding": {"br, gzip"}})
		if z.Header().Get("Content-Encoding") == "gzip" {
			r, err := gzip.NewReader(bytes.NewReader(z.Body.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(r); err != nil || !bytes.Equal(data, w.Body.Bytes()) {
				t.Errorf("GET %s with gzip: other bytes than without, or %v", path, err)
			}
		} else if w.Body.Len() > 1000 {
			t.Errorf("GET %s with gzip: %d bytes as they are", path, z.Body.Len())
		}
		packed += z.Body.Len()
	}
	t.Logf("page: %d bytes, %d compressed", plain, packed)
	if plain > mostPlain || packed > mostPacked {
		t.Errorf("page is %d bytes and %d compressed, want at most %d and %d", plain, packed, mostPlain, mostPacked)
	}
}

func TestWhatThePageLoadsIsKeptForEver(t *testing.T) {
	for _, path := range loads(t) {
		w := get(t, path, nil)
		sum := sha256.Sum256(w.Body.Bytes())
		if hash := hex.EncodeToString(sum[:6]); !strings.Contains(path, "."+hash+".") {
			t.Errorf("%s has bytes of the hash %s", path, hash)
		}
		if got := w.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") || !strings.Contains(got, "max-age=31536000") {
			t.Errorf("%s: Cache-Control %q, want it kept for ever", path, got)
		}
	}
	for _, path := range []string{"/", "/index.html", "/page.js", "/licences.txt"} {
		if got := get(t, path, nil).Header().Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s: Cache-Control %q, want no-cache: another vtserve has other bytes there", path, got)
		}
	}
}

func TestTheMapOfTheSourcesIsNotInTheBinary(t *testing.T) {
	fs.WalkDir(Files(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(name, ".map") {
			t.Errorf("%s is embedded, %v", name, err)
		}
		return nil
	})
	if body := get(t, "/page.js", nil).Body.String(); strings.Contains(body, "sourceMappingURL") {
		t.Error("page.js names a map, which browsers would ask for")
	}
}

func TestGzipIsForWhoTakesIt(t *testing.T) {
	for value, want := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "deflate": false, "gzip2": false} {
		w := get(t, "/page.css", http.Header{"Accept-Encoding": {value}})
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: compressed %v, Vary %q; want %v", value, got, w.Header().Get("Vary"), want)
		}
	}
	packed := get(t, "/page.css", http.Header{"Accept-Encoding": {"gzip"}}).Header().Get("ETag")
	if plain := get(t, "/page.css", nil).Header().Get("ETag"); plain == packed {
		t.Errorf("both forms have the tag %s", plain)
	}
}

func TestThePageLoadsNothingFromOutside(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(src|href|url\(|import\()\s*=?\s*["']?(https?:)?//[a-z]`)
	checked := 0
	for _, path := range append(loads(t), "/") {
		body := get(t, path, nil).Body.String()
		if m := outside.FindString(body); m != "" {
			t.Errorf("%s loads from outside: %q", path, m)
		}
		checked += len(body)
	}
	if checked < 50_000 {
		t.Errorf("looked at %d bytes, want the whole bundle", checked)
	}
	if strings.Contains(get(t, "/", nil).Body.String(), "<style") || strings.Contains(get(t, "/", nil).Body.String(), "style=") {
		t.Error("index.html has an inline style, which the policy forbids")
	}
}

func TestFilesCarryThePolicyAndAnETag(t *testing.T) {
	w := get(t, "/", nil)
	if got := w.Header().Get("Content-Security-Policy"); got != Policy || strings.Contains(got, "unsafe") {
		t.Errorf("policy %q, want %q", got, Policy)
	}
	tag := w.Header().Get("ETag")
	if again := get(t, "/", http.Header{"If-None-Match": {tag}}); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("the same page again: status %d, %d bytes, want 304 and none", again.Code, again.Body.Len())
	}
	if w := get(t, "/nothing", nil); w.Code != http.StatusNotFound {
		t.Errorf("an unknown path: status %d, want 404", w.Code)
	}
}

func TestLicencesOfTheLibrariesAreServed(t *testing.T) {
	body := get(t, "/licences.txt", nil).Body.String()
	for _, want := range []string{"preact", "uplot", "MIT", "Permission is hereby granted"} {
		if !strings.Contains(body, want) {
			t.Errorf("licences.txt does not contain %q", want)
		}
	}
	var of struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	data, err := os.ReadFile("package.json")
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	bundled, more := os.ReadDir("vendor")
	if err != nil || more != nil || len(bundled) == 0 {
		t.Fatalf("vendor has %d libraries: %v, %v", len(bundled), err, more)
	}
	for _, b := range bundled {
		if want := fmt.Sprintf("\n== %s %s (", b.Name(), of.Dependencies[b.Name()]); !strings.Contains(body, want) {
			t.Errorf("licences.txt does not have the bundled library %q", want)
		}
	}
	if n := strings.Count(body, "\n== "); n != len(bundled) {
		t.Errorf("licences.txt has %d libraries, want the %d that are bundled", n, len(bundled))
	}
}

// Else a browser cuts the page off from the window in which it opens Perfetto, and cannot hand it a trace.
func TestThePageMayKeepTheWindowsThatItOpens(t *testing.T) {
	if got := get(t, "/", nil).Header().Get("Cross-Origin-Opener-Policy"); got != "same-origin-allow-popups" {
		t.Errorf("Cross-Origin-Opener-Policy of the page: %q, want same-origin-allow-popups", got)
	}
}

// docs/page.md tells of each word of the address, each view, and all that lies over the page.
func TestTheTourNamesAllThatTheAddressCanSay(t *testing.T) {
	tour, err := os.ReadFile("../docs/page.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for source, names := range map[string]*regexp.Regexp{
		"route.ts":     regexp.MustCompile(`(?m)^  (\w+): string; //`),
		"views.tsx":    regexp.MustCompile(`\bname: "([a-z-]+)"`),
		"overlays.tsx": regexp.MustCompile(`\bname: "([a-z-]+)"`),
	} {
		text, err := os.ReadFile(filepath.Join("src", source))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names.FindAllSubmatch(text, -1) {
			if name := string(m[1]); source != "views.tsx" || name != "name" {
				n++
				if !bytes.Contains(tour, []byte("`"+name+"`")) {
					t.Errorf("docs/page.md does not name `%s` of %s", name, source)
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("looked for %d words, want more", n)
	}
}
