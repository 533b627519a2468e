//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	browserproto "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keys presses keys one after the other.
func (b *browser) keys(all ...string) {
	b.Helper()
	for _, k := range all {
		b.do(chromedp.KeyEvent(k))
	}
}

// over is the overlay of a name, as an expression.
func over(name string) string { return `document.querySelector("dialog#overlay-` + name + `[open]")` }

const (
	escape    = "\x1b"
	down      = kb.ArrowDown
	backspace = "\b"
	noOverlay = `!document.querySelector("dialog") && !location.hash.includes("panel=")`
)

// keeps makes the browser keep what it downloads in a folder, and returns the files there.
func (b *browser) keeps() (dir string) {
	b.Helper()
	dir = b.TempDir()
	how := browserproto.SetDownloadBehaviorParams{Behavior: browserproto.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID}
	if _, err := chromedp.CallBrowser(b.ctx, browserproto.SetDownloadBehavior, how); err != nil {
		b.Fatal(err)
	}
	return dir
}

// kept waits for a file that is whole, and returns it.
func (b *browser) kept(dir, name string) []byte {
	b.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && len(data) > 0 {
			return data // it has its name when it is whole
		}
		if time.Now().After(deadline) {
			found, _ := filepath.Glob(filepath.Join(dir, "*"))
			b.Fatalf("%s: no %s after %v, but %q", b.now, name, patience, found)
		}
	}
}

