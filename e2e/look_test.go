//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A theme is what a browser says its user prefers.
type theme struct {
	name     string
	features []*emulation.MediaFeature
}

func prefers(name, value string) *emulation.MediaFeature {
	return &emulation.MediaFeature{Name: name, Value: value}
}

var themes = []theme{
	{"light", []*emulation.MediaFeature{prefers("prefers-color-scheme", "light"), prefers("prefers-contrast", "no-preference")}},
	{"dark", []*emulation.MediaFeature{prefers("prefers-color-scheme", "dark"), prefers("prefers-contrast", "no-preference")}},
	{"contrast", []*emulation.MediaFeature{prefers("prefers-color-scheme", "light"), prefers("prefers-contrast", "more")}},
	{"dark-contrast", []*emulation.MediaFeature{prefers("prefers-color-scheme", "dark"), prefers("prefers-contrast", "more")}},
	{"forced", []*emulation.MediaFeature{prefers("forced-colors", "active"), prefers("prefers-color-scheme", "dark"), prefers("prefers-contrast", "no-preference")}},
}

// A size is that of a screen.
type size struct {
	name          string
	width, height int64
}

var sizes = []size{{"desk", 1440, 900}, {"720p", 1280, 720}, {"phone", 390, 844}}

func (b *browser) wear(t theme) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: t.features}); err != nil {
		b.Fatal(err)
	}
}

