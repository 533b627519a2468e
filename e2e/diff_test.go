//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A moment is marked, the program leaks, and what grew since then leads to the threads.
func TestWhatGrewSinceAMarkLeadsToItsThreads(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launch(t, bin, dir, "leak", "-rate", "200")
	b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d", url, pid)))
	b.until("requests", `Number(scope("root/server")?.lastElementChild.textContent.replaceAll(",", "")) > 50`)

	b.step("a mark", func() {
		b.hears()
		b.do(chromedp.KeyEvent("m"))
		b.until("it is told", `window.toasts.some(t => t.startsWith("M1 marks "))`)
		before := b.text(`scope("root/server").lastElementChild.textContent.replaceAll(",", "")`)
		b.until("more requests", `Number(scope("root/server").lastElementChild.textContent.replaceAll(",", "")) > `+before+` + 300`)
		b.do(chromedp.KeyEvent("d"))
		b.until("the diff", `location.hash.includes("view=diff") && location.hash.includes("from=")`)
		b.until("the scope that grew", `document.querySelector('#diff .diff-row[data-change="grew"][data-path="server"]')?.innerText.includes("▲ grew")`)
		b.until("by how much", `/^\+([3-9][0-9][0-9]|[0-9.]+[kM])$/.test(document.querySelector('#diff .diff-row[data-path="server"] .by').textContent)`)
		b.until("the stack that grew", `[...document.querySelectorAll('#diff .diff-row[data-change="grew"]')].some(r => r.innerText.includes("main.awaitAnswer"))`)
		b.until("what did not change", `document.querySelector("#diff").innerText.includes("the same")`)
		b.picture("diff")
	})

	b.step("the same on the command line", func() {
		words := strings.Fields(b.text(`document.querySelector("#groups .command code").textContent`))
		c := exec.Command(filepath.Join(bin, words[0]), words[1:]...)
		c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "grew") || !strings.Contains(string(out), "server") {
			t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
		}
	})

	b.step("marks last, and go", func() {
		b.do(chromedp.Reload())
		b.until("the diff again", `document.querySelector('#diff .diff-row[data-path="server"]')`)
		b.until("the mark", `document.querySelector("#diff .mark").innerText.includes("M1")`)
		b.until("ten seconds of a past", `[...document.querySelector("#diff-from").options].some(o => o.value === "-10")`)
		b.text(`String((s => { s.value = "-10"; s.dispatchEvent(new Event("change", { bubbles: true })); })(document.querySelector("#diff-from")))`)
		b.until("the last ten seconds", `(n => n >= 9 && n < 40)(Number(document.querySelector(".diff-span")?.textContent.match(/, ([0-9.]+) s later/)?.[1]))`)
		b.press("the button that removes it", `#diff .mark button:last-child`)
		b.until("no marks", `document.querySelector("#diff .marks").innerText.includes("none")`)
	})

	b.step("without a mark", func() {
		b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d&view=diff", url, pid)))
		b.until("moments to compare with at once", `[...document.querySelectorAll("#diff .choose button")].some(x => x.textContent === "10 s ago")`)
		b.text(`String([...document.querySelectorAll("#diff .choose button")].find(x => x.textContent === "10 s ago").click())`)
		b.until("the scope that grew", `location.hash.includes("from=") && document.querySelector('#diff .diff-row[data-change="grew"][data-path="server"]')`)
		b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d", url, pid)))
		b.until("the groups", `groups().length > 0`)
		b.hears()
		b.do(chromedp.KeyEvent("d"))
		b.until("the last minute, or what is known of it", `window.toasts.some(t => t.startsWith("no moment is marked: compared with ")) && location.hash.includes("from=") && document.querySelector("#diff .diff-row")`)
		b.audited("what changed")
	})

	b.step("since a finding", func() {
		b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d&findings=all", url, pid)))
		b.until("a scope that grows", `[...document.querySelectorAll('#findings li[data-check="scope-growth"] .more button')].find(x => x.textContent === "what changed since")`)
		b.text(`String([...document.querySelectorAll('#findings li[data-check="scope-growth"] .more button')].find(x => x.textContent === "what changed since").click())`)
		b.until("it in what changed", `location.hash.includes("view=diff") && location.hash.includes("from=") && document.querySelector('#diff .diff-row[data-path="server"]')`)
	})

	b.step("to its threads", func() {
		b.do(chromedp.KeyEvent("m"), chromedp.KeyEvent("d"))
		b.until("the scope that grew", `document.querySelector('#diff .diff-row[data-change="grew"][data-path="server"]')`)
		b.do(chromedp.KeyEvent("2"), chromedp.KeyEvent("d"))
		b.until("the changes have the keyboard", `location.hash.includes("view=diff") && document.querySelector("#groups.active .diff-row")`)
		b.do(chromedp.KeyEvent("j"))
		b.until("the first change has the focus", `document.activeElement?.matches(".diff-row")`)
		b.do(chromedp.KeyEvent(kb.ArrowDown))
		b.press("a change", `#diff section[aria-label="Stack groups"] .diff-row[data-path="server"]`)
		b.until("its group", `!location.hash.includes("view=") && location.hash.includes("group=") && location.hash.includes("scope=root/server")`)
		b.until("its stack", `document.querySelector("#stack .frames")?.innerText.includes("main.awaitAnswer")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
