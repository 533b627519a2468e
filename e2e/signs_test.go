//go:build unix

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The lines of the time line are told apart by the signs of their states, and not by colour alone.
func TestLinesOfTheTimeLineHaveTheSignsOfTheirStates(t *testing.T) {
	b := openBrowser(t)
	watch := page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.drawn = new Set(); window.Path2D = class extends Path2D { constructor(...a) { super(...a); window.drawn.add(a[0]); } }`}
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, watch); err != nil {
		t.Fatal(err)
	}
	url, _ := pages(t, "-replay", traffic)
	b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	b.until("live", useful)
	for _, state := range []string{"parked", "timed-parked"} {
		b.until("a line, and its sign in the key", `document.querySelector('#timeline [aria-label="`+state+`"] svg path')`)
		b.until("the sign of "+state+" drawn", `window.drawn.has(document.querySelector('#timeline [aria-label="`+state+`"] svg path').getAttribute("d"))`)
	}
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
