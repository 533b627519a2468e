//go:build unix

package e2e

import (
	"flag"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var (
	update  = flag.Bool("update", false, "write docs/page*.png, webui/testdata and e2e/testdata")
	threads = flag.Int("threads", 100_000, "threads of the shop")
)

// One browser and one story, as a user would live it; a step needs those before it.
func TestAUserSeesTheShopLive(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	d := startDemo(t, bin, dir, *threads)

	w := lay(t, d.url) // its port stays ours when vtserve goes
	b.do(chromedp.Navigate(w.url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
	b.until("most of the shop's threads", fmt.Sprintf(
		`Number(document.querySelector("#threads")?.textContent.replaceAll(",", "")) > %d`, *threads*9/10))
	t.Logf("live with its threads %.1f s after vtserve's start", time.Since(d.started).Seconds())

	b.step("counts change", func() {
		b.until("switches", `document.querySelector("#switches")?.textContent !== "0"`)
		before := b.text(`document.querySelector("header").innerText`)
		b.until("other counts", fmt.Sprintf(`document.querySelector("header").innerText !== %q`, before))
		b.until("a time line", `document.querySelectorAll("#timeline canvas").length >= 2`)
		b.until("carriers", `document.querySelectorAll("#carriers .row").length > 0`)
	})

	b.step("a scope's stack", func() {
		b.until("the scope sessions", `scope("root/shop/sessions")`)
		b.press("it", `#scopes .row[data-path="root/shop/sessions"]`)
		b.until("the scope in the address", `location.hash.includes("scope=root/shop/sessions")`)
		b.until("its groups only", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/shop/sessions"))`)
		b.until("a stack of the shop's", `document.querySelector("#stack .frames li")?.textContent.includes("shop.")`)
		first := b.text(`document.querySelector("#stack .frames").innerText`)
		b.until("over which time they changed", `/^change over [0-9.]+ s/.test(document.querySelector("#groups .row[role=option] .change").title)`)
		b.until("another group, which is always there", `(g => g && (g.click(), true))(groups().find(g => g.innerText.includes("waitForMessage")))`)
		b.until("another group's stack", fmt.Sprintf(`document.querySelector("#stack .frames") && document.querySelector("#stack .frames").innerText !== %q`, first))
		b.until("the group in the address", `location.hash.includes("group=")`)
	})

	b.step("a filter", func() {
		b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "state=timed-parked\r"))
		b.until("the filter in the address", `location.hash.includes("filter=state%3Dtimed-parked")`)
		b.until("how many it matches", `/^[1-9].* match, [1-9]/.test(document.querySelector("#filtered")?.textContent)`)
		b.until("groups that it matches", `groups().length > 0 && groups().every(g => g.textContent.includes("timed-parked"))`)
		b.do(chromedp.SendKeys(chromedp.CSS("#filter"), " stat=7\r"))
		b.until("where the filter is wrong", `document.querySelector("#wrong-filter")?.textContent.endsWith("\n                   ^^^^")`)
		b.text(`String((f => { f.value = ""; f.dispatchEvent(new Event("input")); })(document.querySelector("#filter")))`)
		b.until("no filter", `!location.hash.includes("filter=") && !document.querySelector("#filtered") && !document.querySelector("#wrong-filter")`)
		b.text(`document.activeElement.blur()`)
	})

	b.step("what is out of sight is not asked for", func() {
		b.text(`(() => {
			window.said = "";
			const send = WebSocket.prototype.send;
			WebSocket.prototype.send = function (m) { if (m.includes('"subscribe"')) window.said = m; return send.call(this, m); };
			document.querySelector("#events").style.display = "none";
		})()`)
		b.until("no events wanted", `window.said.includes('"groups"') && !window.said.includes('"events"')`)
		b.text(`document.querySelector("#events").style.display = ""`)
		b.until("events wanted again", `window.said.includes('"events"')`)
	})

	b.step("the scheduler", func() {
		b.until("the default scheduler", `document.querySelector('#schedulers .scheduler[data-name="default"]')`)
		b.until("its parallelism", `figure("parallelism") > 0`)
		b.until("most of the shop's threads parked", fmt.Sprintf(`figure("parked") > %d`, *threads*9/10))
		b.until("for what they are parked", `told("parked").includes("sleep") && told("parked").includes("park ")`)
		b.until("what it does each second", `told("rates").includes("switches") && told("rates").includes("submissions")`)
		b.until("delays and slices of late", `[...document.querySelectorAll("#schedulers .histogram")].filter(h => h.querySelectorAll(".recent rect").length > 2).length === 2`)
		b.until("the delays of a scope", `document.querySelectorAll("#delays tbody tr").length > 1`)
		b.until("where threads held their carriers", `document.querySelector("#pins tbody code")?.textContent.includes("shop.")`)
	})

	b.step("the keyboard", func() {
		b.do(chromedp.KeyEvent("\x1b"))
		b.until("the scopes active", `document.querySelector("#scopes").classList.contains("active")`)
		for range 5 {
			b.do(chromedp.KeyEvent("k"))
		}
		b.until("the root chosen", `chosen("#scopes")?.dataset.path === "root"`)
		b.do(chromedp.KeyEvent("j"))
		b.until("the next scope chosen", `chosen("#scopes")?.dataset.path === "root/shop"`)
		b.do(chromedp.KeyEvent("\r"))
		b.until("the groups active", `document.querySelector("#groups").classList.contains("active")`)
		b.until("its groups", `document.querySelector("#groups .list")?.dataset.of === "root/shop"`)
		b.do(chromedp.KeyEvent("j"))
		b.until("a group chosen", `chosen("#groups") && location.hash.includes("group=")`)
	})

	b.step("the address is all of the view", func() {
		hash := b.text("location.hash")
		b.do(chromedp.Reload())
		b.until("live again", `document.querySelector("#status")?.textContent === "LIVE"`)
		b.until("the same scope", `chosen("#scopes")?.dataset.path === "root/shop"`)
		if got := b.text("location.hash"); got != hash {
			t.Errorf("after a reload the address has %s, want %s", got, hash)
		}
	})

	if *update {
		// A time line that is worth a picture.
		time.Sleep(60 * time.Second)
		b.do(chromedp.Navigate(w.url + "/#scope=root/shop"))
		b.do(chromedp.Reload())
		b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && groups().length > 0`)
		time.Sleep(2 * time.Second)
		b.document("page")
		b.resize(sizes[1])
		b.do(chromedp.KeyEvent("m"))
		time.Sleep(8 * time.Second)
		b.do(chromedp.KeyEvent("d"))
		b.until("what changed", `document.querySelector("#page [role=tab][aria-selected=true]")?.textContent === "What changed"`)
		b.settled()
		time.Sleep(3 * time.Second)
		b.document("page-diff")
		b.do(chromedp.Navigate(w.url + "/#scope=root/shop"))
		b.do(chromedp.Reload())
		b.resize(sizes[0])
		b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && groups().length > 0`)
	}

	b.step("a stopped process", func() {
		syscall.Kill(d.shop, syscall.SIGSTOP)
		b.until("stopped", `document.querySelector("#status").textContent === "STOPPED"`)
		syscall.Kill(d.shop, syscall.SIGCONT)
		b.until("live", `document.querySelector("#status").textContent === "LIVE"`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}

	b.step("vtserve starts again", func() {
		d.kill() // the shop goes too
		b.until("reconnecting", `document.querySelector("#reconnecting")?.textContent.startsWith("reconnecting since")`)
		b.until("stale", `document.querySelector("#status").textContent === "STALE"`)
		d = startDemo(t, bin, dir, *threads)
		w.lead(d.url)
		b.until("live with the new shop", fmt.Sprintf(
			`document.querySelector("#status").textContent === "LIVE" && document.querySelector("#process").selectedOptions[0].text.includes("pid %d")`, d.shop))
		b.until("its scope still chosen", `chosen("#scopes")?.dataset.path === "root/shop"`)
	})

	b.step("the shop is killed", func() {
		syscall.Kill(d.shop, syscall.SIGKILL)
		b.until("killed", `document.querySelector("#status").textContent === "GONE" && document.querySelector("#gone")?.textContent.includes("is gone since")`)
		b.until("its last threads", `groups().length > 0 && document.querySelector("#threads").textContent !== "0"`)
	})

	// While vtserve is away, the browser itself says that it cannot connect.
	if bad := b.complaints("WebSocket connection to", "ERR_CONNECTION_RESET", "ERR_CONNECTION_CLOSED", "ERR_EMPTY_RESPONSE"); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
