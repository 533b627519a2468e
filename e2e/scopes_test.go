//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The tree of scopes folds, is sorted, and becomes a map, with the keyboard alone; the address has all of it.
func TestScopesFoldAndBecomeAMap(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	d := startDemo(t, bin, dir, 2_000)
	b.do(chromedp.Navigate(d.url))
	b.until("its scopes", `scope("root/shop/sessions")`)

	b.step("the tree folds", func() {
		b.do(chromedp.KeyEvent("j"))
		b.until("the shop chosen", `chosen("#scopes")?.dataset.path === "root/shop"`)
		b.until("it is unfolded", `chosen("#scopes").getAttribute("aria-expanded") === "true" && chosen("#scopes").getAttribute("aria-level") === "2"`)
		b.do(chromedp.KeyEvent(kb.ArrowLeft))
		b.until("it is folded", `chosen("#scopes").getAttribute("aria-expanded") === "false" && !scope("root/shop/sessions") && location.hash.includes("fold=")`)
		b.do(chromedp.Reload())
		b.until("it is folded after a reload", `scope("root/shop") && !scope("root/shop/sessions")`)
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.until("it is unfolded again", `scope("root/shop/sessions") && !location.hash.includes("fold=")`)
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.until("the first of its scopes chosen", `chosen("#scopes").getAttribute("aria-level") === "3"`)
		b.do(chromedp.KeyEvent(kb.ArrowLeft))
		b.until("the one above chosen", `chosen("#scopes")?.dataset.path === "root/shop" || chosen("#scopes")?.getAttribute("aria-expanded") === "false"`)
		b.click("the root's twist", `#scopes .row[data-path="root"] .twist`)
		b.until("all folded, and what is left chosen", `document.querySelectorAll("#scopes .row").length === 1 && chosen("#scopes")?.dataset.path === "root"`)
		b.click("the root's twist", `#scopes .row[data-path="root"] .twist`)
		b.until("unfolded", `scope("root/shop")`)
	})

	b.step("the order", func() {
		b.text(`(s => { s.value = "oldest"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("#order"))`)
		b.until("by the longest wait", `location.hash.includes("order=oldest") && scope("root/shop")?.querySelectorAll(".number").length === 2 && /[0-9] ?(s|m|h)/.test(scope("root/shop").querySelector(".number.dim").textContent)`)
		b.picture("scopes-oldest")
	})

	b.step("the map", func() {
		b.do(chromedp.KeyEvent("v"))
		b.until("boxes", `location.hash.includes("map=threads") && document.querySelectorAll("#scopes .map-boxes g[role=treeitem]").length > 5`)
		// The area of a box without others in it is as its threads: compare the two largest such siblings.
		b.until("areas as threads", `(() => {
			const leaf = (p) => { const g = document.querySelector('#scopes g[data-path="' + p + '"]'); const r = g?.querySelector("rect"); return g && { area: r.width.baseVal.value * r.height.baseVal.value, threads: Number(g.getAttribute("aria-label").match(/, ([0-9,]+) threads/)[1].replaceAll(",", "")) }; };
			const leaves = [...document.querySelectorAll("#scopes g[data-path]")].filter(g => !g.querySelector("text.head")).map(g => leaf(g.dataset.path)).sort((a, b) => b.threads - a.threads);
			const [x, y] = leaves;
			return leaves.length > 2 && Math.abs(Math.log((x.area / y.area) / (x.threads / y.threads))) < 0.5;
		})()`)
		b.until("a legend", `document.querySelector(".map-legend").innerText.includes("▲ by half")`)
		before := b.text(`location.hash`)
		b.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowDown))
		b.until("a box chosen", `document.querySelector('#scopes g[aria-selected="true"]') && document.querySelector("#scopes .map-chosen")`)
		for range 3 {
			b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown))
		}
		b.until("another one chosen", `location.hash !== `+quoted(before))
		b.picture("scopes-map")
		b.until("a click on the name of the shop's box", `(name => {
			const r = name.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2, hit = document.elementFromPoint(x, y);
			return hit.closest("g[data-path]") === name.closest("g[data-path]") && (hit.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: x, clientY: y})), true);
		})(document.querySelector('#scopes g[data-path="root/shop"] text'))`)
		b.until("the shop chosen", `document.querySelector('#scopes g[aria-selected="true"]')?.dataset.path === "root/shop"`)
		b.do(chromedp.KeyEvent("\r"))
		b.until("the shop alone", `!document.querySelector('#scopes g[data-path="root"]') && document.querySelector('#scopes g[data-path="root/shop"]')`)
		b.do(chromedp.KeyEvent("\x1b"))
		b.until("all scopes", `document.querySelector('#scopes g[data-path="root"]')`)
		b.text(`(s => { s.value = "parked"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelectorAll(".map-look select")[1])`)
		b.until("the share of a state", `location.hash.includes("map=threads.parked") && document.querySelector(".map-legend").innerText.includes("parked")`)
		b.picture("scopes-share")
		b.do(chromedp.KeyEvent("v"))
		b.until("the tree", `scope("root/shop")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// Of many scopes the largest come, and the others when they are asked for; the list draws what can be seen.
func TestEveryScopeCanBeReached(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launchHeld(t, bin, dir, "parade", "-scopes", "450", "-threads", "2000", "-drivers", "0")
	b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d", url, pid)))
	b.until("the parade", `scope("root/parade")`)
	b.until("not all rows drawn", `(n => n > 10 && n < 190)(document.querySelectorAll("#scopes .row[role=treeitem]").length)`)
	hidden := `Number(document.querySelector("#scopes .row.more")?.innerText.match(/([0-9,]+) more scope/)?.[1].replaceAll(",", "") ?? 0)`
	scroll := `document.querySelector("#scopes .body").scrollTo(0, 1e6)`
	b.step("more of them", func() {
		b.text(scroll)
		b.until("how many are hidden", hidden+" === 252")
		b.picture("scopes-many")
		b.click("more of them", "#scopes .row.more button")
		b.until("fewer", "("+scroll+", "+hidden+" === 52)")
		b.until("it in the address", `location.hash.includes("open=")`)
	})
	b.step("all of them, by keyboard", func() {
		b.do(chromedp.KeyEvent("\x1b"))
		b.text(`document.querySelector("#scopes .body").scrollTo(0, 0)`)
		b.press("the scope of all", `#scopes .row[data-path="root/parade"]`)
		b.text(`document.activeElement.blur()`)
		b.do(chromedp.KeyEvent("+"))
		b.until("none hidden", `(`+scroll+`, `+hidden+` === 0 && document.querySelector("#scopes .tree").offsetHeight >= 452 * 22)`)
		b.do(chromedp.KeyEvent(kb.End))
		b.until("the last scope chosen and seen", `(c => c && c.getBoundingClientRect().bottom <= document.querySelector("#scopes .body").getBoundingClientRect().bottom + 1)(chosen("#scopes"))`)
		b.do(chromedp.KeyEvent("v"))
		b.until("a map of them", `document.querySelectorAll("#scopes g[role=treeitem]").length > 300`)
		b.picture("scopes-many-map")
	})
}
