//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Every view and all that lies over the page, over recorded traffic: in each theme axe finds nothing, on each screen nothing is cut off, and it looks as it did.
func TestThePageLooksAsItShould(t *testing.T) {
	b := openBrowser(t)
	url, _ := pages(t, "-replay", traffic)
	begin := func(hash string) {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/"+hash))
		b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop/sessions") && groups().length > 0`)
		b.settled()
	}
	views, overlays := named(t, "views.tsx"), named(t, "overlays.tsx")
	var all []string
	for _, v := range views {
		all = append(all, "scope=root/shop&view="+v)
	}
	for _, o := range overlays {
		all = append(all, "scope=root/shop&panel="+o)
	}
	short := func(hash string) string { return hash[strings.LastIndexByte(hash, '=')+1:] }
	begin("#scope=root/shop")

	b.step("nothing is cut off", func() {
		b.wear(themes[0])
		for _, s := range sizes {
			b.resize(s)
			for _, hash := range all {
				b.show("#" + hash)
				b.flawed(s.name + " " + short(hash))
				b.screen(short(hash) + "-" + s.name)
			}
			b.show("#" + all[0])
			b.text(`["#scopes .row .number", "#groups .row[role=option] .number"].forEach(of => (document.querySelector(of).textContent = "1,234,567"))`)
			b.flawed(s.name + " with a million threads")
		}
		b.resize(sizes[0])
	})

	b.step("accessible in each theme", func() {
		if _, why := axe(); why != "" {
			t.Logf("not audited: %s", why)
			return
		}
		rules := 0
		for _, th := range themes {
			b.wear(th)
			for _, hash := range all {
				b.show("#" + hash)
				if th.name == "light" {
					rules += b.audited(th.name + " " + short(hash))
				} else {
					rules += b.audited(th.name+" "+short(hash), "color-contrast", "link-in-text-block") // the others differ in colours alone
				}
			}
		}
		if rules < 10*len(all) {
			t.Errorf("axe applied %d rules, want some to each view", rules)
		}
	})

	b.step("as it did", func() {
		begin("#scope=root/shop") // without the numbers above
		for _, th := range themes {
			b.wear(th)
			b.show("#scope=root/shop")
			if th.name == "light" || th.name == "dark" {
				b.compared(th.name)
				if *update && th.name == "dark" {
					b.resize(sizes[1])
					b.document("page-dark")
					b.resize(sizes[0])
				}
			} else {
				b.screen(th.name)
			}
			if th.name == "forced" {
				b.until("shapes that are drawn with grounds and edges", `[...document.querySelectorAll("#status i, #timeline .key i.lane")].every(e => getComputedStyle(e).backgroundColor === getComputedStyle(e).color) &&
					getComputedStyle(document.querySelector("#scopes .twist:not(.none)"), "::before").borderLeftColor === "rgba(0, 0, 0, 0)"`)
			}
		}
		b.wear(themes[0])
		for _, s := range sizes[1:] {
			b.resize(s)
			begin("#scope=root/shop")
			b.compared(s.name)
		}
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
