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

// line is where in a fixture a text stands that follows another one, as the page writes it: main.go:120.
func line(t *testing.T, file, after, text string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../fixtures", file))
	if err != nil {
		t.Fatal(err)
	}
	there := false
	for i, l := range strings.Split(string(data), "\n") {
		there = there || strings.Contains(l, after)
		if there && strings.Contains(l, text) {
			return fmt.Sprintf("%s:%d", filepath.Base(file), i+1)
		}
	}
	t.Fatalf("%s has no %q behind %q", file, text, after)
	return ""
}

// From what is wrong to the line that is to blame: a finding, its scope, its group of stacks, and one thread of it.
func TestFiveStepsLeadFromAFindingToTheGuiltyLine(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	url := serve(t, dir)
	for _, p := range []struct {
		name, program string
		check         string // the finding
		scope         string // that it leads to
		guilty        string
	}{
		{"leak", "leak -rate 1000", "scope-growth", "root/server", line(t, "leak/main.go", "func awaitAnswer", "vthread.Park()")},
		{"deadlock", "deadlock -kind locks", "deadlock", "root", line(t, "deadlock/kinds.go", "func lockBoth", "second.Lock()")},
		{"pinned", "trouble -kind victims", "pinned", "root/requests", line(t, "trouble/kinds.go", "func hold()", "vthread.Sleep")},
	} {
		b.step(p.name, func() {
			words := strings.Fields(p.program)
			pid := launch(t, build(t), dir, words[0], words[1:]...)
			b.do(chromedp.Navigate(fmt.Sprintf("%s/#process=%d&findings=all", url, pid)), chromedp.Reload())
			row := fmt.Sprintf(`#findings li[data-check="%s"]`, p.check)
			b.until("the finding", fmt.Sprintf(`document.querySelector(%q)`, row))
			if p.name == "pinned" {
				// Threads hold carriers for moments: the finding names the place, and the scope has a group of whoever is there now.
				b.until("the guilty line in the finding", fmt.Sprintf(`document.querySelector(%q).innerText.includes(%q)`, row, p.guilty))
				b.press("the scope", fmt.Sprintf(`#scopes .row[data-path=%q]`, p.scope))
			} else {
				b.press("the finding", row+" button") // others come, and move it
			}
			b.until("its scope", fmt.Sprintf(`chosen("#scopes")?.dataset.path === %q`, p.scope))
			if p.name == "pinned" {
				b.until("a group of those who hold carriers", `(() => { const g = groups().find(g => g.textContent.includes("pinned")); g?.click(); return g; })()`)
			}
			b.until("its group", `chosen("#groups") && location.hash.includes("group=")`)
			b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, p.guilty))
			b.screen("steps-" + p.name)
			if p.name != "pinned" {
				toOneThread(b, p.guilty)
				b.screen("thread-" + p.name)
			}
		})
	}
	b.step("shop", func() {
		pid := launch(t, build(t), dir, "shop", "-threads", "10000", "-leak", "6000")
		b.do(at(url, pid, "&findings=all"), chromedp.Reload())
		b.until("the finding", `document.querySelector('#findings li[data-check="unscoped"]')`)
		b.press("the finding", `#findings li[data-check="unscoped"] button.finding`)
		b.until("its scope", `chosen("#scopes")?.dataset.path === "root"`)
		guilty := line(t, "shop/shop/cart.go", ") waitForDiscount", "vthread.Park()")
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		b.screen("steps-shop")
		toOneThread(b, guilty)
		b.screen("thread-shop")
	})
	b.step("shop, which looks well", func() {
		d := startDemo(t, build(t), flights(t), 10_000)
		b.do(chromedp.Navigate(d.url))
		b.until("a thread that held its carrier", `document.querySelector("#carriers").innerText.includes("shop.roundTrip")`)
		b.until("sessions", `scope("root/shop/sessions")`)
		b.press("them", `#scopes .row[data-path="root/shop/sessions"]`)
		b.until("their groups", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/shop/sessions"))`)
		b.until("the group of those who wait for a click", `(g => g && (g.click(), true))(groups().find(g => g.textContent.includes("waitForClick")))`)
		guilty := line(t, "shop/shop/session.go", ") waitForClick", "vthread.ParkFor")
		b.until("where most of them wait", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		toOneThread(b, guilty)
		b.do(chromedp.Navigate(d.url + "/#scope=root/GET%20/product/{id}"))
		b.until("the stack stays when those who were there for a moment have gone on", `(() => {
			if (document.querySelector("#stack p.rest[role=status]")?.innerText.includes("This is how it was at") && document.querySelector("#stack .frames")) return true;
			if (Date.now() - (window.asked ?? 0) > 3000) {
				window.asked = Date.now();
				groups().at(-1)?.click();
			}
		})()`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// toOneThread goes from the chosen group to one of its threads: a bucket of how long they wait, an example, its stack.
func toOneThread(b *browser, guilty string) {
	b.Helper()
	b.until("how long its threads wait", `document.querySelector("#stack .bucket:not(:disabled)")`)
	// Time goes on: a bucket may be empty when it is asked for. Then the largest is asked for again, and not before: a second click would take the first one back.
	b.until("an example of a bucket", `(() => {
		const bucket = document.querySelector("#stack .of-bucket");
		if (bucket) {
			if (document.querySelector("#stack [data-sample] .thread-link")) return true;
			if (document.querySelector("#stack .waiting").innerText.includes("None waits so long any more")) bucket.parentElement.querySelector(".link").click();
			return false;
		}
		if (location.hash.includes("wait=")) return false;
		[...document.querySelectorAll("#stack .bucket:not(:disabled)")].sort((a, b) => b.dataset.count - a.dataset.count)[0]?.click();
	})()`)
	b.openOne()
	b.until("the guilty line in its stack", fmt.Sprintf(`document.querySelector("#thread .frames")?.innerText.includes(%q)`, guilty))
}

// The five steps without a mouse: a finding, its group, a bucket of how long its threads wait, one of them, and from there Tab goes on.
func TestFiveStepsByTheKeyboardAlone(t *testing.T) {
	b := openBrowser(t)
	dir := flights(t)
	pid := launch(t, build(t), dir, "leak", "-rate", "1000")
	b.do(at(serve(t, dir), pid, "&findings=all"))
	guilty := line(t, "leak/main.go", "func awaitAnswer", "vthread.Park()")
	const mine = `document.activeElement.closest("#findings li")?.dataset.check === "scope-growth"`
	b.until("the finding", `document.querySelector('#findings li[data-check="scope-growth"]')`)
	b.step("to the finding", func() {
		b.keys("n")
		b.until("the first finding has the focus", `document.activeElement.closest("#findings li") === document.querySelector("#findings li") && document.activeElement.matches("button.finding")`)
		b.keys("N")
		b.until("before it there is none", `document.activeElement.closest("#findings li") === document.querySelector("#findings li")`)
		for range 15 { // as many checks there are
			if b.text(mine) == "true" {
				break
			}
			b.keys("n")
		}
		b.until("the finding has the focus", mine)
		b.keys("\r")
		b.until("its scope and group", `chosen("#scopes")?.dataset.path === "root/server" && location.hash.includes("group=")`)
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
	})
	b.step("to a bucket", func() {
		b.until("how long its threads wait", `document.querySelector("#stack .bucket:not(:disabled)")`)
		b.keys("b")
		b.until("a bucket has the focus", `document.activeElement.matches("#stack .bucket")`)
		b.keys("\r")
		b.until("it is chosen", `location.hash.includes("wait=") && document.querySelector('#stack .bucket[aria-pressed="true"]')`)
	})
	b.step("to a thread", func() {
		// Time goes on, and the bucket of those that began last is theirs for moments: without it there are always some.
		b.until("examples", `document.querySelector("#stack [data-sample] .thread-link") || (location.hash.includes("wait=") && document.querySelector("#stack .of-bucket + .link")?.click())`)
		b.keys("o")
		b.until("an example has the focus", `document.activeElement.matches("#stack [data-sample] .thread-link")`)
		b.keys("\r")
		b.until("its stack", fmt.Sprintf(`document.querySelector("#thread .frames")?.innerText.includes(%q)`, guilty))
		b.until("the focus is there", `document.activeElement.closest("#thread")`)
		b.keys("\t")
		b.until("and goes on there", `document.activeElement.matches("#thread .body *")`)
		b.keys(escape)
		b.until("the group again", `!document.querySelector("#thread") && document.querySelector("#stack .frames")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
