//go:build unix

package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Durable threads of a file store: what they wait for, the history of one, and the thread that one hibernates as.
func TestDurableThreadsAndTheirHistoryAreShown(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launch(t, bin, dir, "errands", "-dir", t.TempDir(), "-orders", "20", "-hibernate-after", "50ms")
	const tab = `[...document.querySelectorAll("[role=tab]")].find(t => t.textContent === "Durable")`

	b.step("the header and the groups", func() {
		b.do(at(url, pid, ""))
		b.until("hibernated threads in the header", `document.querySelector("header").innerText.includes("hibernated")`)
		b.until("a group of them with its state", `groups().some(g => g.innerText.includes("hibernated") && g.innerText.includes("signal") && g.innerText.includes("main.checkout"))`)
		b.until("what they wait for", `document.querySelector("#stack").innerText.includes('signal "address"')`)
	})
	b.step("the list", func() {
		b.until("its tab", fmt.Sprintf(`(t => t && (t.click(), true))(%s)`, tab))
		b.until("the view in the address", `location.hash.includes("view=durable")`)
		b.until("20 orders that wait for a signal", `[...document.querySelectorAll("#durable .of-groups tbody tr")].some(r => r.dataset.body === "checkout" && r.querySelector(".number").textContent === "20" && r.innerText.includes("hibernated") && r.innerText.includes("address"))`)
		b.until("the error of those that failed", `document.querySelector("#durable .of-groups").innerText.includes("is closed")`)
		b.until("the oldest of them, and how many more", `document.querySelectorAll("#durable .of-rows li").length === 20 && document.querySelector("#durable").innerText.includes("more are left out")`)
		b.until("the command that prints the same", fmt.Sprintf(`document.querySelector("#durable > .foot code").textContent === "vtdump durable %d"`, pid))
		b.press("those of a group", `#durable .of-groups tr[data-body="reminder"] button`)
		b.until("only they are listed", `(rows => rows.length === 5 && rows.every(r => r.innerText.includes("reminder") && r.innerText.includes("until")))([...document.querySelectorAll("#durable .of-rows li")])`)
		b.until("and the command says so", `document.querySelector("#durable > .foot code").textContent.includes("--filter 'body=reminder state=hibernated waits=sleep")`)
		b.until("and the address", `location.hash.includes("durableFilter=body%3Dreminder")`)
		b.text(`String((s => { s.value = "id"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("#durable select")))`)
		const sorted = `(ids => ids.length === 5 && ids.join() === ids.toSorted().join())([...document.querySelectorAll("#durable .of-rows li")].map(r => r.dataset.durable))`
		b.until("by id, in the address too", `location.hash.includes("durableSort=id") && `+sorted)
		b.do(chromedp.Reload())
		b.until("the same after a reload", sorted+` && document.querySelector("#durable select").value === "id" && document.querySelector("#durable > .foot code").textContent.includes("--sort id")`)
		b.press("all again", `#durable .of-states button`)
		b.until("they are listed", `document.querySelector('[data-durable="order-3"]') || document.querySelectorAll("#durable .of-rows li").length === 20`)
	})
	b.step("an address that asks for what there is not", func() {
		b.do(at(url, pid, "&view=durable&durableFilter=nonsense%3D1"))
		b.until("what is wrong", `document.querySelector("#durable [role=alert]")?.innerText.includes("nonsense")`)
		b.press("a way out", `#durable [role=alert] button`)
		b.until("all of them", `document.querySelectorAll("#durable .of-rows li").length === 20 && !location.hash.includes("durableFilter=")`)
		b.press("more of them", `#durable .of-rows + p button`)
		b.until("as the address says", `document.querySelectorAll("#durable .of-rows li").length > 20 && location.hash.includes("durableTop=200")`)
	})
	b.step("the history of one", func() {
		b.do(at(url, pid, "&view=durable&durable=order-3"))
		b.until("its steps, the newest first", `(s => s.length >= 6 && s[0].innerText.includes("address") && s[0].innerText.includes("waits") && s.some(r => r.innerText.includes("pay")))([...document.querySelectorAll("#durable .steps tbody tr")])`)
		b.until("what it was given", `document.querySelector("#durable .of-durable").innerText.includes("customer")`)
		b.until("the command that prints the same", fmt.Sprintf(`document.querySelector("#durable .history .foot code").textContent === "vtdump durable %d order-3"`, pid))
	})
	b.step("back and forth by keys", func() {
		b.keys(escape)
		b.until("the list", `document.querySelectorAll("#durable .of-rows li").length > 0 && !location.hash.includes("durable=")`)
		b.press("a row, which is a button", `#durable .of-rows button`)
		b.until("its history", `document.querySelector("#durable .history .steps")`)
		b.do(at(url, pid, "&view=durable&durable=order-3"))
	})
	b.step("the thread that it hibernates as", func() {
		b.press("its thread", `#durable .thread-link`)
		b.until("its state and its journal", `(s => s.includes("hibernated") && s.includes("order-3 of body checkout") && s.includes("signal “address”"))(document.querySelector("#thread .of-thread")?.innerText ?? "")`)
		b.until("its history there too", `document.querySelectorAll("#thread .history .steps tbody tr").length >= 6`)
	})
	b.step("on a phone", func() {
		b.do(chromedp.EmulateViewport(390, 800), at(url, pid, "&view=durable"))
		b.until("the list", `document.querySelectorAll("#durable .of-rows li").length > 0`)
		b.until("nothing wider than the page", `document.documentElement.scrollWidth <= innerWidth && [...document.querySelectorAll("#durable .of-groups tr, #durable .one")].every(e => e.getBoundingClientRect().right <= innerWidth)`)
	})
	if all := b.complaints("status of 400"); len(all) > 0 { // of the filter that is none
		t.Errorf("the browser says %q", all)
	}
}

func TestWithoutDurableThreadsThereIsNoTabAndTheViewSaysWhy(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launch(t, bin, dir, "deadlock", "-kind", "locks")
	b.step("the view by its address", func() {
		b.do(at(url, pid, "&view=durable"))
		b.until("why it is empty", `document.querySelector("#durable .empty")?.textContent.includes("has no durable threads")`)
		b.do(at(url, pid, ""))
		b.until("no tab", `groups().length > 0 && ![...document.querySelectorAll("[role=tab]")].some(t => t.textContent === "Durable")`)
	})
}
