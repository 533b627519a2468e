//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// turning runs before the page: from the moment that window.turn names a member of frames, or waits, its rows come the other way around.
const turning = `(() => {
	window.turn = "";
	window.turned = 0;
	const send = WebSocket.prototype.send;
	WebSocket.prototype.send = function (text) {
		const m = JSON.parse(text);
		return send.call(this, JSON.stringify(m.type === "subscribe" ? {...m, deltas: false} : m));
	};
	const heard = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
	Object.defineProperty(WebSocket.prototype, "onmessage", {set(f) {
		heard.set.call(this, (e) => {
			const m = JSON.parse(e.data);
			if (window.turn && m[window.turn]) {
				m[window.turn].rows.reverse();
				window.turned++;
			}
			f({data: JSON.stringify(m)});
		});
	}});
	const fetched = window.fetch;
	window.fetch = async (path, how) => {
		const answer = await fetched(path, how);
		if (window.turn !== "waits" || !String(path).includes("/waits")) return answer;
		const d = await answer.json();
		d.groups.reverse();
		window.turned++;
		return new Response(JSON.stringify(d), {status: 200, headers: {"Content-Type": "application/json"}});
	};
})()`

// Lists that the pointer is over keep their order, whatever comes: nothing moves under a click.
func TestAListKeepsItsOrderWhileItIsPointedAt(t *testing.T) {
	b := openBrowser(t)
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: turning}); err != nil {
		t.Fatal(err)
	}
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	pids := map[string]int{
		"leak":     launch(t, bin, dir, "leak", "-rate", "200"),
		"deadlock": launch(t, bin, dir, "deadlock", "-kind", "locks", "-victims", "5"),
		"shop":     launch(t, bin, dir, "shop", "-threads", "2000"),
	}
	for _, p := range []struct{ program, view, member, panel, rows, name string }{
		{"leak", "", "findings", "findings", "#findings .findings > li", "e.dataset.check"},
		{"leak", "", "groups", "groups", "#groups .row[role=option]", "e.dataset.scope + e.querySelector('.what').innerText + e.querySelector('.where').innerText"},
		{"deadlock", "&view=waits", "waits", "waits", "#waits .wait-groups > li", "e.dataset.thing"},
		{"shop", "", "delays", "schedulers", "#delays tbody tr", "e.cells[0].innerText"},
	} {
		b.step(p.member, func() {
			order := fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => %s).join("; ")`, p.rows, p.name)
			point := func(kind string) {
				b.text(fmt.Sprintf(`document.getElementById(%q).dispatchEvent(new PointerEvent("pointer%s"))`, p.panel, kind))
			}
			b.do(chromedp.Navigate("about:blank"), at(url, pids[p.program], p.view))
			b.until("some rows", fmt.Sprintf(`new Set([...document.querySelectorAll(%q)].map(e => %s)).size > 1`, p.rows, p.name))
			point("enter")
			before := strings.Split(b.text(order), "; ")
			b.text(fmt.Sprintf(`(window.turned = 0, window.turn = %q)`, p.member))
			b.until("rows that came the other way around", `window.turned > 1`)
			b.settled()
			after := strings.Split(b.text(order), "; ")
			if len(after) < len(before) || strings.Join(after[:len(before)], "; ") != strings.Join(before, "; ") {
				t.Errorf("pointed at, the rows are %q, want those of before in their order: %q", after, before)
			}
			point("leave")
			b.until("their own order, when the pointer has left", fmt.Sprintf(`(now => now[0] !== %q)([...document.querySelectorAll(%q)].map(e => %s))`, before[0], p.rows, p.name))
		})
	}
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
