//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// flameWords are functions that the steps below use beside words.
const flameWords = `
const canvas = document.querySelector("#flame canvas");
const bar = () => document.querySelector(".callbar")?.dataset.func ?? "";
const button = (text) => [...document.querySelectorAll("main button")].find(b => b.textContent.trim() === text);
const box = (func) => [...document.querySelectorAll("#graph .run")].find(b => b.dataset.func.endsWith(func));
const point = (type, x, y) => { const r = canvas.getBoundingClientRect(); canvas.dispatchEvent(new PointerEvent(type, {bubbles: true, clientX: r.left + x, clientY: r.top + y})); return true; };
`

func (b *browser) flame(expression string) string {
	b.Helper()
	return b.text("(() => {" + flameWords + "return " + expression + "})()")
}

func (b *browser) untilFlame(what, expression string) {
	b.Helper()
	b.until(what, "(() => {"+flameWords+"return "+expression+"})()")
}

// From the shape of all threads to the stack groups of one call, and around one function.
func TestAUserReadsTheFlameGraphAndTheCallGraph(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	d := startDemo(t, bin, dir, 20_000)
	b.do(chromedp.Navigate(d.url + "/#view=flame"))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
	b.untilFlame("the calls of most threads", `canvas && Number(canvas.dataset.boxes) >= 7 && bar() === "" && Number(document.querySelector("#flame .note").textContent.match(/^[0-9,]+/)[0].replaceAll(",", "")) > 18000`)

	b.step("the runtime's frames", func() {
		// How many calls there are changes from moment to moment; of which packages they are does not.
		const inner = `document.querySelector("#flame .legend").textContent.includes("runtimes")`
		b.untilFlame("none of them", `!`+inner)
		b.click("the box of the runtime's frames", "#flame .check input")
		b.untilFlame("theirs too", inner+` && location.hash.includes("frames=all")`)
		b.click("the box of the runtime's frames", "#flame .check input")
		b.untilFlame("the program's own again", `!`+inner+` && !location.hash.includes("frames=")`)
	})

	b.step("search", func() {
		b.do(chromedp.SendKeys(chromedp.CSS("#find"), "waitforclick"))
		b.untilFlame("its share", `/^[5-9][0-9] %$/.test(document.querySelector("#found").textContent) && document.querySelector("#found").title.includes("threads are in 1 calls") && location.hash.includes("find=waitforclick")`)
		b.picture("flame-find")
		b.text(`String((f => { f.value = ""; f.dispatchEvent(new Event("input", {bubbles: true})); f.blur(); })(document.querySelector("#find")))`)
		b.untilFlame("none", `document.querySelector("#found").textContent === "" && !location.hash.includes("find=")`)
	})

	b.step("by waiting, coloured by state", func() {
		b.flame(`button("waiting").click()`)
		b.flame(`button("state").click()`)
		b.untilFlame("both in the address", `location.hash.includes("weight=wait") && location.hash.includes("colour=state")`)
		b.untilFlame("the states as words", `document.querySelector("#flame .legend").textContent.includes("timed-parked")`)
		b.picture("flame-state")
		b.flame(`button("threads").click()`)
		b.flame(`button("package").click()`)
		b.untilFlame("the packages", `document.querySelector("#flame .legend").textContent.includes("shop") && !location.hash.includes("weight")`)
	})

	b.step("the table for who cannot see it", func() {
		b.click("the table", "#flame details summary")
		b.untilFlame("functions with their shares", `[...document.querySelectorAll("#flame details tbody tr")].some(r => r.textContent.includes("waitForClick") && /[5-9][0-9] %/.test(r.textContent))`)
		b.click("the table", "#flame details summary")
	})

	b.step("a click zooms", func() {
		b.flame(`point("pointermove", canvas.clientWidth / 4, 19 + 9)`)
		b.untilFlame("a tip", `document.querySelector(".calltip")?.textContent.includes("threads, ")`)
		b.flame(`point("click", canvas.clientWidth / 4, 19 + 9)`)
		b.untilFlame("the call on the whole width, and in the address", `canvas.dataset.root.endsWith(".browse") && bar().endsWith(".browse") && location.hash.includes("zoom=")`)
		hash := b.text("location.hash")
		b.do(chromedp.Reload())
		b.untilFlame("the same after a reload", fmt.Sprintf(`location.hash === %q && canvas?.dataset.root.endsWith(".browse")`, hash))
	})

	b.step("the keyboard", func() {
		b.text(`document.activeElement.blur()`)
		b.text(`document.querySelector("#flame").dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))`) // the keyboard goes there
		b.until("the flame graph active", `document.querySelector("#flame.active")`)
		b.do(chromedp.KeyEvent("\x1b"))
		b.untilFlame("zoomed out", `canvas.dataset.root === "" && !location.hash.includes("zoom=")`)
		for _, step := range []struct{ key, want string }{{"k", `bar() === ""`}, {"j", `bar().endsWith(".browse")`}, {"j", `bar().endsWith(".waitForClick")`}, {"k", `bar().endsWith(".browse")`}} {
			b.do(chromedp.KeyEvent(step.key))
			b.untilFlame("after "+step.key+": "+step.want, step.want)
		}
		b.do(chromedp.KeyEvent("\r"))
		b.untilFlame("zoomed", `canvas.dataset.root.endsWith(".browse")`)
	})

	b.step("the stack groups of a call", func() {
		b.flame(`button("its stack groups").click()`)
		b.until("the filter in the address and the field", `location.hash.includes("filter=stack") && document.querySelector("#filter").value.startsWith('stack="') && document.querySelector("#filter").value.includes("browse")`)
		b.until("its groups only", `/^[1-9].* match, [1-9]/.test(document.querySelector("#filtered")?.textContent) && groups().length > 0 && groups().every(g => g.textContent.includes("waitForClick"))`)
	})

	b.step("groups of one state, and in other orders", func() {
		b.text(`String((f => { f.value = ""; f.dispatchEvent(new Event("input")); })(document.querySelector("#filter")))`)
		b.until("no filter", `!location.hash.includes("filter=") && groups().some(g => !g.textContent.includes("timed-parked"))`)
		b.until("shares of all threads", `groups()[0].querySelector(".share").textContent.match(/^[5-9][0-9] %$/)`)
		b.flame(`button("timed-parked").click()`)
		b.until("that state only", `location.hash.includes("filter=state%3Dtimed-parked") && groups().length > 0 && groups().every(g => g.textContent.includes("timed-parked"))`)
		b.flame(`button("timed-parked").click()`)
		b.until("all states", `!location.hash.includes("filter=") && groups().some(g => !g.textContent.includes("timed-parked"))`)
		b.flame(`button("longest wait").click()`)
		b.until("the longest wait first", `location.hash.includes("groupOrder=wait") && document.querySelector("#groups .head").textContent.includes("longest")`)
		b.flame(`button("most").click()`)
		b.until("the largest first", `!location.hash.includes("groupOrder") && groups()[0].querySelector(".share").textContent.match(/^[5-9][0-9] %$/)`)
		b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "stack=*browse\r"))
		b.until("a filter", `location.hash.includes("filter=stack")`)
	})

	b.step("the flame graph of a filter", func() {
		b.text(`document.querySelector("#tab-flame").click()`)
		b.untilFlame("only that call below all", `canvas && Number(canvas.dataset.boxes) === 3`)
		b.text(`String((f => { f.value = ""; f.dispatchEvent(new Event("input")); })(document.querySelector("#filter")))`)
		b.untilFlame("all calls", `canvas && Number(canvas.dataset.boxes) >= 7`)
	})

	b.step("all the width", func() {
		before := b.flame(`canvas.clientWidth`)
		b.flame(`button("wide").click()`)
		b.untilFlame("a wider graph", fmt.Sprintf(`canvas.clientWidth > 1.5 * %s && location.hash.includes("wide=1") && !document.querySelector("#carriers").checkVisibility()`, before))
		b.flame(`button("wide").click()`)
		b.untilFlame("the panels again", fmt.Sprintf(`canvas.clientWidth === %s && document.querySelector("#carriers").checkVisibility()`, before))
	})

	b.step("the call graph", func() {
		b.text(`document.querySelector("#tab-graph").click()`)
		b.untilFlame("boxes of calls without branches", `document.querySelectorAll("#graph .run").length >= 4 && box("waitForClick")?.textContent.includes("browse")`)
		b.untilFlame("how many threads", `/[0-9,]+ threads · [5-9][0-9] %/.test(box("waitForClick").textContent)`)
		b.picture("graph")
	})

	b.step("callers and callees", func() {
		b.flame(`box("waitForClick").querySelector("rect").dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
		b.untilFlame("the box chosen", `bar().endsWith(".waitForClick")`)
		b.flame(`button("callers and callees").click()`)
		b.untilFlame("the function in the address", `location.hash.includes("func=") && location.hash.includes("waitForClick")`)
		b.untilFlame("its caller on its left", `box(".browse") && box(".browse").getBoundingClientRect().right < box(".waitForClick").getBoundingClientRect().left`)
		b.picture("graph-pivot")
		b.text(`document.activeElement.blur()`)
		b.text(`document.querySelector("#graph").dispatchEvent(new PointerEvent("pointerdown", {bubbles: true}))`)
		b.until("the call graph active", `document.querySelector("#graph.active")`)
		b.do(chromedp.KeyEvent("\x1b"))
		b.untilFlame("all calls again", `!location.hash.includes("func=") && box(".(*Prices).next")`)
	})

	b.step("out of sight", func() {
		b.text(`(() => {
			window.said = "";
			const send = WebSocket.prototype.send;
			WebSocket.prototype.send = function (m) { if (m.includes('"subscribe"')) window.said = m; return send.call(this, m); };
			document.querySelector("#tab-groups").click();
		})()`)
		b.until("no calls wanted", `window.said.includes('"groups"') && !window.said.includes('"flame"') && !window.said.includes('"callers"')`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