func (b *browser) resize(s size) {
	b.Helper()
	b.do(chromedp.EmulateViewport(s.width, s.height))
	// Two frames later the page has laid itself out anew, and uPlot its charts.
	b.await(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))`)
}

// await evaluates an expression that is a promise.
func (b *browser) await(expression string) string {
	b.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("(async () => {"+words+"return String(await ("+expression+"))})()", chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %.200s: %v", b.now, expression, err)
	}
	return s
}

// flaws is a function that returns what a user would call broken about the layout of a page: it is wider than its window, boxes lie over each other, a text is cut off
// and nothing tells so, or a number is.
const flaws = `
const flaws = () => {
	const found = [];
	const over = document.querySelector("dialog[open]");
	const name = (e) => {
		const id = e.closest("[id]")?.id;
		return (id ? "#" + id + " " : "") + e.tagName.toLowerCase() + (typeof e.className === "string" && e.className ? "." + e.className.trim().replaceAll(/\s+/g, ".") : "");
	};
	const page = document.documentElement;
	if (page.scrollWidth > innerWidth + 1) {
		const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(name);
		found.push("the page is " + page.scrollWidth + " wide in a window of " + innerWidth + ": " + wide.join(", "));
	}
	// Boxes that stand beside each other.
	const boxes = [...document.querySelectorAll("header, footer, figure, section.panel, .banners > *")]
		.filter((e) => !e.closest("dialog") && e.getClientRects().length > 0)
		.map((e) => ({ e, r: e.getBoundingClientRect() })).filter(({ r }) => r.width > 0 && r.height > 0);
	for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
		const a = boxes[i], b = boxes[j];
		if (a.e.contains(b.e) || b.e.contains(a.e)) continue;
		const w = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), h = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
		if (w > 1 && h > 1) found.push(name(a.e) + " lies over " + name(b.e) + " by " + Math.round(w) + "x" + Math.round(h));
	}
	for (const { e, r } of boxes) if (e.matches("section.panel") && r.height < 50) found.push(name(e) + " is only " + Math.round(r.height) + " high");
	// Texts that end where nobody sees it.
	const walk = document.createTreeWalker(over ?? document.body, NodeFilter.SHOW_TEXT);
	const range = document.createRange();
	const told = new Set();
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		if (!n.data.trim() || !n.parentElement) continue;
		const of = n.parentElement;
		if (of.closest("script, style, option, select, svg, [hidden]") || !of.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
		range.selectNodeContents(n);
		const t = range.getBoundingClientRect();
		if (t.width === 0 || t.height === 0) continue;
		let ellipsis = false, x = true, y = true;
		for (let e = of; e && e !== document.body; e = e.parentElement) {
			const s = getComputedStyle(e), r = e.getBoundingClientRect();
			if (s.display === "inline" || s.display === "contents") continue;
			if (r.width <= 1 || r.height <= 1 || s.clipPath !== "none") break; // for screen readers
			ellipsis ||= s.textOverflow === "ellipsis" && s.overflowX !== "visible" && !/flex|grid/.test(s.display) || s.webkitLineClamp !== "none";
			const clipsX = s.overflowX === "hidden" || s.overflowX === "clip", clipsY = s.overflowY === "hidden" || s.overflowY === "clip";
			if (x && clipsX && !ellipsis && (t.right > r.right + 1.5 || t.left < r.left - 1.5)) {
				told.add(name(of) + " in " + name(e) + " is cut off: " + JSON.stringify(n.data.trim().slice(0, 40)));
				x = false;
			}
			if (y && clipsY && !ellipsis && !of.closest("[aria-hidden=true]") && (t.bottom > r.bottom + 3 || t.top < r.top - 3)) {
				told.add(name(of) + " in " + name(e) + " is cut off below: " + JSON.stringify(n.data.trim().slice(0, 40)));
				y = false;
			}
			if (s.overflowX === "auto" || s.overflowX === "scroll") x = false;
			if (s.overflowY === "auto" || s.overflowY === "scroll") y = false;
			if (s.position === "fixed") break;
		}
	}
	// What stands in a row has some room there.
	for (const e of (over ?? document.body).querySelectorAll(".option > *, .row > *")) {
		if (e.checkVisibility() && e.innerText?.trim() && e.getBoundingClientRect().width < 8) told.add(name(e) + " has no room: " + JSON.stringify(e.innerText.trim().slice(0, 40)));
	}
	// Three points may stand for the end of a text, and never for that of a number.
	for (const e of (over ?? document.body).querySelectorAll(".number, .share, .change, .wait, .id, td.n, .figures dd")) {
		if (!e.checkVisibility() || !e.textContent.trim() || getComputedStyle(e).overflowX === "visible") continue;
		range.selectNodeContents(e);
		if (range.getBoundingClientRect().width > e.getBoundingClientRect().width + 0.05) told.add(name(e) + " ends early: " + JSON.stringify(e.textContent.trim()));
	}
	return [...found, ...told];
};
`

// flawed reports what is broken about the layout.
func (b *browser) flawed(where string) {
	b.Helper()
	var found []string
	if err := json.Unmarshal([]byte(b.text("(() => {"+flaws+"return JSON.stringify(flaws())})()")), &found); err != nil {
		b.Fatal(err)
	}
	for i, f := range found {
		if i == 8 {
			b.Errorf("%s: and %d more", where, len(found)-i)
			break
		}
		b.Errorf("%s: %s", where, f)
	}
}

// axe is the audit of accessibility, of npm; "": it cannot be had.
var axe = sync.OnceValues(func() (script, why string) {
	name := filepath.Join("..", "webui", "node_modules", "axe-core", "axe.min.js")
	data, err := os.ReadFile(name)
	if err != nil {
		if _, err := exec.LookPath("npm"); err != nil {
			return "", "no npm is installed, which has axe-core: apt-get install npm"
		}
		c := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		c.Dir = filepath.Join("..", "webui")
		if out, err := c.CombinedOutput(); err != nil {
			return "", "npm ci: " + err.Error() + "\n" + string(out)
		}
		if data, err = os.ReadFile(name); err != nil {
			return "", err.Error()
		}
	}
	return string(data), ""
})

// audited reports what axe finds of WCAG 2.1, levels A and AA, or of some rules of those. It returns how many rules were applied.
func (b *browser) audited(where string, of ...string) (rules int) {
	b.Helper()
	script, why := axe()
	if why != "" {
		return 0
	}
	if b.text("typeof axe") == "undefined" {
		if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script+"\n;true")); err != nil {
			b.Fatal(err)
		}
	}
	var result struct {
		Rules int
		Found []string
	}
	which := `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}`
	if len(of) > 0 {
		names, err := json.Marshal(of)
		if err != nil {
			b.Fatal(err)
		}
		which = `{type: "rule", values: ` + string(names) + `}`
	}
	got := b.await(`axe.run(document, {runOnly: ` + which + `, resultTypes: ["violations"]}).then(r => JSON.stringify({
		Rules: r.passes.length + r.violations.length,
		Found: r.violations.flatMap(v => v.nodes.slice(0, 4).map(n => v.id + ": " + n.target.join(" ") + ": " + n.failureSummary.split("\n").slice(1, 3).join("; ").trim() + " (" + n.html.slice(0, 120) + ")")),
	}))`)
	if err := json.Unmarshal([]byte(got), &result); err != nil {
		b.Fatal(err)
	}
	for _, f := range result.Found {
		b.Errorf("%s: axe: %s", where, f)
	}
	return result.Rules
}

// shot is what is seen, as a PNG.
func (b *browser) shot() []byte {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatalf("%s: a picture: %v", b.now, err)
	}
	return picture
}

// screen writes what is seen to build/screens, where people look at it.
func (b *browser) screen(name string) []byte {
	b.Helper()
	picture := b.shot()
	b.keepScreen(name, picture)
	return picture
}

// keepScreen writes a picture to build/screens.
func (b *browser) keepScreen(name string, picture []byte) {
	b.Helper()
	dir := filepath.Join("..", "build", "screens")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}

// document writes what is seen to the pictures of docs/page.md.
func (b *browser) document(name string) {
	b.Helper()
	picture, err := small(b.screen(name))
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "docs", name+".png"), picture, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}
