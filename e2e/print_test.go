//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// On paper all of each panel can be read, in dark ink, whatever the theme.
func TestThePageIsReadableOnPaper(t *testing.T) {
	b := openBrowser(t)
	url, _ := pages(t, "-replay", traffic)
	b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	b.until("live", useful)
	b.settled()
	b.wear(themes[1])
	b.until("dark", `document.documentElement.dataset.theme === "dark"`)
	for _, width := range []int64{720, 1040} { // of A4 with margins, upright and across
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print", Features: themes[1].features}); err != nil {
			t.Fatal(err)
		}
		b.resize(size{"paper", width, 1000})
		b.until("light", `document.documentElement.dataset.theme === "light"`)
		for _, view := range []string{"", "&view=waits", "&view=diff"} {
			b.show("#scope=root/shop" + view)
			b.until("panels", `document.querySelectorAll("section.panel .body").length > 5`)
			if cut := b.text(`[...document.querySelectorAll("section.panel, section.panel .body")].filter(e => e.scrollHeight > e.clientHeight + 2 && getComputedStyle(e).overflowY !== "visible").map(e => e.closest("[id]").id).join()`); cut != "" {
				t.Errorf("%d pixels wide%s: cut off on paper: %s", width, view, cut)
			}
			if over := b.text(`(() => {
				const all = [...document.querySelectorAll("section.panel, .timeline, header")].filter(e => e.checkVisibility()).map(e => ({id: e.id || "header", r: e.getBoundingClientRect()}));
				return all.flatMap((a, i) => all.slice(i + 1).filter(z => a.r.top < z.r.bottom - 2 && z.r.top < a.r.bottom - 2 && a.r.left < z.r.right - 2 && z.r.left < a.r.right - 2).map(z => a.id + " and " + z.id)).join();
			})()`); over != "" {
				t.Errorf("%d pixels wide%s: one over the other: %s", width, view, over)
			}
			if wide := b.text(`document.documentElement.scrollWidth`); wide != fmt.Sprint(width) {
				t.Errorf("the page is %s pixels wide, want %d", wide, width)
			}
		}
		if b.text(`document.querySelector("footer").checkVisibility()`) != "false" {
			t.Error("paper has the keys of the footer")
		}
		b.screen(fmt.Sprint("paper-", width))
	}
	b.wear(themes[1])
	b.until("dark on the screen again", `document.documentElement.dataset.theme === "dark"`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
