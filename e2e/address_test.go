//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	browserproto "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// The address is all that another browser needs, and Back undoes the steps one by one.
func TestTheAddressIsWhatIsShown(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	launch(t, build(t), dir, "leak", "-rate", "100")
	url := serve(t, dir)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		grant := browserproto.SetPermissionParams{Permission: &browserproto.PermissionDescriptor{Name: name}, Setting: browserproto.PermissionSettingGranted, Origin: url, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID}
		if _, err := chromedp.CallBrowser(b.ctx, browserproto.SetPermission, grant); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.Navigate(url))
	row := `#findings li[data-check="holder-gone"]`
	guilty := line(t, "leak/main.go", "func audit", "ledger.LockContext")

	b.step("forth", func() {
		b.until("a finding", fmt.Sprintf(`document.querySelector(%q)`, row))
		b.press("the finding", row+" button.finding") // others come, and move it
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		b.until("threads of the group", `document.querySelector("#stack [data-sample] .thread-link")`)
		b.press("an example", `#stack [data-sample] .thread-link`)
		b.until("one of them", fmt.Sprintf(`document.querySelector("#thread .frames")?.innerText.includes(%q)`, guilty))
		b.keys("5")
		b.until("who waits for whom", `document.querySelector("#waits .wait-groups")`)
	})
	b.step("the link", func() {
		b.hears()
		b.keys("y")
		b.until("a word about it", `window.toasts.some(t => t.includes("copied"))`)
		link := b.await(`navigator.clipboard.readText()`)
		if key := b.text("document.querySelector('#process').value"); !strings.Contains(link, "#process="+key+"&") {
			t.Fatalf("y copied %q, want the process %s in it, which a restart does not make another one", link, key)
		}
		other := openBrowser(t)
		other.do(chromedp.Navigate(link))
		other.until("the same thread", fmt.Sprintf(`document.querySelector("#thread .frames")?.innerText.includes(%q)`, guilty))
		other.until("the same scope and view", `chosen("#scopes")?.dataset.path === "root/server" && document.querySelector("#waits .wait-groups")`)
		if a, z := b.text(`document.querySelector("#thread h2 code").innerText`), other.text(`document.querySelector("#thread h2 code").innerText`); a != z {
			t.Errorf("the other browser shows thread %s, want %s", z, a)
		}
	})
	b.step("back", func() {
		b.text("history.back()")
		b.until("the groups again", `groups().length > 0 && document.querySelector("#thread .frames")`)
		b.text("history.back()")
		b.until("the stack of the group", fmt.Sprintf(`!document.querySelector("#thread") && document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		b.text("history.back()")
		b.until("all scopes", `location.hash === "" && chosen("#scopes")?.dataset.path === "root"`)
		b.text("history.forward()")
		b.until("what the finding led to", `chosen("#scopes")?.dataset.path === "root/server" && location.hash.includes("group=")`)
	})
	b.step("the frames of runtimes", func() {
		const inner = `document.querySelector("#stack .frames .internal")`
		b.text(fmt.Sprintf(`document.querySelector(%q).click()`, row+" button.finding"))
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q) && !%s`, guilty, inner))
		b.keys("2", "\r")
		b.until("all frames, and that in the address", inner+` && location.hash.includes("frames=all")`)
		b.until("the command that prints them", `document.querySelector("#stack .foot code").textContent.includes(" --all-frames ")`)
		b.do(chromedp.Reload())
		b.until("the same after a reload", inner)
		b.keys("2", "\r")
		b.until("the program's own again", fmt.Sprintf(`!%s && !location.hash.includes("frames=") && document.querySelector("#stack .frames")`, inner))
		b.text(`(location.hash = "", "")`)
		b.until("all scopes", `chosen("#scopes")?.dataset.path === "root"`)
		b.text(fmt.Sprintf(`document.querySelector(%q).click()`, row+" button.finding"))
		b.until("what the finding led to", `chosen("#scopes")?.dataset.path === "root/server" && location.hash.includes("group=")`)
	})
	b.step("what lies over it", func() {
		before := b.text("location.hash")
		b.keys("?")
		b.until("help", over("help"))
		b.keys(escape)
		b.until("no help", noOverlay)
		b.keys("e")
		b.until("exports", over("export"))
		b.text("history.back()")
		b.until("the page as it was", fmt.Sprintf(noOverlay+` && location.hash === %q`, before))
		b.text("history.back()")
		b.until("what was before the finding", `location.hash === ""`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
