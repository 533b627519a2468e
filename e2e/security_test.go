//go:build unix

package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A browser is asked for the token once; names of threads and scopes that are script stay text on the page.
func TestNamesThatAreScriptStayText(t *testing.T) {
	const token = "operate-0123456789abcdef0123456789abcdef"
	b := openBrowser(t)
	bin, own, dir := build(t), t.TempDir(), flights(t)
	tokens := filepath.Join(own, "tokens")
	if err := os.WriteFile(tokens, []byte("operate "+token), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, bin, dir, "hostile")
	serve := exec.Command(filepath.Join(bin, "vtserve"), "--addr", "127.0.0.1:0", "--token-file", tokens, "--audit", filepath.Join(own, "audit"))
	serve.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	serve.Stderr = os.Stderr
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { serve.Process.Signal(os.Interrupt); serve.Wait() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	m := regexp.MustCompile(`^vtserve: (http://\S+)`).FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)

	b.step("the token", func() {
		b.do(chromedp.Navigate(m[1] + "/"))
		b.until("a form", `document.querySelector("input[type=password]")`)
		b.do(chromedp.SendKeys(chromedp.CSS("input[type=password]"), token+"\r"))
		b.until("the page", `document.querySelector("#scopes .row")`)
		if cookies := b.text(`document.cookie`); cookies != "" {
			t.Errorf("scripts can read the cookie: %s", cookies)
		}
		if at := b.text(`location.href`); strings.Contains(at, token) {
			t.Errorf("the token stands in the address: %s", at)
		}
	})
	b.step("the names", func() {
		b.until("the scopes", `document.body.innerText.includes('<img src=x onerror=document.title="owned">')`)
		b.until("a script's name", `document.body.innerText.includes('<script>document.title="owned"')`)
		b.text(`document.querySelectorAll("#scopes .row").forEach(r => r.click())`)
		b.until("groups", `groups().length > 0`)
		for _, bad := range []string{`document.title === "owned"`, `[...document.images].some(i => i.getAttribute("src") === "x")`, `[...document.scripts].some(s => s.textContent !== "")`, `document.querySelector("[onerror],[onmouseover]")`, `[...document.links].some(a => a.protocol === "javascript:")`} {
			if b.text("!!("+bad+")") == "true" {
				t.Errorf("a name became part of the page: %s", bad)
			}
		}
	})
	b.step("script in the page has no right to run", func() {
		b.text(`document.body.appendChild(Object.assign(document.createElement("script"), {textContent: 'document.title = "owned"'}))`)
		if title := b.text(`document.title`); title == "owned" {
			t.Error("a script within the page ran: the policy lets it")
		}
	})
	b.complaints("Content Security Policy", "401")
	if r, err := http.Get(m[1] + "/api/v1/processes"); err != nil || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the cookie: %v, %v; want 401", r, err)
	} else {
		r.Body.Close()
	}
	text, err := os.ReadFile(filepath.Join(own, "audit"))
	if err != nil || !strings.Contains(string(text), `"msg":"login"`) || strings.Contains(string(text), token) {
		t.Errorf("the audit: %v, %s; want the login, and no token", err, text)
	}
}
