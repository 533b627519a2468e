//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// traffic is what the page and a vtserve with a shop said to each other: go test -C e2e -run Traffic -update writes it.
const traffic = "../webui/testdata/shop.traffic"

// pages starts the server of the page's sources, and returns its address; stop ends it.
func pages(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	c := exec.Command(filepath.Join(build(t), "pagebuild"), append([]string{"-root", "../webui", "-addr", "127.0.0.1:0"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			c.Process.Signal(os.Interrupt)
			if err := c.Wait(); err != nil {
				t.Errorf("the server of the page's sources: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	i := strings.Index(line, "http://")
	if err != nil || i < 0 {
		t.Fatalf("the server of the page's sources said %q, %v; want its address", line, err)
	}
	go io.Copy(io.Discard, lines)
	return strings.TrimSpace(line[i:]), stop
}

// named are the names of the rows of a table of the page's sources, in its order.
func named(t *testing.T, source string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../webui/src", source))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\bname: "([a-z-]+)"`).FindAllStringSubmatch(string(data), -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatalf("%s has no rows with names", source)
	}
	return names
}

// show goes to what an address names, without loading the page again, and waits for the last document that it asks for.
func (b *browser) show(hash string) {
	b.Helper()
	b.text(fmt.Sprintf(`(location.hash = %q, "")`, hash))
	b.settled()
}

// settled waits until the documents that the page asked for have come, and it has drawn since.
func (b *browser) settled() {
	b.Helper()
	b.await(`(async () => {
		const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)));
		let enough = 2;
		if (!window.asks) { // what was asked for before is not counted: it is waited for longer
			enough = 5;
			const fetch = window.fetch, asks = window.asks = {open: 0};
			window.fetch = (...a) => { asks.open++; return fetch(...a).finally(() => { asks.open--; }); };
		}
		for (let quiet = 0, turns = 0; quiet < enough && turns < 100; turns++) {
			const before = performance.getEntriesByType("resource").length;
			await frame();
			quiet = window.asks.open === 0 && performance.getEntriesByType("resource").length === before ? quiet + 1 : 0;
		}
	})()`)
}

// The page over traffic that is written down shows what it showed when it was written; this also makes what is committed.
func TestTrafficIsWrittenDownAndPlayedAgain(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	name := filepath.Join(t.TempDir(), "shop.traffic")
	d := startDemo(t, bin, dir, 10_000)
	url, stop := pages(t, "-agent", strings.TrimSuffix(d.url, "/"), "-record", name)
	b.do(chromedp.Navigate(url))
	const most = `Number(document.querySelector("#threads").textContent.replaceAll(",", "")) > 9000`
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop/sessions")`)
	b.until("most of its threads", most)
	b.until("a time line", `document.querySelectorAll("#timeline canvas").length > 0`)
	if *update {
		time.Sleep(40 * time.Second) // a time line that is worth looking at
	}
	visit := itinerary(t)
	if !*update {
		visit = visit[:3]
	}
	for _, hash := range visit {
		b.show(hash)
		if *update {
			time.Sleep(1200 * time.Millisecond)
		}
	}
	b.do(chromedp.Navigate("about:blank"))
	stop()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(data))
	if *update {
		if len(data) > 200<<10 {
			t.Errorf("%d bytes of traffic, want at most %d", len(data), 200<<10)
		}
		if err := os.MkdirAll(filepath.Dir(traffic), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(traffic, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	again, _ := pages(t, "-replay", name)
	b.do(chromedp.Navigate(again + "/#scope=root/shop/sessions"))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && scope("root/shop/sessions") && groups().length > 0`)
	if got := b.text(`document.querySelector("#process").selectedOptions[0].text`); !strings.Contains(got, fmt.Sprintf("pid %d", d.shop)) {
		t.Errorf("played again it is %q, want pid %d", got, d.shop)
	}
	b.until("most of its threads, played again", most)
	b.until("a stack of the shop's, played again", `document.querySelector("#stack .frames")?.innerText.includes("shop.")`)
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// itinerary is where a visitor goes who wants to see all there is.
func itinerary(t *testing.T) (hashes []string) {
	t.Helper()
	hashes = append(hashes, "#", "#scope=root/shop", "#scope=root/shop/sessions")
	for _, view := range named(t, "views.tsx") {
		hashes = append(hashes, "#view="+view, "#scope=root/shop&view="+view)
	}
	for _, over := range named(t, "overlays.tsx") {
		hashes = append(hashes, "#panel="+over)
	}
	return hashes
}

// What make ui-dev and make ui-replay promise: a change of the sources is seen at once.
func TestThePageLoadsAgainWhenItsSourcesChange(t *testing.T) {
	root := t.TempDir()
	for _, part := range []string{"src", "vendor"} {
		if err := os.CopyFS(filepath.Join(root, part), os.DirFS(filepath.Join("../webui", part))); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := filepath.Abs(traffic)
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t)
	url, _ := pages(t, "-root", root, "-replay", recorded)
	b.do(chromedp.Navigate(url))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE" && groups().length > 0`)
	source := filepath.Join(root, "src", "footer.tsx")
	data, err := os.ReadFile(source)
	if err != nil || !strings.Contains(string(data), "<footer") {
		t.Fatalf("the source has no footer: %v", err)
	}
	b.text(`window.before = true`)
	// Nobody sees whether the page listens already: of several changes it hears one.
	for i, deadline := 0, time.Now().Add(patience); b.text(`!window.before && document.querySelector("footer")?.title.startsWith("changed")`) != "true"; i++ {
		if time.Now().After(deadline) {
			t.Fatalf("after %v and %d changes the page is still the old one", patience, i)
		}
		if i%20 == 0 {
			changed := fmt.Sprintf("<footer title=\"changed %d\"", i)
			if err := os.WriteFile(source, []byte(strings.Replace(string(data), "<footer", changed, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.until("it live", `groups().length > 0`)
}
