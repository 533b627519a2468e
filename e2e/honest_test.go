//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A condition is why a view may have nothing to show, or not all, or nothing new.
type condition string

const (
	off      condition = "off"      // the recorder is off
	filtered condition = "filtered" // the filter matches nothing
	none     condition = "none"     // the process has none of it
	before   condition = "before"   // there is no process yet
	beyond   condition = "beyond"   // rewound to a moment of which nothing is kept
	limited  condition = "limited"  // there is more than a view lists
	saving   condition = "saving"   // vtserve saves cost
	lost     condition = "lost"     // events were lost
	ended    condition = "ended"    // the process has ended
	cut      condition = "cut"      // vtserve does not answer any more
)

var conditions = []condition{off, filtered, none, before, beyond, limited, saving, lost, ended, cut}

// A cell is what must be read at a place under a condition: texts, in which {n} is a number, {time} a time of day and {age} a duration; or why there is nothing to say.
type cell struct {
	texts []string
	not   string
}

// says are texts that are all there.
func says(texts ...string) cell { return cell{texts: texts} }

// not is why a condition says nothing about a place.
func not(because string) cell { return cell{not: because} }

// A place is a part of the page: a view, what lies over the page, or a panel that is always there.
type place struct {
	name  string
	hash  string // what shows it; "": it shows anyway
	at    string // its element
	cells map[condition]cell
}

var holders = strings.NewReplacer(`\{n\}`, `[0-9][0-9,]*`, `\{time\}`, `[0-9][0-9]:[0-9][0-9]:[0-9][0-9]`, `\{age\}`, `[0-9.]+ ?(ns|µs|ms|s|m|h)( [0-9]+s)?`)

// pattern is what a text of the table matches.
func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(holders.Replace(regexp.QuoteMeta(text)))
}

// allCells has the test go on after a cell that is wrong, and wait less for each: for who changes the table.
const allCells = "VTSCOPE_ALL_CELLS"

// An honesty is one walk through the page under a condition.
type honesty struct {
	*browser
	under condition
	cells int
}