// Everything by keyboard alone: one browser and one story, no mouse in it.
func TestTheKeyboardIsEnough(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	shop := launch(t, build(t), dir, "shop", "-threads", "10000")
	url := serve(t, dir, "--incidents", t.TempDir())
	downloads := b.keeps()
	b.do(chromedp.Navigate(url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop") && groups().length > 0`)
	b.until("the role", `document.querySelector("#role")?.dataset.role === "operate"`)

	b.step("help", func() {
		b.keys("?")
		b.until("the help over the page", over("help"))
		b.until("it in the address", `location.hash.includes("panel=help")`)
		b.until("keys, states and fields", `["next scope", "timed-parked", "scope-join", "docs/filter.md"].every(w => document.querySelector("#overlay-help").innerText.includes(w))`)
		b.until("the focus inside", over("help")+`.contains(document.activeElement)`)
		b.flawed("help")
		b.audited("help")
		b.keys("j", escape)
		b.until("the page again", noOverlay)
		if got := b.text(`chosen("#scopes")?.dataset.path`); got != "root" {
			t.Errorf("a key behind the help chose %s, want root chosen still", got)
		}
	})

	b.step("panels and rows", func() {
		b.keys("j")
		b.until("the next scope chosen", `chosen("#scopes")?.dataset.path === "root/shop"`)
		b.keys("2")
		b.until("the groups active", `document.querySelector("#groups").classList.contains("active")`)
		b.until("its groups", `document.querySelector("#groups .list")?.dataset.of === "root/shop"`)
		b.keys("j")
		b.until("a group chosen", `chosen("#groups") && location.hash.includes("group=")`)
		b.keys("1")
		b.until("the scopes active", `document.querySelector("#scopes").classList.contains("active")`)
	})

	b.step("the palette finds a scope", func() {
		b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		b.until("the palette, which has the focus", over("palette")+` && document.activeElement.id === "palette"`)
		b.audited("palette")
		b.keys("s", "e", "s", "s", "i", "o", "n", "s")
		b.until("the scope first", `document.querySelector('#palette-list [aria-selected="true"]')?.innerText.includes("root/shop/sessions")`)
		b.until("it told to readers of the screen", `document.activeElement.getAttribute("aria-activedescendant") === document.querySelector('#palette-list [aria-selected="true"]').id`)
		b.keys("\r")
		b.until("the page with the scope", noOverlay+` && chosen("#scopes")?.dataset.path === "root/shop/sessions"`)
		b.until("the focus where it was", `document.activeElement === document.body`)
		b.keys(":")
		b.until("the palette again", over("palette")+` && document.activeElement.id === "palette"`)
		b.text(`document.activeElement.select()`) // a real keyboard writes no ":"
		b.keys("r", "u", "n", "n", "a", "b", "l", "e", "x", "q", down, "\r")
		b.until("what fits to nothing as a filter", `location.hash.includes("filter=runnablexq")`)
		b.until("why nothing is shown", `document.querySelector("#groups .empty")?.innerText.length > 0`)
	})

	b.step("the filter goes on by itself", func() {
		b.keys("/")
		b.until("the focus", `document.activeElement.id === "filter"`)
		b.text(`document.activeElement.select()`) // nor a "/"
		b.keys("s", "t", "a", "t")
		b.until("a field", `document.querySelector("#filter-list")?.innerText.includes("state=")`)
		b.keys(down, "\t")
		b.until("it taken", `document.activeElement.value === "state="`)
		b.until("its values", `document.querySelector("#filter-list")?.innerText.includes("timed-parked")`)
		b.audited("suggestions")
		b.keys("t", "i", "m", "e", down, "\r", "\r")
		b.until("it applied", `location.hash.includes("filter=state%3Dtimed-parked")`)
		b.until("how many match", `/^[1-9].* match/.test(document.querySelector("#filtered")?.textContent)`)
		b.keys(" ", "w", "a", "i", "t", "~", "x", "\r")
		b.until("what is wrong marked", `document.querySelector("#filter").getAttribute("aria-invalid") === "true" && document.querySelector("#wrong-filter")?.textContent.endsWith("\n"+" ".repeat(24)+"^")`)
		b.until("and chosen in the box", `(f => f.selectionStart === 24 && f.selectionEnd === 25)(document.querySelector("#filter"))`)
		b.keys(backspace, backspace, backspace, backspace, backspace, backspace, backspace, backspace)
		b.text(`document.querySelector("#filter").select()`)
		b.keys(backspace)
		b.until("no filter", `!location.hash.includes("filter=")`)
		b.until("what was used before", `document.querySelector("#filter-list")?.innerText.includes("used before")`)
		b.keys(escape, escape)
		b.until("the page again", `document.activeElement === document.body`)
	})

	b.step("themes", func() {
		for _, theme := range []string{"light", "dark", "contrast-light"} {
			b.keys("t")
			b.until(theme, `document.documentElement.dataset.theme === "`+theme+`"`)
		}
		b.do(chromedp.Reload())
		b.until("the same after a reload, from the first paint on", `document.documentElement.dataset.theme === "contrast-light" && document.querySelector("#status")?.textContent === "LIVE"`)
		b.hears()
		b.keys("t")
		b.until("a word about it", `window.toasts.some(t => t.includes("as the system prefers"))`)
	})

	b.step("an export", func() {
		b.keys("e")
		b.until("the ways out", over("export")+`?.querySelector("[data-export=json] button")`)
		b.flawed("export")
		b.audited("export")
		b.text(`document.querySelector("[data-export=json] button").focus()`)
		b.keys("\r")
		var snapshot struct {
			Format  string
			Process struct{ PID int }
			Scopes  []struct{ Name string }
		}
		if err := json.Unmarshal(b.kept(downloads, "dump.json"), &snapshot); err != nil || snapshot.Process.PID != shop || !strings.HasPrefix(snapshot.Format, "vtscope/") {
			t.Errorf("dump.json: %v, %+v; want a dump of pid %d", err, snapshot, shop)
		}
		b.text(`document.querySelector("[data-export=incident] button").focus()`)
		b.keys("\r")
		b.until("what it costs", `/Cost for the process: (low|medium|high)/.test(document.querySelector("[data-export=incident] .costly")?.innerText)`)
		b.text(`document.querySelector("[data-export=incident] .go").focus()`)
		b.keys("\r")
		b.until("it taken", `document.querySelector("[data-export=incident]").innerText.includes("taken: ")`)
		b.until("the way to it", `document.querySelector("[data-export=incident] a")?.hash.includes("panel=kept")`)
		b.keys(escape)
		b.until("the page again", noOverlay)
	})

	b.step("Perfetto gets the trace, and nothing is uploaded", func() {
		b.keys("e")
		b.until("the ways out", over("export")+`?.querySelector("[data-export=perfetto] button")`)
		b.text(`(s => { s.value = "5s"; s.dispatchEvent(new Event("change", {bubbles: true})) })(document.querySelector(".export select"))`)
		b.until("a shorter one", `document.querySelector("[data-export=perfetto] .size").innerText.startsWith("about 5 s")`)
		b.text(`document.querySelector("[data-export=perfetto] .does button").focus()`)
		b.keys("\r")
		b.until("what will happen", `document.querySelector("[data-export=perfetto] .costly")?.innerText.includes("nothing is uploaded")`)
		b.text(`document.querySelector("[data-export=perfetto] .go").focus()`)
		b.keys("\r")
		b.until("the trace", `[...document.querySelectorAll("[data-export=perfetto] .costly button")].some(x => x.innerText === "open in Perfetto")`)
		// The network of tests has no Perfetto: a port that answers as its page does stands for the window.
		b.text(`(() => {
			const page = new MessageChannel().port1;
			page.location = {}; page.opener = self;
			page.postMessage = (m, to) => {
				window.handedTo = to;
				if (m === "PING") dispatchEvent(new MessageEvent("message", {data: "PONG", origin: "https://ui.perfetto.dev", source: page}));
				else window.handed = m.perfetto;
			};
			window.open = () => window.perfetto = page;
			[...document.querySelectorAll("[data-export=perfetto] .costly button")].find(x => x.innerText === "open in Perfetto").focus();
		})()`)
		b.keys("\r")
		b.until("it handed over", `window.handed?.buffer.byteLength > 1000 && window.handedTo === "https://ui.perfetto.dev"`)
		b.until("to its page, which does not know who opened it", `window.perfetto.location.href === "https://ui.perfetto.dev" && window.perfetto.opener === null`)
		b.keys(escape)
		b.until("the page again", noOverlay)
	})

	b.step("a bundle opens as a process", func() {
		b.keys("r")
		b.until("the bundle", over("kept")+`?.querySelector("[data-bundle] button")`)
		b.audited("kept")
		b.text(`[...document.querySelectorAll("[data-bundle] .does button")][0].focus()`)
		b.keys("\r")
		b.until("the page as it was then", noOverlay+` && document.querySelector("#status")?.textContent === "RECORDED" && groups().length > 0`)
		b.text(`location.hash = "#scope=root/shop/sessions"`)
		b.until("live again", `document.querySelector("#status")?.textContent === "LIVE" && groups().length > 0`)
	})

	b.step("settings", func() {
		b.keys("s")
		b.until("the kinds", over("settings")+`?.querySelectorAll(".kinds tbody tr").length > 20`)
		b.audited("settings")
		b.text(`document.querySelector("#changes").focus()`)
		b.keys(strings.Split("yield=off", "")...)
		b.keys("\r")
		b.keys(strings.Split("parkk=off", "")...)
		b.until("the command that does the same", over("settings")+`.querySelector(".command code").textContent.endsWith("yield=off parkk=off")`)
		b.text(`document.querySelector(".settings .go").focus()`)
		b.keys("\r")
		b.until("the line that is wrong", `document.querySelector(".lines .wrong")?.textContent.trim() === "2"`)
		b.text(`document.querySelector("#changes").focus()`)
		for range len("\nparkk=off") {
			b.keys(backspace)
		}
		b.text(`document.querySelector(".settings .go").focus()`)
		b.keys("\r")
		b.until("it changed", `[...document.querySelectorAll(".kinds tr.off th")].some(h => h.textContent === "yield") && document.querySelector(".settings .facts").innerText.includes("changed")`)
		b.keys(escape)
		b.until("the page again", noOverlay)
	})

	if bad := b.complaints("status of 400"); len(bad) > 0 {
		t.Errorf("the console says:\n%v", bad)
	}
}

// The command line of each panel prints what the panel shows.
func TestEachPanelsCommandPrintsWhatItShows(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	launch(t, build(t), dir, "shop", "-threads", "10000")
	url := serve(t, dir)
	b.do(chromedp.Navigate(url + "/#scope=root/shop/sessions&filter=state%3Dtimed-parked%20wait%3E1ms"))
	b.until("its groups", `groups().length > 0 && document.querySelector("#filtered") && document.querySelector("#groups .list")?.dataset.of === "root/shop/sessions"`)
	b.text(`groups()[0].click()`)
	b.until("its stack", `location.hash.includes("group=") && document.querySelector("#stack .frames code")`)
	var commands map[string]string
	if err := json.Unmarshal([]byte(b.text(`JSON.stringify(Object.fromEntries([...document.querySelectorAll("section.panel")].map(p => [p.id, p.querySelector(".foot .command code")?.textContent ?? ""])))`)), &commands); err != nil {
		t.Fatal(err)
	}
	printed := map[string]string{}
	for panel, line := range commands {
		if !strings.HasPrefix(line, "vtdump ") {
			t.Errorf("panel %s has the command %q, want one of vtdump", panel, line)
			continue
		}
		c := exec.Command("sh", "-c", line)
		c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir, "PATH="+build(t)+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code > 1 {
			t.Errorf("panel %s: %s: %v\n%s", panel, line, err, out)
		}
		printed[panel] = string(out)
	}
	if len(printed) < 6 {
		t.Errorf("got %d commands, want those of at least 6 panels: %q", len(printed), commands)
	}
	for _, words := range []string{"root/shop/sessions", "state=timed-parked", "wait>1ms"} {
		if !strings.Contains(commands["groups"], words) || !strings.Contains(printed["groups"], words) {
			t.Errorf("the command of the groups is %q and says %.300q, want %s in both", commands["groups"], printed["groups"], words)
		}
	}
	top := b.text(`document.querySelector("#stack .frames code").textContent`)
	if !strings.Contains(printed["stack"], top) {
		t.Errorf("the command of the stack is %q and says %.300q, want %s", commands["stack"], printed["stack"], top)
	}
}
