package webui

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
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

// The budget is for what a browser must load before it can show figures.
func TestTheFirstScreenIsSmall(t *testing.T) {
	sum, packed := 0, 0
	for _, path := range []string{"/", "/page.js", "/page.css", "/icon.svg"} {
		w := get(t, path, nil)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Fatalf("GET %s: status %d with %d bytes, want 200 with some", path, w.Code, w.Body.Len())
		}
		sum += w.Body.Len()
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(w.Body.Bytes())
		z.Close()
		packed += b.Len()
	}
	t.Logf("page: %d bytes, %d compressed", sum, packed)
	if sum > 150<<10 {
		t.Errorf("page is %d bytes, want at most %d: the first frame needs room within 200 KB too", sum, 150<<10)
	}
}

func TestThePageLoadsNothingFromOutside(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(src|href|url\(|import\()\s*=?\s*["']?(https?:)?//[a-z]`)
	checked := 0
	for _, path := range []string{"/", "/page.js", "/page.css", "/icon.svg"} {
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
}
