//go:build unix

package e2e

import (
	"strings"
	"testing"
)

// A thread's labels are shown, a click filters by one, and one that names a trace leads to it.
func TestAUserSeesLabelsAndTheTraceOfAThread(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	pid := launch(t, bin, dir, "shop", "-threads", "200", "-rate", "100", "-leak", "600")
	const watchers = `&filter=name~%22watch%20cart%22`

	b.step("with a template", func() {
		url := serve(t, dir, "--trace-url", "https://jaeger.example/trace/{trace}?uiFind={span}")
		b.do(at(url, pid, watchers))
		b.until("the labels of the examples, their trace first", `document.querySelectorAll("#stack [data-sample] .labels-of").length > 4 && [...document.querySelectorAll("#stack [data-sample] .labels-of")].every(e => /^trace [0-9a-f]{8}… /.test(e.innerText) && /^trace [0-9a-f]{32}\n/.test(e.title) && /plan=(basic|premium)/.test(e.title))`)
		b.until("names that can be read beside them", `[...document.querySelectorAll("#stack [data-sample] .thread-link q")].every(q => q.getBoundingClientRect().right <= q.closest("button").getBoundingClientRect().right + 1)`)
		b.flawed("examples with labels")
		b.openOne()
		b.until("its labels", `document.querySelectorAll("#thread .labels [data-label]").length === 3`)
		b.until("a link to its trace", `/^https:\/\/jaeger\.example\/trace\/[0-9a-f]{32}\?uiFind=[0-9a-f]{16}$/.test(document.querySelector("#trace a")?.href) && document.querySelector("#trace a").rel === "noreferrer"`)
		b.flawed("a thread with labels")
		b.audited("a thread with labels")
		b.screen("thread-labels")
		b.press("a label", `#thread [data-label="plan"]`)
		b.until("it in the filter of the address", `/label%3Aplan%3D(basic|premium)/.test(location.hash) && !document.querySelector("#thread")`)
		b.until("what it matches", `/^[1-9].* match/.test(document.querySelector("#filtered")?.textContent) && groups().length > 0`)
	})
	b.step("without one", func() {
		url := serve(t, dir)
		b.do(at(url, pid, watchers))
		b.openOne()
		b.until("the id of its trace, to copy", `/^[0-9a-f]{32}$/.test(document.querySelector("#trace code")?.textContent) && !document.querySelector("#trace a") && document.querySelector("#trace button")`)
	})
	b.step("a thread that has none", func() {
		url := serve(t, dir)
		b.do(at(url, pid, "&scope=root/shop/sessions"))
		b.openOne()
		b.until("that it has none", `document.querySelector("#thread .of-thread").innerText.includes("none that the program gave it") && !document.querySelector("#trace")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
