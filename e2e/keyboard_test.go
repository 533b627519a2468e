//go:build unix

package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Everything by keyboard alone: one browser and one story, no mouse in it.
func TestTheKeyboardIsEnough(t *testing.T) {
	b := openBrowser(t)
	d := startDemo(t, build(t), flights(t), freePort(t), 10_000)
	b.do(chromedp.Navigate(d.url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop")`)

	b.step("help", func() {
		b.do(chromedp.KeyEvent("?"))
		b.until("the help over the page", `document.querySelector("dialog#overlay-help[open]")`)
		b.until("it in the address", `location.hash.includes("panel=help")`)
		b.until("the keys of the scopes", `document.querySelector("#overlay-help").innerText.includes("next scope")`)
		b.until("the focus inside", `document.querySelector("#overlay-help").contains(document.activeElement)`)
		b.do(chromedp.KeyEvent("j"))
		b.do(chromedp.KeyEvent("\x1b"))
		b.until("the page again", `!document.querySelector("dialog") && !location.hash.includes("panel=")`)
		if got := b.text(`chosen("#scopes")?.dataset.path`); got != "root" {
			t.Errorf("a key behind the help chose %s, want root chosen still", got)
		}
	})

	b.step("panels and rows", func() {
		b.do(chromedp.KeyEvent("j"))
		b.until("the next scope chosen", `chosen("#scopes")?.dataset.path === "root/shop"`)
		b.do(chromedp.KeyEvent("2"))
		b.until("the groups active", `document.querySelector("#groups").classList.contains("active")`)
		b.until("its groups", `document.querySelector("#groups .list")?.dataset.of === "root/shop"`)
		b.do(chromedp.KeyEvent("j"))
		b.until("a group chosen", `chosen("#groups") && location.hash.includes("group=")`)
		b.do(chromedp.KeyEvent("1"))
		b.until("the scopes active", `document.querySelector("#scopes").classList.contains("active")`)
	})

	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%v", bad)
	}
}
