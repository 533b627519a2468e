//go:build unix

package e2e

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// patience is how long a condition on the page may take to come true.
const patience = 3 * time.Minute

// A browser is one tab of a headless Chromium.
type browser struct {
	*testing.T
	ctx context.Context
	now string // the step

	mu      sync.Mutex
	console []string // warnings, errors, exceptions
}

// chromium is the one browser of all tests: each has a context of its own in it, with other cookies and another cache.
var chromium struct {
	once  sync.Once
	path  string
	ctx   context.Context
	close func()
	err   error
}

func startChromium() {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			chromium.path = p
			break
		}
	}
	if chromium.path == "" {
		return
	}
	profile, err := os.MkdirTemp("", "vtscope-e2e-")
	if err != nil {
		chromium.err = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium.path),
		chromedp.UserDataDir(profile),
		chromedp.WSURLReadTimeout(patience),
		chromedp.WindowSize(1440, 900),
		chromedp.Flag("no-sandbox", true), // root has no sandbox
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("js-flags", "--expose-gc"),
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"), // there is a mouse
	)
	ctx, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	chromium.ctx = ctx
	chromium.close = func() { end(); release(); os.RemoveAll(profile) }
	chromium.err = chromedp.Do(ctx)
}

// TestMain ends what the tests share.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if chromium.close != nil {
		chromium.close()
	}
	os.RemoveAll(programs.dir)
	os.Exit(code)
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	chromium.once.Do(startChromium)
	switch {
	case chromium.err != nil:
		t.Fatal(chromium.err)
	case chromium.path == "":
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx}
	messages := chromedp.Console(ctx) // from now on, whether read or not
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleLog || m.Type == chromedp.ConsoleInfo || m.Type == chromedp.ConsoleDebug {
				continue
			}
			b.mu.Lock()
			b.console = append(b.console, m.String()+" "+m.URL)
			b.mu.Unlock()
		}
	}()
	// A tab behind another one thinks that it is in front, as the only one of a browser would be.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1440, 900))
	return b
}

// step is a part of the story, told when it fails.
func (b *browser) step(name string, part func()) {
	b.Helper()
	began := time.Now()
	b.now = name
	part()
	b.Logf("%s: %.1f s", name, time.Since(began).Seconds())
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatalf("%s: %v", b.now, err)
	}
}

// words are functions that expressions may use.
const words = `
const scope = (path) => document.querySelector('#scopes .row[data-path="' + path + '"]');
const groups = () => [...document.querySelectorAll("#groups .row[role=option]")];
const figure = (name) => Number(document.querySelector('#schedulers [data-figure="' + name + '"]')?.dataset.value);
const told = (what) => document.querySelector('#schedulers [data-about="' + what + '"]')?.innerText.replaceAll(/\s+/g, " ") ?? "";
const chosen = (panel) => document.querySelector(panel + ' .row[aria-selected="true"]');
`

// text evaluates a JavaScript expression to a string.
func (b *browser) text(expression string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		s, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(() => {"+words+"return String("+expression+")})()"))
		switch {
		case err == nil:
			return s
		case ctx.Err() == nil && (strings.Contains(err.Error(), "navigated or closed") || strings.Contains(err.Error(), "context was destroyed") || strings.Contains(err.Error(), "find context")):
			time.Sleep(10 * time.Millisecond) // the page goes to another: that one is asked
		default:
			b.Fatalf("%s: %v", expression, err)
		}
	}
}

// until waits for a JavaScript expression to be true; what says what that means.
func (b *browser) until(what, expression string) {
	b.Helper()
	is := "" // or what is missing for the expression to mean anything: it may come
	for deadline := time.Now().Add(patience); is != "true"; {
		is = b.text("(() => { try { return !!(" + expression + ") } catch (e) { return String(e) } })()")
		if is != "true" && time.Now().After(deadline) {
			b.Fatalf("%s: after %v: still not %s (%s); the page says:\n%s", b.now, patience, what, is, b.text("document.body.innerText"))
		}
		if is != "true" {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// hears has the page keep what its toast says from now on: it says so for seconds, and a machine may pause for as long.
func (b *browser) hears() {
	b.Helper()
	b.text(`(() => {
		window.toasts = [];
		new MutationObserver(() => window.toasts.push(document.querySelector("#toast").textContent)).observe(document.querySelector("#toast"), {subtree: true, childList: true, characterData: true});
	})()`)
}

// complaints are what the browser's console said so far that does not contain one of the expected parts.
func (b *browser) complaints(expected ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var bad []string
	// On a busy machine a test leaves a page while that connects.
	expected = append(expected, "WebSocket is closed before the connection is established")
next:
	for _, m := range b.console {
		for _, part := range expected {
			if strings.Contains(m, part) {
				continue next
			}
		}
		bad = append(bad, m)
	}
	return bad
}
