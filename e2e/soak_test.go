//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// soakVariable says for how long the page is open over a program that switches threads at full speed, such as 1h. make nightly sets it. Without it the page sees
// some hundred recorded frames, fast.
const soakVariable = "VTSCOPE_SOAK"

// held is what a page holds after its garbage is gone.
type held struct {
	heap             float64
	nodes, listeners int64
}

func (h held) String() string {
	return fmt.Sprintf("%.1f MB of heap, %d nodes, %d listeners", h.heap/1e6, h.nodes, h.listeners)
}

// holds tells what the page holds: the least of some tries, since a frame that comes between the collection and the count leaves what it replaced.
func (b *browser) holds() held {
	b.Helper()
	var tries []held
	for range 3 {
		b.collect()
		counters, err := chromedp.Call(b.ctx, memory.GetDOMCounters, cdp.Empty{})
		if err != nil {
			b.Fatal(err)
		}
		b.collect()
		usage, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			b.Fatal(err)
		}
		tries = append(tries, held{usage.UsedSize, counters.Nodes, counters.JsEventListeners})
	}
	return least(tries)
}

func (b *browser) collect() {
	b.Helper()
	for range 2 {
		if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			b.Fatal(err)
		}
	}
}

// middle is the median of what was held: of a page over a program at full speed it changes with what there is to show.
func middle(all []held) (h held) {
	of := func(value func(held) float64) float64 {
		var values []float64
		for _, h := range all {
			values = append(values, value(h))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	h.heap = of(func(h held) float64 { return h.heap })
	h.nodes = int64(of(func(h held) float64 { return float64(h.nodes) }))
	h.listeners = int64(of(func(h held) float64 { return float64(h.listeners) }))
	return h
}

// least is the least of each that was held.
func least(all []held) held {
	low := all[0]
	for _, h := range all[1:] {
		low = held{min(low.heap, h.heap), min(low.nodes, h.nodes), min(low.listeners, h.listeners)}
	}
	return low
}

// parade starts a program whose threads switch as fast as two processors let them.
func parade(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command(filepath.Join(build(t), "parade"), args...)
	c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("parade: %v", err)
		}
	})
}

// watched has the page count the messages that it gets and the frames that it draws, and add up how much of it moved by itself. What is said above the page pushes it
// down, and is said when the machine is slow: it is not shown.
const watched = `(() => {
	window.seen = {frames: 0, shift: 0, drawn: 0, began: performance.now(), moved: []};
	const none = new CSSStyleSheet();
	none.replaceSync(".banners { display: none }");
	document.adoptedStyleSheets.push(none);
	const parse = JSON.parse;
	JSON.parse = function (...a) { const m = parse.apply(this, a); if (m?.type === "frame") window.seen.frames++; return m; };
	new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) {
		const boxes = e.sources.filter(s => s.node && !(s.node.nodeType === 1 ? s.node : s.node.parentElement)?.closest(".list, ul, ol, table, [role=listbox], [role=tree]"));
		if (boxes.length === 0) continue; // rows of lists that are sorted
		window.seen.shift += e.value;
		for (const s of boxes) window.seen.moved.push(s.node.nodeName + "." + (s.node.className ?? "") + " in #" + (s.node.parentElement?.closest("[id]")?.id ?? "") + " " + e.value.toFixed(3));
	} }).observe({type: "layout-shift"});
	const draw = () => { window.seen.drawn++; requestAnimationFrame(draw); };
	requestAnimationFrame(draw);
})()`

// holding runs before the page: when window.hold.want, it gets no more messages from the beginning of the recorded traffic on, until go. What it holds then is not
// changed by messages, and is of the same moment of the traffic each time.
const holding = `(() => {
	const hold = window.hold = {want: false, kept: null, go() {
		const kept = hold.kept;
		hold.kept = null;
		for (const hear of kept) hear();
	}};
	const heard = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
	Object.defineProperty(WebSocket.prototype, "onmessage", {set(f) {
		heard.set.call(this, (e) => {
			if (hold.kept) {
				hold.kept.push(() => f(e));
				return;
			}
			f(e);
			if (hold.want && JSON.parse(e.data).points?.reset) {
				hold.want = false;
				hold.kept = [];
			}
		});
	}});
})()`

// While frames come nothing on the page grows, and nothing moves.
func TestAnOpenPageNeitherGrowsNorMoves(t *testing.T) {
	b := openBrowser(t)
	frames := func() int {
		n := 0
		fmt.Sscan(b.text(`window.seen.frames`), &n)
		return n
	}
	long, err := time.ParseDuration(os.Getenv(soakVariable))
	if os.Getenv(soakVariable) != "" && err != nil {
		t.Fatalf("%s: %v", soakVariable, err)
	}
	if long > 0 {
		dir := flights(t)
		parade(t, dir, "-threads", "20000")
		b.do(chromedp.Navigate(serve(t, dir)))
	} else {
		if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: holding}); err != nil {
			t.Fatal(err)
		}
		url, _ := pages(t, "-replay", traffic, "-speed", "50")
		b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	}
	b.until("useful", useful)
	b.text(watched)
	start := time.Now()
	var early, late []held
	if long > 0 {
		b.settled()
		// The time line holds ten minutes: what the page holds grows as long.
		samples := int(max(8, long/(2*time.Minute)))
		for i := range samples {
			time.Sleep(time.Until(start.Add(time.Duration(i+1) * long / time.Duration(samples))))
			now := b.holds()
			t.Logf("after %v: %d frames: %v", time.Since(start).Round(time.Second), frames(), now)
			switch {
			case i >= samples*5/8:
				late = append(late, now)
			case i >= samples/4:
				early = append(early, now)
			}
		}
		if n, want := frames(), int(long/(4*time.Second)); n < want {
			t.Errorf("%d frames in %v, want %d", n, long, want)
		}
	} else {
		several := func(from int) (all []held) {
			for i := range 3 {
				b.until("more frames", fmt.Sprintf(`window.seen.frames > %d`, from+i))
				b.text(`window.hold.want = true`)
				b.until("the beginning of the traffic", `window.hold.kept`)
				b.settled()
				all = append(all, b.holds())
				t.Logf("%d frames: %v", frames(), all[len(all)-1])
				b.text(`window.hold.go()`)
			}
			return all
		}
		early = several(200)
		late = several(1200)
	}
	first, last := middle(early), middle(late)
	if long == 0 {
		first, last = least(early), least(late) // what leaks is there whatever is played just then
	}
	t.Logf("%d frames: %v; then %v; shifts %s; %s pictures a second", frames(), first, last,
		b.text(`window.seen.shift.toFixed(4)`), b.text(`(window.seen.drawn / (performance.now() - window.seen.began) * 1000).toFixed(0)`))
	if last.heap > first.heap*1.15+2e6 {
		t.Errorf("the heap grew from %.1f to %.1f MB", first.heap/1e6, last.heap/1e6)
	}
	most := first.nodes + 100 // far less than a node for each frame
	if long > 0 {
		most = first.nodes + first.nodes/8 + 200 // what there is to show changes
	}
	if last.nodes > most {
		t.Errorf("nodes grew from %d to %d", first.nodes, last.nodes)
	}
	if last.listeners > first.listeners+first.listeners/10+20 {
		t.Errorf("listeners grew from %d to %d", first.listeners, last.listeners)
	}
	if b.text(`window.seen.shift < 0.05`) != "true" {
		t.Errorf("the page moved by itself: %s of layout shift, want less than 0.05: %s", b.text(`window.seen.shift.toFixed(4)`), b.text(`[...new Set(window.seen.moved)].slice(0, 12).join(", ")`))
	}
}
