//go:build unix

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/profiler"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// paceVariable says for how long each view of the page is measured over a program of a million events a second, such as 10s. make bench sets it.
const paceVariable = "VTSCOPE_PACE"

// A work is what the main thread of a page has done: seconds of its own processor time, and how often.
type work struct {
	tasks, script, layout, style float64
	layouts, styles              float64
}

func (w work) minus(o work) work {
	return work{w.tasks - o.tasks, w.script - o.script, w.layout - o.layout, w.style - o.style, w.layouts - o.layouts, w.styles - o.styles}
}

// worked is what the page has done until now. Time is of its thread, whatever else the machine does.
func (b *browser) worked() work {
	b.Helper()
	got, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		b.Fatal(err)
	}
	m := map[string]float64{}
	for _, x := range got.Metrics {
		m[x.Name] = x.Value
	}
	return work{m["TaskDuration"], m["ScriptDuration"], m["LayoutDuration"], m["RecalcStyleDuration"], m["LayoutCount"], m["RecalcStyleCount"]}
}

// paced has the page note when it draws, the tasks that took longer than 50 ms, the messages that come, and what changes in its elements.
const paced = `(() => {
	if (!window.pace) {
		const pace = window.pace = {};
		const parse = JSON.parse;
		JSON.parse = function (...a) { const m = parse.apply(this, a); if (m?.type === "frame") { pace.frames++; pace.events = (m.process ?? m.deltas?.process)?.rates?.events ?? pace.events; } return m; };
		const draw = (now) => { if (pace.last) pace.gaps.push(now - pace.last); pace.last = now; requestAnimationFrame(draw); };
		requestAnimationFrame(draw);
		new PerformanceObserver(list => { for (const e of list.getEntries()) pace.long.push(e.duration); }).observe({type: "longtask"});
		new MutationObserver(list => { pace.changes += list.length; for (const m of list) pace.made += m.addedNodes.length; })
			.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
		const paint = CanvasRenderingContext2D.prototype.clearRect;
		CanvasRenderingContext2D.prototype.clearRect = function (...a) { pace.paints++; return paint.apply(this, a); };
	}
	Object.assign(window.pace, {frames: 0, events: 0, gaps: [], long: [], changes: 0, made: 0, paints: 0, last: 0});
})()`

// A pace is what a page noted.
type pace struct {
	Frames, Changes, Made, Paints int
	Events                        float64
	Gaps, Long                    []float64
}

func (b *browser) pace() (p pace) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.text(`JSON.stringify(window.pace)`)), &p); err != nil {
		b.Fatal(err)
	}
	return p
}

// line is a pace in one line, of a second of the work.
func (p pace) line(w work, over time.Duration) string {
	s := over.Seconds()
	late, sum := 0, 0.0
	for _, g := range p.Gaps {
		sum += g
		if g > 1000./60+1 { // the clock of the browser is not finer
			late++
		}
	}
	sort.Float64s(p.Gaps)
	n := len(p.Gaps)
	longest := 0.
	for _, l := range p.Long {
		longest = max(longest, l)
	}
	if n == 0 {
		return "drew nothing"
	}
	return fmt.Sprintf("%.0fk events/s: %.1f pictures/s, %.1f %% of them late, p99 %.0f ms; main thread %.0f ms/s (script %.0f, style %.0f, layout %.0f); %d tasks > 50 ms, the longest %.0f ms; %.1f messages/s",
		p.Events/1e3, float64(n)/sum*1000, 100*float64(late)/float64(n), p.Gaps[n*99/100], w.tasks/s*1e3, w.script/s*1e3, w.style/s*1e3, w.layout/s*1e3, len(p.Long), longest, float64(p.Frames)/s)
}

// Sixty pictures a second while a million events happen: what that costs the page. It asserts nothing: machines differ.
func TestThePaceOfThePage(t *testing.T) {
	over, err := time.ParseDuration(os.Getenv(paceVariable))
	if err != nil {
		t.Skipf("%s is no duration: make bench measures the pace of the page", paceVariable)
	}
	b := openBrowser(t)
	dir := flights(t)
	parade(t, dir, "-threads", "20000")
	b.do(chromedp.Navigate(serve(t, dir)))
	b.until("useful", useful)
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	for _, hash := range append([]string{"#map=threads"}, viewHashes(t)...) {
		b.show(hash)
		b.await(paced)
		b.until("messages", `window.pace.frames > 3`)
		b.await(paced)
		before, began := b.worked(), time.Now()
		var tasks []task
		if os.Getenv("VTSCOPE_PROFILE") != "" {
			b.profile(over)
		} else {
			tasks = b.traced(over)
		}
		w, p := b.worked().minus(before), b.pace()
		t.Logf("%-32s %s", hash, p.line(w, time.Since(began)))
		for _, x := range tasks[:min(len(tasks), 5)] {
			t.Logf("    %.1f ms of its own time, %.1f ms in all: %s", x.own, x.all, x.parts)
		}
	}
}

