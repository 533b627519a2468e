//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// In no view anything moves by itself while what it shows changes: each view in a tab of its own, over a program whose threads come and go, and one whose threads change places.
func TestNothingMovesInAnyViewWhileItIsLive(t *testing.T) {
	first := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	views := named(t, "views.tsx")
	tabs := []*browser{first}
	for range views[1:] {
		tabs = append(tabs, openBrowser(t))
	}
	for _, p := range []struct {
		program string
		args    []string
		scope   string
	}{
		{"shop", []string{"-threads", "3000", "-well"}, "root/shop"}, // no findings come, which make room for themselves
		{"parade", []string{"-threads", "2000", "-drivers", "1"}, "root"},
	} {
		first.step(p.program, func() {
			pid := start(t, bin, dir, p.program, p.args...)
			for i, b := range tabs {
				b.do(chromedp.Navigate("about:blank"), at(url, pid, "&scope="+p.scope+"&view="+views[i]))
			}
			for _, b := range tabs {
				b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && document.querySelectorAll("#scopes .row").length > 0 && document.querySelector("#stack .frames")`)
				b.settled()
				b.text(watched)
			}
			for i, b := range tabs {
				b.until("frames, and that it draws them", `window.seen.frames > 5 && window.seen.drawn > 0`)
				moved := b.text(`[...new Set(window.seen.moved)].slice(0, 12).join(", ")`)
				t.Logf("%s, %s: %s of layout shift in %s frames: %s", p.program, views[i], b.text(`window.seen.shift.toFixed(4)`), b.text(`window.seen.frames`), moved)
				if b.text(`window.seen.shift < 0.08`) != "true" {
					b.Errorf("%s, %s: it moved by itself: %s", p.program, views[i], moved)
				}
			}
		})
	}
	for i, b := range tabs {
		if bad := b.complaints(); len(bad) > 0 {
			t.Errorf("%s: the console says:\n%s", views[i], strings.Join(bad, "\n"))
		}
	}
}

// start is launch, for parade as well, which ends with its standard input anyway.
func start(t *testing.T, bin, dir, program string, args ...string) (pid int) {
	t.Helper()
	if program == "parade" {
		return launchHeld(t, bin, dir, program, args...)
	}
	return launch(t, bin, dir, program, args...)
}
