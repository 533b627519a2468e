//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Carriers have lanes, what runs on them leads to its thread, and pollers tell what they found.
func TestAUserSeesTheLanesOfCarriersAndThePollers(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	d := startDemo(t, bin, dir, 2_000)
	b.do(chromedp.Navigate(d.url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
	b.until("a lane for each carrier", `document.querySelectorAll("#carriers .row").length > 0 && document.querySelectorAll("#carriers .row").length === document.querySelectorAll("#carriers .row .lane").length`)
	b.until("looks that it tells of in words", `[...document.querySelectorAll("#carriers .lane")].some(l => /^of ([3-9]|[1-9][0-9]) looks, 1 s apart: /.test(l.getAttribute("aria-label")) && l.querySelectorAll("g").length >= 3)`)
	b.until("where threads held their carriers, with the victims", `document.querySelector("#pins thead")?.textContent.includes("victims") && document.querySelectorAll("#pins tbody tr:first-child td").length === 5`)
	b.until("the pollers of sockets", `document.querySelector('#pollers [data-kind="read"]')?.title.includes("at once") && document.querySelector('#pollers [data-kind="read"]').textContent.includes("/s")`)
	b.until("a thread that held its carrier", `document.querySelector("#carriers button.thread-link")`)
	b.until("its number in the address", `(document.querySelector("#carriers button.thread-link")?.click(), /thread=[0-9]+/.test(location.hash))`)
	b.until("what is known of it", `document.querySelector("#thread")`)
	b.text(`document.querySelector("#tab-flame").click()`)
	b.until("it beside the flame graph", `document.querySelector("#flame canvas")?.clientHeight > 30 && document.querySelector("#thread").clientHeight > 100`)
	b.picture("carriers")
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
