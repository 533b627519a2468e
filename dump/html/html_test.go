package html_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/html"
	"github.com/vtscope/vtscope/runtime/flight"
)

func shop(t testing.TB) *dump.Snapshot {
	t.Helper()
	b, err := os.ReadFile("../testdata/shop.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := dump.ParseJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func page(t testing.TB, s *dump.Snapshot) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// data is what a page shows.
func data(t testing.TB, page string) (d struct {
	G    []struct{ N int }
	Rest [2]int
}) {
	t.Helper()
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	doc, _, _ := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// huge is a snapshot of a million threads in n groups with stacks of 40 frames, whose names are long and full of what has to be escaped.
func huge(n int) *dump.Snapshot {
	s := &dump.Snapshot{Threads: 1_000_000, Scopes: []dump.Scope{{Parent: -1, Name: "root", Count: 1}}}
	for i := range n {
		name := fmt.Sprintf("tenant %d %s", i, strings.Repeat("</script><b>&", 8))
		s.Scopes = append(s.Scopes, dump.Scope{Parent: i / 20, Depth: 1, Name: name, Count: 1})
		st := dump.Stack{}
		for d := range 40 {
			st.Frames = append(st.Frames, dump.Frame{Func: fmt.Sprintf("example.org/%s/pkg%d.(*T).m%d[go.shape.<int>]", strings.Repeat("long", 30), i, d), File: fmt.Sprintf("/src/%d/%d.go", i, d), Line: d})
		}
		s.Stacks = append(s.Stacks, st)
		s.Groups = append(s.Groups, dump.Group{Scope: i + 1, Stack: i, State: flight.StateParked, Count: 1_000_000 / n, Examples: []dump.Example{{ID: 1, Name: name}}})
	}
	return s
}

func TestPageIsAtMostAMegabyte(t *testing.T) {
	for _, n := range []int{10, 500, 10_000} {
		s := huge(n)
		p := page(t, s)
		d := data(t, p)
		sum := d.Rest[1]
		for _, g := range d.G {
			sum += g.N
		}
		if len(p) > html.MaxBytes || sum != s.Threads {
			t.Errorf("%d groups: got %d bytes, %d threads; want at most %d, %d", n, len(p), sum, html.MaxBytes, s.Threads)
		}
		if n == 10_000 && len(p) < html.MaxBytes/2 {
			t.Errorf("got %d bytes: more would fit", len(p))
		}
	}
}

func TestNamesCannotChangeThePage(t *testing.T) {
	s := shop(t)
	evil := `</script><script>document.title="evil"</script><img src=x onerror=alert(1)>`
	s.Process.Program, s.Scopes[1].Name, s.Stacks[0].Frames[0].Func, s.Groups[0].Examples[0].Name, s.Incomplete = evil, evil, evil, evil, []string{evil}
	p := page(t, s)
	if strings.Contains(p, `"evil"`) || strings.Contains(p, "<img") || strings.Count(p, "</script>") != 2 {
		t.Error("a name ends the script")
	}
	for _, fetches := range []string{"http:", "https:", " src=", "@import", "url("} {
		if strings.Contains(p, fetches) && !strings.Contains(evil, fetches) {
			t.Errorf("the page has %q", fetches)
		}
	}
}

// browser runs headless Chromium on a page, and returns what it prints.
func browser(t *testing.T, p string, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on the PATH")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(p), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for starts := 1; ; starts++ {
		cmd := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + filepath.Join(dir, "profile"+strconv.Itoa(starts)),
			"--virtual-time-budget=3000"}, append(args, "file://"+file)...)...)
		cmd.WaitDelay = time.Second
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err == nil {
			return string(out)
		}
		// Chromium crashes at its start now and then, before it has the page.
		var exit *exec.ExitError
		const killed = -1
		if crashed := errors.As(err, &exit) && exit.ExitCode() == killed && ctx.Err() == nil; !crashed || len(out) > 0 || starts == 3 {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, errs.Bytes())
		}
		t.Logf("Chromium crashed at its start: %v", err)
	}
}

func TestBrowserShowsThePageFromAFile(t *testing.T) {
	out := browser(t, page(t, shop(t)), "--dump-dom")
	for _, want := range []string{"shop (pid 4711): 1,000,412 threads", "checkout", "×312", "998,871", "(*Store).query", "lock 0xc000012340"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%.3000s", want, out)
		}
	}
}

func TestBrowserSearchesThePage(t *testing.T) {
	p := strings.Replace(page(t, shop(t)), "draw();\n</script>", "$('find').value = 'STORE.go parked'; draw(); $('open').click();\n</script>", 1)
	out := browser(t, p, "--dump-dom")
	if !strings.Contains(out, "998,871 threads in 1 group") || !strings.Contains(out, "<mark>") || strings.Contains(out, "(*Cart).add</code>") {
		t.Errorf("got\n%.3000s", out[strings.Index(out, `id="tools"`):])
	}
}
