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
	// Others are the largest at first: the group is chosen by where it waits.
	const group = `groups().find(g => g.innerText.includes("awaitAnswer"))`
	b.until("a group", `(g => g && (g.click(), true))(`+group+`)`)
	b.until("its stack", `document.querySelector("#stack .frames")?.innerText.includes("main.awaitAnswer") && location.hash.includes("group=")`)
	b.click("the mark of what is suspicious", `#marking button[title*="suspicious"]`)
	b.until("its mark", `document.querySelector("#marking .group-mark")?.innerText.includes("suspicious") && `+group+`.innerText.includes("suspicious")`)
	b.picture("marks")
	text, err := os.ReadFile(marks)
	if err != nil || !strings.Contains(string(text), "suspicious") || !strings.Contains(string(text), "server") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	b.click("no mark", `#marking button[title^="take"]`)
	b.until("no mark", `document.querySelector("#marking") && !document.querySelector(".group-mark")`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
