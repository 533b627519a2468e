//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What is waited for is walked by keys, to the thread that has it; so are the groups to their ends, and the changes.
func TestListsAreWalkedByKeys(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	launch(t, build(t), dir, "deadlock", "-kind", "locks")
	b.do(chromedp.Navigate(serve(t, dir) + "/#view=waits"))
	const rows = `[...document.querySelectorAll("#waits .cycle, #waits .wait-groups > li")]`
	const at = rows + `.findIndex(r => r.getAttribute("aria-current") === "true")`
	b.until("a circle, and what is waited for", rows+`.length > 1 && document.querySelector("#waits .cycle")`)
	b.text(`document.querySelector("#waits").dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))`)
	b.until("the keyboard there", `document.querySelector("#waits").classList.contains("active")`)
	b.keys("j")
	b.until("the first chosen", at+` === 0`)
	b.keys("j")
	b.until("the next", at+` === 1`)
	b.keys(kb.End)
	b.until("the last", at+` === `+rows+`.length - 1`)
	b.keys(kb.Home, kb.ArrowRight)
	b.until("the first, with its stacks", at+` === 0 && [...document.querySelectorAll("#waits [aria-current=true] details")].every(d => d.open)`)
	b.screen("waits-keys")
	b.keys("\r")
	b.until("a thread of it", `/thread=[0-9]+/.test(location.hash) && document.querySelector("#thread")`)
	b.do(chromedp.Navigate("about:blank"))

	url, _ := pages(t, "-replay", traffic)
	b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	b.until("live", useful)
	b.keys("2", kb.End)
	b.until("the last group", `groups().length > 2 && groups().at(-1).getAttribute("aria-selected") === "true"`)
	b.keys(kb.Home)
	b.until("the first group", `groups()[0].getAttribute("aria-selected") === "true"`)

	// The time line has one scale of time: what is below the pointer in one chart is marked in all of them.
	b.until("the charts", `document.querySelectorAll("#timeline .u-over").length === 3`)
	b.until("one width", `new Set([...document.querySelectorAll("#timeline .u-over")].map(o => o.clientWidth)).size === 1`)
	b.until("one cursor in all", `(() => {
		// A chart that is made anew has no cursor until the pointer moves on.
		const over = document.querySelector("#timeline .u-over"), r = over.getBoundingClientRect();
		for (const type of ["mouseenter", "mousemove"]) over.dispatchEvent(new MouseEvent(type, {bubbles: true, clientX: r.left + r.width * 0.9, clientY: r.top + 30}));
		const at = [...document.querySelectorAll("#timeline .u-cursor-x")].map(c => new DOMMatrix(getComputedStyle(c).transform).e);
		return at.length === 3 && at[0] > 50 && at.every(x => Math.abs(x - at[0]) <= 1);
	})()`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
