//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// press clicks an element that may be drawn anew at any moment, which a click by its place on the screen would miss.
func (b *browser) press(what, selector string) {
	b.Helper()
	b.until(what, fmt.Sprintf(`(e => e && !e.disabled && (e.click(), true))(document.querySelector(%q))`, selector))
}

// click is press with the mouse's eyes: the click goes to what lies uppermost in the middle of the element, which must be a part of it. Where that is and what is
// there is seen at the moment of the click, whatever moves.
func (b *browser) click(what, selector string) {
	b.Helper()
	b.until(what, fmt.Sprintf(`(e => {
		e.scrollIntoView({block: "nearest", inline: "nearest"});
		const r = e.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2, hit = document.elementFromPoint(x, y);
		return e.contains(hit) && !e.disabled && (hit.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, view: window, detail: 1, clientX: x, clientY: y})), true);
	})(document.querySelector(%q))`, selector))
}

// openOne opens one of the examples of the chosen group, and another one if it has ended meanwhile.
func (b *browser) openOne() {
	b.Helper()
	b.until("one of its threads with its stack", `(() => {
		if (document.querySelector("#thread .ended")) document.querySelector("#thread h2 button").click();
		else if (!document.querySelector("#thread")) document.querySelector("#stack [data-sample] .thread-link")?.click();
		else return document.querySelector("#thread .frames li");
	})()`)
}

func at(url string, pid int, rest string) chromedp.Action[chromedp.Void] {
	return chromedp.Navigate(fmt.Sprintf("%s/#process=%d%s", url, pid, rest))
}

