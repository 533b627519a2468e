//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A snapshot is what the test needs of the document of a dump.
type snapshot struct {
	Taken   time.Time
	Threads int
	States  map[string]int
	Scopes  []struct {
		Name                 string
		Parent, Depth, Total int
	}
	Groups []struct{ Count int }
}

// path joins the names from the root to a scope.
func (s *snapshot) path(i int) string {
	if p := s.Scopes[i].Parent; p >= 0 {
		return s.path(p) + "/" + s.Scopes[i].Name
	}
	return s.Scopes[i].Name
}

// dumpAt is what the agent answers to a dump of a process.
func dumpAt(t *testing.T, url, process, query string) *snapshot {
	t.Helper()
	r, err := http.Get(url + "/api/v1/processes/" + process + "/dump" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("dump%s: %v, status %d: %s", query, err, r.StatusCode, text)
	}
	s := &snapshot{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// drag presses at a moment of the first chart of the time line, moves to another one, and lets go. The line goes on all the time: what lies where is seen when it is
// pressed there.
func (b *browser) drag(from, to int64) {
	b.Helper()
	b.pointer(from, to, false)
}

func (b *browser) pointer(from, to int64, control bool) {
	b.Helper()
	b.until("a chart, and the pointer on it", fmt.Sprintf(`(() => {
		const line = document.querySelector("#timeline"), box = line.querySelector(".u-over").getBoundingClientRect();
		const first = Number(line.dataset.from), last = Number(line.dataset.to), [from, to] = [%d, %d], y = box.top + box.height / 2;
		const x = (ms) => box.left + box.width * (ms - first) / (last - first);
		const tell = (type, ms) => document.elementFromPoint(x(ms), y).dispatchEvent(new PointerEvent(type, {bubbles: true, cancelable: true, pointerId: 1, pointerType: "mouse", isPrimary: true, buttons: 1, clientX: x(ms), clientY: y, ctrlKey: %v}));
		if (!line.querySelector(".u-over").contains(document.elementFromPoint(x(from), y))) return "something lies over it";
		tell("pointerdown", from);
		for (let i = 1; i <= 4; i++) tell("pointermove", from + (to - from) * i / 4);
		tell("pointerup", to);
		return true;
	})() === true`, from, to, control))
}

// shows waits for every panel to be as a dump has it.
func (b *browser) shows(s *snapshot) {
	b.Helper()
	b.until("the number of threads", fmt.Sprintf(`document.querySelector("#threads").textContent.replaceAll(",", "") === "%d"`, s.Threads))
	counts, err := json.Marshal(s.States)
	if err != nil {
		b.Fatal(err)
	}
	b.until("threads by state", fmt.Sprintf(`[...document.querySelectorAll(".states li")].every(li => Number(li.querySelector("b").textContent.replaceAll(",", "")) === (%s[li.dataset.state] ?? 0))`, counts))
	for i := range s.Scopes[:min(4, len(s.Scopes))] {
		sc := &s.Scopes[i]
		path := s.path(i)
		b.until("the threads of "+path, fmt.Sprintf(`scope(%q)?.querySelector(".number")?.textContent.replaceAll(",", "") === "%d"`, path, sc.Total))
	}
	// Groups of one size may come in any order.
	var sizes []string
	for _, g := range s.Groups[:min(8, len(s.Groups))] {
		sizes = append(sizes, strconv.Itoa(g.Count))
	}
	b.until("the largest groups", fmt.Sprintf(`groups().slice(0, %d).map(g => g.querySelector(".number").textContent.replaceAll(",", "")).join() === %q`, len(sizes), strings.Join(sizes, ",")))
}

// One browser and one story: a user goes back to when the shop stood still, steps, and comes back.
func TestAUserGoesBackInTime(t *testing.T) {
	b := openBrowser(t)
	d := startDemo(t, build(t), flights(t), 3_000)
	b.do(chromedp.Navigate(d.url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop") && groups().length > 0`)
	shop := strconv.Itoa(d.shop)

	var still *snapshot
	var at int64
	b.step("the shop stands still for a while", func() {
		syscall.Kill(d.shop, syscall.SIGSTOP)
		b.until("stopped", `document.querySelector("#status").textContent === "STOPPED"`)
		still = dumpAt(t, d.url, shop, "")
		// After a minute not each moment is kept any more, but those that are marked.
		const marks = `Object.keys(localStorage).filter(k => k.startsWith("vtscope.marks.")).flatMap(k => JSON.parse(localStorage.getItem(k))).map(m => m.at)`
		b.until("a moment of it marked", fmt.Sprintf(`%s.some(at => at >= %d) || (document.dispatchEvent(new KeyboardEvent("keydown", {key: "m", bubbles: true})), false)`, marks, still.Taken.UnixMilli()))
		fmt.Sscan(b.text(`Math.max(...`+marks+`)`), &at)
		at += 3000 // amid the stretch
		b.until("a stretch of it", fmt.Sprintf(`Number(document.querySelector("#timeline").dataset.to) > %d`, at+2000))
		syscall.Kill(d.shop, syscall.SIGCONT)
		b.until("live", `document.querySelector("#status").textContent === "LIVE"`)
		b.until("other figures", fmt.Sprintf(`document.querySelector("#threads").textContent.replaceAll(",", "") !== "%d"`, still.Threads))
	})

	b.step("a drag shows it again", func() {
		b.until("a line that goes on", fmt.Sprintf(`Number(document.querySelector("#timeline").dataset.to) > %d`, at+5000))
		b.drag(at+4000, at)
		b.until("rewound", fmt.Sprintf(`document.querySelector("#status").textContent === "REWIND" && (shown => shown >= %d && shown <= %d)(Number(document.querySelector("#moment").dataset.shown)) && !document.querySelector("#moment").dataset.going`, at-3000, at+2000))
		b.shows(still)
		kept := dumpAt(t, d.url, shop, "?at="+b.text(`document.querySelector("#moment").dataset.shown`))
		if kept.Threads != still.Threads || !maps.Equal(kept.States, still.States) {
			t.Errorf("the dump of that moment has %d threads %v, want %d %v", kept.Threads, kept.States, still.Threads, still.States)
		}
		b.until("the line going on", fmt.Sprintf(`Number(document.querySelector("#timeline").dataset.to) > %s + 2000`, b.text(`document.querySelector("#timeline").dataset.to`)))
		b.shows(still)
		b.screen("rewind")
	})

	b.step("the address is the moment", func() {
		b.do(chromedp.Reload())
		b.until("rewound", `document.querySelector("#status")?.textContent === "REWIND" && document.querySelector("#moment")?.dataset.shown`)
		b.shows(still)
	})

	b.step("the settings are those of then", func() {
		b.do(chromedp.KeyEvent("s"))
		b.until("when they were so", `(s => s.querySelector(".facts").innerText.startsWith("as they were at ") && s.querySelectorAll(".kinds tbody tr").length > 20)(document.querySelector("#overlay-settings"))`)
		b.until("nothing that would change those of now", `(s => !s.querySelector("[role=switch], textarea, .command") && s.innerText.includes("the settings of now"))(document.querySelector("#overlay-settings"))`)
		b.audited("settings of then")
		b.do(chromedp.KeyEvent(kb.Escape))
		b.until("closed", `!document.querySelector("#overlay-settings") && document.querySelector("#moment")`)
	})

	b.step("a thread of then is shown as it is now", func() {
		b.until("examples", `[...document.querySelectorAll("#stack button, #stack a")].some(x => /^#\d/.test(x.textContent))`)
		b.text(`String([...document.querySelectorAll("#stack button, #stack a")].find(x => /^#\d/.test(x.textContent)).click())`)
		b.until("the thread, and what it is", `(t => /this is the thread now|It has ended|There is no such thread: it ended so long ago/.test(t.querySelector(".ended").innerText) && (t.querySelector(".frames") || t.querySelector(".happened")))(document.querySelector("#thread"))`)
		b.text(`String(document.querySelector("#thread h2 button").click())`)
		b.until("the group again, of then", `!document.querySelector("#thread") && document.querySelector("#moment")`)
	})

	b.step("a filter that nobody used then", func() {
		b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "state=blocked\r"))
		b.until("why there is nothing", `document.querySelector("#groups").textContent.includes("not kept with this filter")`)
		b.text(`String((f => { f.value = ""; f.dispatchEvent(new Event("input")); })(document.querySelector("#filter")))`)
		b.until("groups", `groups().length > 0`)
		b.text(`document.activeElement.blur()`)
	})

	b.step("keys step through moments", func() {
		shown := func() int64 {
			n, _ := strconv.ParseInt(b.text(`document.querySelector("#moment")?.dataset.shown ?? 0`), 10, 64)
			return n
		}
		b.do(chromedp.KeyEvent("\x1b")) // of the last minute each moment is kept
		b.until("live", `document.querySelector("#status").textContent === "LIVE" && !document.querySelector("#moment")`)
		b.do(chromedp.KeyEvent("["))
		b.until("a moment", `document.querySelector("#moment")?.dataset.shown && !document.querySelector("#moment").dataset.going`)
		from := shown()
		b.do(chromedp.KeyEvent("["))
		b.until("an earlier moment", fmt.Sprintf(`Number(document.querySelector("#moment").dataset.shown) < %d`, from))
		before := shown()
		b.do(chromedp.KeyEvent("]"))
		b.until("the moment again", fmt.Sprintf(`Number(document.querySelector("#moment").dataset.shown) === %d`, from))
		b.text(`document.querySelector("[role=slider]").focus()`)
		b.do(chromedp.KeyEvent(kb.ArrowLeft))
		b.until("the earlier one, told to who cannot see", fmt.Sprintf(`Number(document.querySelector("#moment").dataset.shown) === %d && Number(document.querySelector("[role=slider]").ariaValueNow) === %d && document.querySelector("[role=slider]").ariaValueText.includes(" ago")`, before, before))
		b.text(`document.activeElement.blur()`)
		b.do(chromedp.KeyEvent("2")) // wherever the keyboard is
		b.until("the groups active", `document.querySelector("#groups").classList.contains("active")`)
		b.do(chromedp.KeyEvent("\x1b"))
		b.until("live", `document.querySelector("#status").textContent === "LIVE" && !location.hash.includes("at=") && !document.querySelector("#moment")`)
	})

	b.step("space pauses", func() {
		b.do(chromedp.KeyEvent(" "))
		b.until("paused", `document.querySelector("#status").textContent === "PAUSED" && document.querySelector("#moment")?.dataset.shown && !document.querySelector("#moment").dataset.going`)
		s := dumpAt(t, d.url, shop, "?at="+b.text(`document.querySelector("#moment").dataset.shown`))
		b.shows(s)
		to := b.text(`document.querySelector("#timeline").dataset.to`)
		b.until("time going on", fmt.Sprintf(`Number(document.querySelector("#timeline").dataset.to) > %s + 3000`, to))
		b.shows(s)
		b.do(chromedp.KeyEvent(" "))
		b.until("live", `document.querySelector("#status").textContent === "LIVE"`)
	})

	b.step("a second moment", func() {
		b.pointer(at, at, true)
		b.until("compared", `location.hash.includes("from=") && document.querySelector("#moment").textContent.includes("compared with")`)
		b.click("back to now", "#now")
		b.until("live", `!location.hash.includes("from=") && !document.querySelector("#moment")`)
	})

	b.step("delays as a map", func() {
		b.until("cells", `Number(document.querySelector("#heatmap").dataset.cells) > 3 && Number(document.querySelector("#heatmap").dataset.p99) > 0`)
		b.until("what it shows in words", `/[1-9].* delays, p50 .*, p99 .*, longest /.test(document.querySelector("#heatmap .chart").ariaLabel)`)
		b.until("colours", `(() => {
			const c = document.querySelector("#heatmap canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
			for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
			const css = getComputedStyle(document.documentElement);
			return [1, 2, 3, 4, 5].filter(n => seen.has(parseInt(css.getPropertyValue("--heat-" + n).trim().slice(1), 16))).length >= 3;
		})()`)
	})

	b.step("the past of a process that was killed", func() {
		syscall.Kill(d.shop, syscall.SIGKILL)
		b.until("killed", `document.querySelector("#status").textContent === "GONE"`)
		b.text(fmt.Sprintf(`(location.hash = "process=%s&at=%d")`, shop, at))
		b.until("rewound", `document.querySelector("#status").textContent === "REWIND" && document.querySelector("#moment").dataset.shown`)
		b.shows(still)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// A recording has the whole past: any moment, with any filter.
func TestAUserGoesThroughARecording(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	pid := launch(t, bin, dir, "shop", "-threads", "500")
	vtr := filepath.Join(t.TempDir(), "run.vtr")
	c := exec.Command(filepath.Join(bin, "vtdump"), "record", strconv.Itoa(pid), "--for", "4s", "-o", vtr)
	c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
	took := time.Since(began)
	url := serve(t, flights(t), vtr)
	b.do(chromedp.Navigate(url))
	b.until("what a recording does not tell, and no false none", `document.querySelector("#events").innerText.includes("Not counted here") && document.querySelector("#pins").innerText.includes("vtdump events run.vtr --kind pinned")`)
	b.until("recorded, with a time line", `document.querySelector("#status")?.textContent === "RECORDED" && groups().length > 0 && document.querySelector("#timeline").dataset.to && Number(document.querySelector("#heatmap").dataset.cells) > 20`)
	var from, to int64
	fmt.Sscan(b.text(`document.querySelector("#timeline").dataset.from + " " + document.querySelector("#timeline").dataset.to`), &from, &to)
	if length := time.Duration(to-from) * time.Millisecond; length < time.Second || length > took+time.Second {
		t.Errorf("the time line is %v long, want that of a recording of 4 s which took %v", length, took)
	}
	for _, part := range []int64{2, 3} {
		middle := from + (to-from)/part
		b.drag(to-100, middle)
		b.until("rewound", fmt.Sprintf(`document.querySelector("#status").textContent === "REWIND" && Math.abs(Number(document.querySelector("#moment").dataset.shown) - %d) < 200 && !document.querySelector("#moment").dataset.going`, middle))
		b.shows(dumpAt(t, url, "run.vtr", "?at="+b.text(`document.querySelector("#moment").dataset.shown`)))
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "state=timed-parked\r"))
	b.until("what it matches then", `/^[1-9].* match/.test(document.querySelector("#filtered")?.textContent) && groups().length > 0 && document.querySelector("#status").textContent === "REWIND"`)
	b.screen("rewind-recording")
	b.click("back to now", "#now")
	b.until("its end", `document.querySelector("#status").textContent === "RECORDED" && !document.querySelector("#moment")`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// What the checks find is a flag in the time line, and leads to its moment.
func TestAFlagLeadsToItsMoment(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	launch(t, bin, dir, "deadlock")
	b.do(chromedp.Navigate(serve(t, dir)))
	b.until("the flag of a deadlock", `document.querySelector(".flag.error")?.title.includes("finding: deadlock")`)
	b.do(chromedp.KeyEvent("<"))
	b.until("its moment", `document.querySelector("#status").textContent === "REWIND" && document.querySelector("#moment").dataset.shown && document.querySelector('#findings [data-check="deadlock"]')`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("live", `document.querySelector("#status").textContent === "LIVE"`)
	b.press("the flag, which goes with the time", ".flag.error")
	b.until("its moment again", `document.querySelector("#status").textContent === "REWIND"`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
