//go:build unix

package e2e

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// altered is the recorded traffic with other members of frames; change gets those of each frame of a process. They stay as they are when they come as a whole: their deltas are left out.
func altered(t *testing.T, change func(frame map[string]any), members ...string) (name string) {
	t.Helper()
	from, err := os.Open(traffic)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	plain, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "altered.traffic")
	to, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(to)
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 16<<20)
	frames := 0
	for lines.Scan() {
		var entry map[string]any
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			t.Fatal(err)
		}
		if got, ok := entry["got"].(map[string]any); ok && got["type"] == "frame" {
			if p, ok := got["process"].(map[string]any); !ok || p["pid"] != 0.0 {
				frames++
				change(got)
				deltas, _ := got["deltas"].(map[string]any)
				for _, m := range members {
					delete(deltas, m)
				}
			}
		}
		line, err := json.Marshal(entry)
		if err == nil {
			_, err = zip.Write(append(line, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil || frames < 10 {
		t.Fatalf("%d frames, %v; want some", frames, err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// A night has nine findings, worst first.
var night = []struct{ check, severity, what, measured, from string }{
	{"deadlock", "error", "2 threads wait for each other in a circle, and 118 more wait for them: mutex \"stock\", mutex \"ledger of the day\"", "120 threads", "1 thread"},
	{"carriers-held", "error", "412 queued threads have found no free carrier for 2.4 s: 4 of 4 carriers are held", "2.4 s", "100 ms"},
	{"holder-gone", "error", "31 threads wait for a permit of semaphore \"db\", and who had it has ended", "31 threads", "1 thread"},
	{"pinned", "warning", "3 threads block and hold their carriers while 409 others wait for one", "409 threads", "10 threads"},
	{"pinned", "warning", "1 thread blocks and holds its carrier while 12 others wait for one", "12 threads", "10 threads"},
	{"hog", "warning", "a thread has computed for 1.2 s without a scheduling point", "1.2 s", "100 ms"},
	{"scope-growth", "warning", "root/shop/requests grows by 40 % a minute, and does not look as if it would end", "40 % a minute", "20 % a minute"},
	{"unbounded-queue", "warning", "threads of root/shop/requests queue up faster than they get their turn", "9,104 threads", "1,000 threads"},
	{"unscoped", "info", "43 threads were started outside of any scope", "143 threads", "100 threads"},
}

func nightFindings() map[string]any {
	var rows []any
	for i, f := range night {
		rows = append(rows, map[string]any{
			"key": fmt.Sprint(f.check, i), "check": f.check, "severity": f.severity, "what": f.what, "count": 3, "value": 3, "threshold": 1, "unit": "threads",
			"measured": f.measured, "from": f.from, "since": 1795375640000, "scope": "root/shop", "scopeKey": "1", "group": fmt.Sprintf("%016x", i+1),
			"at":       map[string]any{"func": "shop.(*Stock).reserveForCheckout", "file": "/src/shop/stock.go", "line": 211},
			"threads":  []any{map[string]any{"id": 4711, "name": "checkout", "wait": 31e9}, map[string]any{"id": 4712, "name": "checkout", "wait": 30e9}},
			"evidence": []any{"thread 4711 \"checkout\" wants mutex \"stock\", held by thread 4712"}, "page": "docs/findings/" + f.check + ".md",
		})
	}
	return map[string]any{"missing": "", "over": 30e9, "rows": rows, "rest": 5, "unjudged": []any{map[string]any{"check": "timer-storm", "why": "it needs the event timer"}}}
}

// Many findings leave room for the scheduler and the carriers: all but the worst are folded, named, and a key away.
func TestManyFindingsLeaveRoomForWhatStandsBelow(t *testing.T) {
	b := openBrowser(t)
	url, _ := pages(t, "-replay", altered(t, func(frame map[string]any) {
		frame["findings"] = nightFindings()
		if p, ok := frame["points"].(map[string]any); ok {
			if times, _ := p["time"].([]any); len(times) > 0 {
				if p["reset"] == true { // once each time that the traffic is played
					for i, lane := range []string{"pinned", "monopolized", "starved", "gc"} {
						n := make([]int, len(times))
						n[0] = []int{7, 3, 4, 5}[i]
						p[lane] = n
					}
				}
				p["flags"] = []any{map[string]any{"time": times[len(times)-1], "kind": "finding", "severity": "warning", "what": night[3].what, "rest": 1}}
			}
		}
	}, "findings"))
	listed := func(n int) string {
		return fmt.Sprintf(`document.querySelectorAll("#findings .findings > li").length === %d`, n)
	}
	begin := func(hash string) {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/"+hash))
		b.until("findings", `document.querySelector("#status")?.textContent === "LIVE" && groups().length > 0 && document.querySelector("#findings .findings > li")`)
	}
	for _, s := range sizes {
		b.step(s.name, func() {
			b.resize(s)
			begin("#scope=root/shop")
			b.until("the worst findings", listed(3))
			b.until("flags of several findings, and all lanes", `document.querySelector("#timeline .flag small") && document.querySelectorAll("#timeline .key.marked").length === 4`)
			b.audited(s.name+", with flags of several findings", "label-content-name-mismatch")
			b.flawed(s.name)
			b.screen("night-" + s.name)
			said := b.text(`document.querySelector("#findings .fold").innerText.replaceAll(/\s+/g, " ")`)
			if want := "6 more: pinned ×2 hog scope-growth unbounded-queue unscoped"; said != want {
				t.Errorf("%s: the fold says %q, want %q", s.name, said, want)
			}
			if b.text(`(() => {
				const fold = document.querySelector("#findings .fold").getBoundingClientRect(), panel = document.querySelector("#findings .body").getBoundingClientRect();
				return fold.bottom <= panel.bottom + 1 && fold.top >= panel.top;
			})()`) != "true" {
				t.Errorf("%s: which others there are is not to be seen", s.name)
			}
			if s.width > 1000 {
				if got := b.text(`[...document.querySelectorAll("#findings .findings > li")].filter((e) => e.getBoundingClientRect().bottom <= document.querySelector("#findings .fold").getBoundingClientRect().top + 1).length`); got != "3" {
					t.Errorf("%s: %s findings can be seen, want the worst three", s.name, got)
				}
				// What can be seen of the panels below without scrolling.
				for of, least := range map[string]string{"#schedulers .figures": "34", "#carriers .row": "20"} {
					if got := b.text(fmt.Sprintf(`(() => {
						const e = document.querySelector(%q), r = e.getBoundingClientRect(), body = e.closest(".body").getBoundingClientRect();
						return Math.round(Math.min(r.bottom, body.bottom, innerHeight) - Math.max(r.top, body.top));
					})()`, of)); b.text(got+" >= "+least) != "true" {
						t.Errorf("%s: %s of %s can be seen, want %s pixels of it at least", s.name, got, of, least)
					}
				}
			}
		})
	}
	b.resize(sizes[1])
	begin("#scope=root/shop")

	b.step("by the keyboard", func() {
		b.do(chromedp.KeyEvent("a"))
		b.until("all", listed(len(night)))
		b.until("that in the address", `location.hash.includes("findings=all")`)
		b.flawed("all findings")
		b.screen("night-all")
		b.text(`document.querySelector("#findings .fold").focus()`)
		b.do(chromedp.KeyEvent("\r"))
		b.until("the worst again", listed(3))
		b.until("the focus where it was", `document.activeElement.matches("#findings .fold[aria-expanded=false]") && !location.hash.includes("findings=")`)
		b.do(chromedp.KeyEvent("\r"))
		b.until("all again", listed(len(night)))
	})

	b.step("by the address", func() {
		begin("#scope=root/shop&findings=all")
		b.until("all", listed(len(night)))
		begin("#scope=root/shop&group=0000000000000007")
		b.until("the worst, and the one that is chosen", listed(4)+` && document.querySelector("#findings li.chosen").dataset.check === "scope-growth"`)
		b.until("the others named", `document.querySelector("#findings .fold").innerText.includes("5 more")`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// The header of a recording, whose name and status are long, has two lines on a screen of 1280 pixels, as that of any other process has, whatever its figures are.
func TestTheHeaderKeepsItsLines(t *testing.T) {
	b := openBrowser(t)
	named := func(row any) {
		if p, ok := row.(map[string]any); ok {
			p["program"], p["status"] = "checkout-7f9c6d5b8-x2x4q-of-the-night", "recorded"
		}
	}
	url, _ := pages(t, "-replay", altered(t, func(frame map[string]any) {
		rows, _ := frame["processes"].([]any)
		for _, row := range rows {
			named(row)
		}
		if p, ok := frame["process"].(map[string]any); ok {
			named(p)
			p["threads"], p["scopeCount"] = 1_003_412, 12_024
			p["carrying"] = map[string]any{"total": 64, "busy": 64, "held": 64}
			p["delay"] = map[string]any{"over": 10e9, "count": 50, "p50": 120e6, "p90": 220e6, "p99": 340e6, "longest": 400e6}
			p["rates"] = map[string]any{"starts": 1.2e6, "ends": 1.1e6, "switches": 1.4e6, "events": 5e6}
			p["drops"] = map[string]any{"events": 4.2e6, "threads": 0, "stacks": 0, "strings": 0, "torn": 0}
			p["counts"] = []any{0, 0, 4_311, 64, 702_118, 271_004, 8_001, 8_010, 12, 9_892, 0}
			p["cost"].(map[string]any)["step"] = 5
		}
	}, "process", "processes"))
	for _, filter := range []string{"", "&filter=state%3Dparked"} {
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(url+"/#scope=root/shop"+filter))
		b.until("a recording", `document.querySelector("#status")?.textContent === "RECORDED" && document.querySelector("#threads")?.textContent === "1,003,412"`)
		for _, s := range []size{{"720p", 1280, 720}, sizes[0], {"wide", 1920, 1080}} {
			b.resize(s)
			b.flawed(s.name + filter)
			b.screen("recorded-" + s.name + filter)
			if got := b.text(`[...document.querySelectorAll("header > .line")].map((e) => Math.round(e.getBoundingClientRect().height)).join()`); got != "26,26" {
				t.Errorf("%s%s: the lines of the header are %s pixels high, want each to be one of 26", s.name, filter, got)
			}
		}
	}
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