// A deadlock is followed around its circle, from thread to thread.
func TestADeadlockIsFollowedAroundItsCircle(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launch(t, bin, dir, "deadlock", "-kind", "locks", "-victims", "5")

	b.step("from the finding to the waits", func() {
		b.do(at(url, pid, ""))
		b.press("the finding's way to the waits", `#findings li[data-check="deadlock"] .more .link`)
		b.until("the view in the address", `location.hash.includes("view=waits")`)
		b.until("a deadlock", `document.querySelector("#waits .cycle h3")?.textContent.includes("2 wait for each other")`)
		b.until("how many suffer from it", `document.querySelector("#waits .cycle h3").textContent.includes("5 more cannot go on")`)
	})
	b.step("the circle", func() {
		b.until("its threads and locks, in turn", `[...document.querySelectorAll("#waits .circle text")].map(t => t.textContent).join() === "left,mutex b,right,mutex a"`)
		b.until("an arrow for each", `document.querySelectorAll("#waits .circle .edge path").length === 4`)
		b.until("what each holds and wants", `document.querySelector("#waits .cycle ol").innerText.includes('holds mutex "a" and wants mutex "b"')`)
		b.until("the victims, who wait for one of them", `document.querySelector('#waits [data-thing^="the end of #"] .number')?.textContent === "5"`)
		b.until("the command that prints the same", fmt.Sprintf(`document.querySelector("#waits .foot code").textContent === "vtdump waits %d"`, pid))
		b.press("a stack", `#waits .cycle .at summary`)
		b.until("it unfolds", `document.querySelector("#waits .cycle .at[open] .frames li")?.textContent.includes("main.lockBoth")`)
	})
	b.step("a thread", func() {
		b.press("a member", `#waits .cycle .thread-link`)
		b.until("the thread in the address", `location.hash.includes("thread=")`)
		b.until("its name", `document.querySelector("#thread h2").textContent.includes("left")`)
		b.until("what it waits for", `document.querySelector("#thread").innerText.includes('mutex "b"')`)
		b.until("its stack", `document.querySelector("#thread .frames li")?.textContent.includes("main.lockBoth")`)
		b.until("where that is, to copy", `/\/kinds\.go:\d+$/.test(document.querySelector("#thread .frames .source").textContent)`)
		b.until("what it did, and where", `(r => r && (r.textContent + r.nextElementSibling?.textContent).includes("main.lockBoth"))(document.querySelector('#thread .happened tr[data-kind="park"]'))`)
		b.until("who made it", `document.querySelector('#thread .happened tr[data-kind="thread-start"] .thread-link')?.textContent.includes("main")`)
		b.until("the command that prints the same", fmt.Sprintf(`/^vtdump %d --thread \d+ --events$/.test(document.querySelector("#thread .foot code").textContent)`, pid))
	})
	b.step("around the circle", func() {
		for _, name := range []string{"right", "left"} {
			b.press("who holds what it waits for", `#thread .holder .thread-link`)
			b.until(name, fmt.Sprintf(`document.querySelector("#thread h2").textContent.includes(%q) && document.querySelector("#thread .holder")`, name))
		}
		b.do(chromedp.KeyEvent("\x1b"))
		b.until("closed, and the waits still there", `!location.hash.includes("thread=") && !document.querySelector("#thread") && document.querySelector("#stack") && document.querySelector("#waits .cycle")`)
	})
	b.step("a finding's threads", func() {
		b.press("the evidence", `#findings li[data-check="deadlock"] summary`)
		b.until("what each wants", `document.querySelector('#findings li[data-check="deadlock"] details').innerText.includes('wants mutex "b"')`)
		b.press("a thread of it", `#findings li[data-check="deadlock"] details .thread-link`)
		b.until("it is open", `document.querySelector("#thread .frames")`)
		b.until("how bad it is, by shape and word", `document.querySelector('#findings li[data-check="deadlock"] svg[role=img]')?.getAttribute("aria-label") === "error"`)
	})
	b.step("a thread that is none", func() {
		b.do(at(url, pid, "&thread=4711"))
		b.until("it says so", `document.querySelector("#thread .ended")?.textContent.startsWith("There is no such thread")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// From a group of many threads to one of them: how long they wait, those of one bucket, a thread, its stack and its scope.
func TestABucketLeadsToExamplesAndAThread(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pid := launch(t, bin, dir, "shop", "-threads", "5000", "-rate", "20")

	b.step("the group", func() {
		b.do(at(url, pid, "&scope=root/shop/sessions"))
		b.until("how long its threads wait", `document.querySelectorAll("#stack .bucket:not(:disabled)").length > 2`)
		b.until("as many as it has", `[...document.querySelectorAll("#stack .bucket")].reduce((n, e) => n + Number(e.dataset.count), 0) > 1000`)
		b.until("examples of three sorts", `[...document.querySelectorAll("#stack [data-sample]")].map(e => e.dataset.sample).join() === "oldest,newest,random"`)
		b.until("five of each", `[...document.querySelectorAll("#stack [data-sample]")].every(e => e.querySelectorAll("li").length === 5)`)
		b.until("the command that prints it", fmt.Sprintf(`/^vtdump %d --group [0-9a-f]{16}$/.test(document.querySelector("#stack .foot code").textContent)`, pid))
	})
	b.step("a bucket", func() {
		b.text(`(e => e.click())([...document.querySelectorAll("#stack .bucket:not(:disabled)")].sort((a, b) => b.dataset.count - a.dataset.count)[0])`)
		b.until("it in the address", `/wait=[\d.]+m?s\.\.[\d.]+m?s/.test(location.hash)`)
		b.until("it pressed", `document.querySelector('#stack .bucket[aria-pressed="true"]')`)
		b.until("only its threads", `/that wait .* to .*: [\d,]+ of [\d,]+/.test(document.querySelector("#stack .of-bucket")?.textContent)`)
		b.until("the filter in the command", `/--filter 'wait>=\S+ wait<\S+'/.test(document.querySelector("#stack .foot code").textContent)`)
		b.until("examples of it", `document.querySelector("#stack [data-sample=oldest] .thread-link")`)
	})
	b.step("a thread", func() {
		// Customers leave: another one is opened then.
		for name, what := range map[string]string{
			"a stack of the shop's":       `document.querySelector("#thread .frames li")?.textContent.includes("shop.")`,
			"its scope, part by part":     `[...document.querySelectorAll("#thread .scope-path button")].map(e => e.textContent).join("/") === "root/shop/sessions"`,
			"what is known of its events": `document.querySelector("#thread .happened h3")`,
		} {
			b.until(name, `(`+what+`) || (document.querySelector("#thread .ended") && document.querySelector("#thread h2 button").click(), !document.querySelector("#thread") && document.querySelector("#stack [data-sample] .thread-link")?.click(), false)`)
		}
		hash := b.text("location.hash")
		b.do(chromedp.Reload())
		if got := b.text("location.hash"); got != hash {
			t.Errorf("after a reload the address has %s, want %s", got, hash)
		}
		b.until("the same after a reload", `document.querySelector("#thread .frames li")?.textContent.includes("shop.") || document.querySelector("#thread .ended")`)
		b.openOne()
		b.press("the scope around", `#thread .scope-path span:nth-child(2) button`)
		b.until("the scope chosen, the thread closed", `chosen("#scopes")?.dataset.path === "root/shop" && !document.querySelector("#thread") && !location.hash.includes("wait=")`)
	})
	b.step("a thread that ends", func() {
		// A request lives for milliseconds: the newest one that events tell of has ended, or will soon.
		newest := `fetch("api/v1/processes/" + ` + fmt.Sprint(pid) + ` + "/dump?filter=scope~GET").then(r => r.json()).then(d => { const e = d.groups.flatMap(g => g.examples ?? [])[0]; if (e) location.hash = "#process=` + fmt.Sprint(pid) + `&thread=" + e.id; })`
		b.until("a request that has ended, and what it did", `(document.querySelector("#thread .ended") && document.querySelector("#thread .happened tr[data-kind=thread-end]")) || (document.querySelector("#thread .ended") || !location.hash.includes("thread=") ? (`+newest+`, false) : false)`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
