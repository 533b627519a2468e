//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// soakVariable says for how long the page is open over a program that switches threads at full speed, such as 1h. make nightly sets it. Without it the page sees
// some hundred recorded frames, fast.
const soakVariable = "VTSCOPE_SOAK"

// held is what a page holds after its garbage is gone.
type held struct {
	heap  float64
	nodes int64
}

func (b *browser) holds() (h held) {
	b.Helper()
	for range 2 {
		if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			b.Fatal(err)
		}
	}
	usage, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	counters, err := chromedp.Call(b.ctx, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	return held{usage.UsedSize, counters.Nodes}
}

// parade starts a program whose threads switch as fast as two processors let them.
func parade(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command(filepath.Join(build(t), "parade"), "-threads", "20000")
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

// watched has the page count the messages that it gets and the frames that it draws, and add up how much of it moved by itself.
const watched = `(() => {
	window.seen = {frames: 0, shift: 0, drawn: 0, began: performance.now(), moved: []};
	const parse = JSON.parse;
	JSON.parse = function (...a) { const m = parse.apply(this, a); if (m?.type === "frame") window.seen.frames++; return m; };
	new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) {
		const boxes = e.sources.filter(s => s.node && !(s.node.nodeType === 1 ? s.node : s.node.parentElement)?.closest(".list, ul, ol, table, [role=listbox], [role=tree]"));
		if (boxes.length === 0) continue; // rows of lists that are sorted
		window.seen.shift += e.value;
		for (const s of boxes) window.seen.moved.push(s.node.nodeName + "." + (s.node.className ?? "") + " in #" + (s.node.parentElement?.closest("[id]")?.id ?? ""));
	} }).observe({type: "layout-shift"});
	const draw = () => { window.seen.drawn++; requestAnimationFrame(draw); };
	requestAnimationFrame(draw);
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
		parade(t, dir)
		b.do(chromedp.Navigate(serve(t, dir)))
	} else {
		url, _ := pages(t, "-replay", traffic, "-speed", "25")
		b.do(chromedp.Navigate(url + "/#scope=root/shop"))
	}
	b.until("useful", useful)
	b.text(watched)
	const warm, more = 150, 250
	if long > 0 {
		b.settled()
	}
	b.until("warm", fmt.Sprintf(`window.seen.frames > %d`, warm))
	first, at := b.holds(), frames()
	time.Sleep(long)
	b.until("more frames", fmt.Sprintf(`window.seen.frames > %d`, at+more))
	last := b.holds()
	t.Logf("%d frames: %.1f to %.1f MB of heap, %d to %d nodes; shifts %s; %s pictures a second", frames(), first.heap/1e6, last.heap/1e6, first.nodes, last.nodes,
		b.text(`window.seen.shift.toFixed(4)`), b.text(`(window.seen.drawn / (performance.now() - window.seen.began) * 1000).toFixed(0)`))
	if last.heap > first.heap*1.15+2e6 {
		t.Errorf("the heap grew from %.1f to %.1f MB", first.heap/1e6, last.heap/1e6)
	}
	if last.nodes > first.nodes+first.nodes/5+100 {
		t.Errorf("nodes grew from %d to %d", first.nodes, last.nodes)
	}
	if b.text(`window.seen.shift < 0.05`) != "true" {
		t.Errorf("the page moved by itself: %s of layout shift, want less than 0.05: %s", b.text(`window.seen.shift.toFixed(4)`), b.text(`[...new Set(window.seen.moved)].slice(0, 12).join(", ")`))
	}
}
