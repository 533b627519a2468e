//go:build unix

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A group is marked on the page, in the file that vtdump reads.
func TestAGroupIsMarkedOnThePage(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	marks := filepath.Join(t.TempDir(), "vtdump.marks")
	url := serve(t, dir, "--marks", marks)
	pid := launch(t, bin, dir, "leak", "-rate", "100")
	b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d", url, pid)))
	b.until("a group", `groups().length > 0 && document.querySelector("#stack .frames")`)
	b.do(chromedp.Click(chromedp.CSS(`#marking button[title*="suspicious"]`)))
	b.until("its mark", `document.querySelector("#marking .group-mark")?.innerText.includes("suspicious") && groups()[0].innerText.includes("suspicious")`)
	b.picture("marks")
	text, err := os.ReadFile(marks)
	if err != nil || !strings.Contains(string(text), "suspicious") || !strings.Contains(string(text), "server") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	b.do(chromedp.Click(chromedp.CSS(`#marking button[title^="take"]`)))
	b.until("no mark", `document.querySelector("#marking") && !document.querySelector(".group-mark")`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
