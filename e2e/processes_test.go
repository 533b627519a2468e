//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// All processes stand beside each other; two of them figure by figure, and what differs in their scopes.
func TestProcessesStandBesideEachOther(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	leak := launch(t, bin, dir, "leak", "-rate", "1000", "-limit", "3000")
	locks := launch(t, bin, dir, "deadlock", "-kind", "locks")
	b.do(chromedp.Navigate(fmt.Sprintf("%s#process=%d", url, leak)))
	b.until("its scopes", `scope("root/server")`)
	row := func(pid int) string {
		return fmt.Sprintf(`document.querySelector('#overlay-processes tr[data-pid="%d"]')`, pid)
	}

	b.step("all of them", func() {
		b.do(chromedp.KeyEvent("p"))
		b.until("both", row(leak)+" && "+row(locks))
		b.until("the threads of one", row(leak)+`.querySelector("[role=img]").getAttribute("aria-label").includes("parked")`)
		b.until("the finding of the other", row(locks)+`.innerText.includes("1 error")`)
	})
	b.step("two of them", func() {
		for _, pid := range []int{leak, locks} {
			b.press("its box", fmt.Sprintf(`#overlay-processes tr[data-pid="%d"] input`, pid))
		}
		b.until("them in the address", `/with=[0-9]+-[0-9]+%2C[0-9]+-[0-9]+/.test(location.hash)`)
		b.until("the threads differ", `document.querySelector('.beside tr[data-figure="threads"].differs')?.innerText.includes("times")`)
		b.picture("processes")
		b.press("what differs", `.beside h3 button`)
		b.until("what differs", `location.hash.includes("view=diff") && document.querySelector('#diff .diff-row[data-change="gone"][data-path="server"]')`)
		b.picture("processes-diff")
	})
	b.step("one of them", func() {
		b.do(chromedp.KeyEvent("p"))
		b.until("all again", row(leak))
		b.press("its name", fmt.Sprintf(`#overlay-processes tr[data-pid="%d"] button`, leak))
		b.until("it", fmt.Sprintf(`!document.querySelector("dialog") && location.hash.includes("process=%d") && scope("root/server")`, leak))
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
