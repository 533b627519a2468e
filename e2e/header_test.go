//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The header tells carriers, ready delay, rates and losses, of now and of a moment of the past, and nothing in it moves while they change.
func TestAUserSeesCarriersDelayAndLossesInTheHeader(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	d := startDemo(t, bin, dir, 2_000)
	b.do(chromedp.Navigate(d.url))
	const vital = `const vital = (name) => document.querySelector('[data-vital="' + name + '"] dd')?.textContent ?? "";`
	has := `(() => {` + vital + `return /^\d+\/\d+$/.test(vital("carriers")) && /^\d.* (ns|µs|ms|s)$/.test(vital("ready p99")) && vital("switches/s") !== "" && vital("drops") !== ""})()`
	b.until("live figures", `document.querySelector("#status")?.textContent === "LIVE" && `+has)
	for _, s := range sizes {
		b.resize(s)
		b.flawed(s.name)
		b.until("figures on one line of a wide screen", `innerWidth < 1000 || new Set([...document.querySelectorAll(".vitals > div")].map(e => e.offsetTop)).size === 1`)
	}
	b.resize(sizes[1])

	b.step("they are of the moment that is shown", func() {
		from := b.text(`document.querySelector("#timeline").dataset.to`)
		b.until("moments that have a delay", `Number(document.querySelector("#timeline").dataset.to) > `+from+` + 4000`)
		b.text(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "[", bubbles: true}))`)
		b.until("a moment that is kept, and its figures", `document.querySelector("#status").textContent === "REWIND" && document.querySelector("#moment")?.dataset.shown && !document.querySelector("#moment").dataset.going && `+has)
		b.until("why panels have no command", `document.querySelectorAll("#findings .no-command, #schedulers .no-command, #carriers .no-command, #events .no-command").length === 4`)
		b.flawed("a moment of the past")
		b.screen("rewound-header")
		said := b.text(`(() => {` + vital + `return vital("carriers") + vital("ready p99") + vital("switches/s")})()`)
		b.await(`new Promise(done => setTimeout(done, 2500))`) // two frames and more
		if again := b.text(`(() => {` + vital + `return vital("carriers") + vital("ready p99") + vital("switches/s")})()`); again != said {
			t.Errorf("of a moment of the past the header says %q, and later %q", said, again)
		}
		b.text(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}))`)
		b.until("now", `document.querySelector("#status").textContent === "LIVE"`)
	})

	b.step("what is bad has a sign and a word", func() {
		// Carriers that are all held, and delays: what the shop does rarely is told with its numbers alone.
		b.text(`(() => {
			const e = document.querySelector('[data-vital="drops"]');
			window.wasWide = e.getBoundingClientRect().width;
			e.classList.add("bad");
			for (const s of e.querySelectorAll("dt span")) s.setAttribute("aria-hidden", String(s.getAttribute("aria-hidden") !== "true"));
		})()`)
		if got := b.text(`Math.round(document.querySelector('[data-vital="drops"]').getBoundingClientRect().width - window.wasWide)`); got != "0" {
			t.Errorf("the figure that turned bad is %s pixels wider, want it to have its room", got)
		}
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