// A task is one of a page's main thread, in milliseconds.
type task struct {
	own, all float64
	parts    string
}

// traced are the tasks of the main thread of a page in a stretch of time, the one with most work first.
func (b *browser) traced(over time.Duration) (tasks []task) {
	b.Helper()
	type event struct {
		Name, Ph      string
		Pid, Tid      int
		Ts, Dur, TDur float64 // microseconds
		Args          struct{ Name string }
	}
	type thread struct{ pid, tid int }
	mains, all := map[thread]bool{}, map[thread][]event{}
	var mu sync.Mutex
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range ev.Value {
				var e event
				if json.Unmarshal(v, &e) != nil {
					continue // of another shape
				}
				at := thread{e.Pid, e.Tid}
				if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
					mains[at] = true
				}
				if e.Ph == "X" {
					all[at] = append(all[at], e)
				}
			}
		case *tracing.EventTracingComplete:
			close(done)
		}
	}))
	_, err := chromedp.Call(b.ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"devtools.timeline", "disabled-by-default-devtools.timeline"}}})
	must(err)
	time.Sleep(over)
	_, err = chromedp.Call(b.ctx, tracing.End, cdp.Empty{})
	must(err)
	select {
	case <-done:
	case <-time.After(patience):
		b.Fatal("the browser does not end its trace")
	}
	mu.Lock()
	defer mu.Unlock()
	best := thread{}
	sum := 0.
	for at := range mains {
		n := 0.
		for _, e := range all[at] {
			n += e.TDur
		}
		if n > sum {
			best, sum = at, n
		}
	}
	for _, e := range all[best] {
		if e.Name != "RunTask" {
			continue
		}
		x := task{own: e.TDur / 1e3, all: e.Dur / 1e3}
		if e.TDur > 5e3 {
			parts := map[string]float64{}
			for _, in := range all[best] {
				if in.Name != "RunTask" && in.Ts >= e.Ts && in.Ts+in.Dur <= e.Ts+e.Dur && in.TDur > 200 {
					parts[in.Name] += in.TDur / 1e3
				}
			}
			for _, name := range slices.SortedFunc(maps.Keys(parts), func(a, b string) int { return cmp.Compare(parts[b], parts[a]) }) {
				x.parts += fmt.Sprintf("%s %.1f, ", name, parts[name])
			}
		}
		tasks = append(tasks, x)
	}
	sort.Slice(tasks, func(i, j int) bool { return tasks[i].own > tasks[j].own })
	return tasks
}

func viewHashes(t *testing.T) (all []string) {
	for _, v := range named(t, "views.tsx") {
		all = append(all, "#scope=root/parade&view="+v)
	}
	return all
}

// profile logs where the page's script spends its time.
func (b *browser) profile(over time.Duration) {
	b.Helper()
	call := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	_, err := chromedp.Call(b.ctx, profiler.Enable, cdp.Empty{})
	call(err)
	_, err = chromedp.Call(b.ctx, profiler.Start, cdp.Empty{})
	call(err)
	time.Sleep(over)
	got, err := chromedp.Call(b.ctx, profiler.Stop, cdp.Empty{})
	call(err)
	self := map[string]float64{}
	all := map[int64]string{}
	total := map[int64]float64{}
	parent := map[int64]int64{}
	for _, n := range got.Profile.Nodes {
		all[n.ID] = fmt.Sprintf("%s %s:%d", n.CallFrame.FunctionName, filepath.Base(n.CallFrame.URL), n.CallFrame.LineNumber)
		for _, c := range n.Children {
			parent[c] = n.ID
		}
	}
	for i, id := range got.Profile.Samples {
		d := float64(got.Profile.TimeDeltas[i]) / 1e3 / over.Seconds()
		self[all[id]] += d
		for at := id; at != 0; at = parent[at] {
			total[at] += d
		}
	}
	var names []string
	for n := range self {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool { return self[names[i]] > self[names[j]] })
	var out strings.Builder
	for i, n := range names {
		if i == 25 {
			break
		}
		fmt.Fprintf(&out, "\n%8.2f ms/s %s", self[n], n)
	}
	b.Log(out.String())
}