// read is what can be read at an element, in one line, and the panels that have nothing to read.
func (h *honesty) read(at string) (text string, bare []string) {
	h.Helper()
	var got struct {
		Text string
		Bare []string
	}
	if err := json.Unmarshal([]byte(h.text(fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll(%q)].map(e => e.innerText).join(" ").replaceAll(/\s+/g, " ");
		const bare = [...document.querySelectorAll("dialog[open] .within, section.panel .body, .timeline")].filter(e => e.checkVisibility() && !e.innerText.trim() && !e.querySelector("canvas, svg")).map(e => e.closest("[id]").id);
		return JSON.stringify({Text: all, Bare: bare});
	})()`, at))), &got); err != nil {
		h.Fatal(err)
	}
	return got.Text, got.Bare
}

// filled puts a thread, and the oldest moment that is kept, in what shows a place.
func (h *honesty) filled(hash string) string {
	h.Helper()
	from := "1"
	if strings.Contains(hash, "FROM") && h.under != before {
		const oldest = `document.querySelector("#timeline [role=slider]")?.getAttribute("aria-valuemin")`
		h.until("a moment that is kept", `Number(`+oldest+`) > 0`)
		from = h.text(oldest)
	}
	return strings.NewReplacer("THREAD", "1", "FROM", from).Replace(hash)
}

// visit goes to all places, and reads there what the table says.
func (h *honesty) visit(base string) {
	h.Helper()
	hash, wait, all := "", patience, os.Getenv(allCells) != ""
	if all {
		wait = 3 * time.Second
	}
	for _, p := range honest {
		c, ok := p.cells[h.under]
		if !ok {
			h.Errorf("%s of %s: the table says neither what must be read nor why nothing is to be said", h.under, p.name)
			continue
		}
		if len(c.texts) == 0 {
			if len(c.not) < 12 {
				h.Errorf("%s of %s: want a reason for there being nothing to say", h.under, p.name)
			}
			continue
		}
		if to := base + h.filled(p.hash); to != hash {
			hash = to
			h.text(fmt.Sprintf(`(location.hash = %q, "")`, hash))
		}
		h.cells++
		text, missing := "", ""
		var bare []string
		for deadline := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
			text, bare = h.read(p.at)
			missing = ""
			for _, want := range c.texts {
				if !pattern(want).MatchString(text) {
					missing = want
				}
			}
			if missing == "" && len(bare) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if missing != "" {
			h.Errorf("%s: %s (%s) says %q, want %q", h.under, p.name, hash, text, missing)
		}
		if len(bare) > 0 {
			h.Errorf("%s: %s: nothing is to be read in %q", h.under, hash, bare)
		}
		if *update && p.hash != "" {
			h.screen("honest-" + string(h.under) + "-" + p.name)
		}
		if h.Failed() && !all {
			h.Fatalf("%s: no further", h.under)
		}
	}
}

// Each view, and each thing that lies over the page, says why it is empty, what it leaves out, and how old it is.
func TestEachViewSaysWhyItIsEmptyCutOrOld(t *testing.T) {
	tabled(t)
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url, server := startMortal(t, dir, filepath.Join(bin, "vtserve"), slices.Concat([]string{"--addr", anyPort, "--incidents", t.TempDir()}, generous)...)
	thrifty := serve(t, dir, "--max-memory", "1") // it needs time to find that it takes too much
	under := func(c condition, part func(h *honesty)) {
		b.step(string(c), func() {
			h := &honesty{browser: b, under: c}
			part(h)
			if *update {
				return
			}
			if h.cells == 0 {
				t.Errorf("%s: nothing was read", c)
			}
			b.audited("under " + string(c))
		})
	}
	show := func(pid int) string { return fmt.Sprintf("#process=%d", pid) }
	open := func(hash, what, until string) {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/"+hash))
		b.until(what, until)
	}
	const live = `document.querySelector("#status")?.textContent === "LIVE"`

	under(before, func(h *honesty) {
		b.do(chromedp.Navigate(url))
		b.until("connected", `document.querySelector("#status")?.textContent === "WAITING"`)
		h.visit("#")
	})

	t.Setenv("VTSCOPE_SETTINGS", "off")
	silent := launch(t, bin, dir, "shop", "-threads", "300")
	os.Unsetenv("VTSCOPE_SETTINGS")
	shop := launch(t, bin, dir, "shop", "-threads", "300")
	quiet := launch(t, bin, dir, "trouble", "-kind", "none")
	many := launch(t, bin, dir, "storm", "-threads", "6000", "-scopes", "250", "-depth", "5", "-hold", "0")
	brief := launch(t, bin, dir, "deadlock", "-kind", "locks")

	under(off, func(h *honesty) {
		open(show(silent), "a shop that records nothing", live+` && groups().length > 0`)
		h.visit(show(silent))
	})
	under(filtered, func(h *honesty) {
		open(show(shop), "a shop", live+` && groups().length > 0`)
		h.visit(show(shop) + "&filter=name%3Dnobody")
	})
	under(none, func(h *honesty) {
		open(show(quiet), "a program without trouble", live+` && groups().length > 0`)
		h.visit(show(quiet))
	})
	under(beyond, func(h *honesty) {
		open(show(shop), "a shop", live+` && groups().length > 0`)
		h.visit(show(shop) + "&at=1000000000000")
	})
	under(limited, func(h *honesty) {
		open(show(many), "a storm", live+` && groups().length > 0`)
		b.until("all scopes, with how many are left out", `document.querySelector("#scopes").innerText.includes("more scopes") || document.querySelectorAll("#scopes .body, #scopes .tree").forEach(e => e.scrollTop = 1e6)`)
		h.visit(show(many))
	})
	under(saving, func(h *honesty) {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(thrifty+"/"+show(shop)))
		b.until("that it saves", `document.querySelector("#saving") && groups().length > 0 && /step 5/.test(document.querySelector("#cost").innerText)`)
		h.visit(show(shop) + "&filter=state%3Dparked")
	})
	under(ended, func(h *honesty) {
		open(show(brief), "a deadlock", live+` && groups().length > 0`)
		syscall.Kill(brief, syscall.SIGINT)
		b.until("its end", `document.querySelector("#status")?.textContent === "ENDED"`)
		h.visit(show(brief))
	})
	under(cut, func(h *honesty) {
		open(show(shop)+"&scope=root/shop", "a shop", live+` && groups().length > 0 && document.querySelector("#stack .frames")`)
		server.Kill()
		b.until("the connection lost", `document.querySelector("#status")?.textContent === "STALE"`)
		h.visit(show(shop) + "&scope=root/shop")
		if says := b.text(`[...document.querySelectorAll(".panel:not(:has(h2 .age))")].map(p => p.id).join()`); says != "" {
			t.Errorf("cut: the panels %s do not say how old they are", says)
		}
	})
	if bad := b.complaints("WebSocket connection to", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "status of 404", "status of 410"); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}

	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		under(lost, func(h *honesty) {
			dir := little(t, 3700)
			parade(t, dir, "-threads", "200", "-drivers", "0", "-flood", "4")
			b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(serve(t, dir)))
			b.until("loss", `document.querySelector("[data-vital=drops].bad") && groups().length > 0`)
			h.visit("#")
		})
	} else {
		t.Log("lost: not seen: it needs the right to mount a small tmpfs")
	}
}

// tabled checks that the table has each view and each thing that lies over the page, and under each condition.
func tabled(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for _, p := range honest {
		known[p.name] = true
		for c := range p.cells {
			found := false
			for _, k := range conditions {
				found = found || c == k
			}
			if !found {
				t.Errorf("%s: there is no condition %q", p.name, c)
			}
		}
	}
	for _, source := range []string{"views.tsx", "overlays.tsx"} {
		for _, name := range named(t, source) {
			if !known[name] {
				t.Errorf("%s of %s has no row in the table honest, which tells what it says when it is empty, cut or old", name, source)
			}
		}
	}
}
