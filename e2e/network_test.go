//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A wire is a network between a browser and a server, which counts what comes through, and may be slow.
type wire struct {
	url   string
	to    atomic.Pointer[string] // the server's address
	bytes atomic.Int64           // from the server
	rate  atomic.Int64           // bytes a second; 0: as fast as it can
	open  sync.Map               // connections
}

// cut breaks all connections.
func (w *wire) cut() {
	w.open.Range(func(c, _ any) bool { w.open.Delete(c); c.(net.Conn).Close(); return true })
}

// lead has new connections go to a server.
func (w *wire) lead(url string) {
	to := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	w.to.Store(&to)
}

func lay(t *testing.T, url string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + l.Addr().String()}
	w.lead(url)
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		w.cut()
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := thin.Dial("tcp", *w.to.Load())
			if err != nil {
				near.Close()
				continue
			}
			w.open.Store(near, nil)
			w.open.Store(far, nil)
			all.Go(func() { io.Copy(far, near); far.Close() })
			all.Go(func() { io.Copy(near, &slow{far, w}); near.Close() })
		}
	})
	return w
}

// thin connects with a small buffer: else what the server sends waits here, and it never learns that we are slow.
var thin = net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
}}

// slow reads as fast as its wire lets through.
type slow struct {
	from io.Reader
	wire *wire
}

func (s *slow) Read(p []byte) (int, error) {
	rate := s.wire.rate.Load()
	if rate > 0 {
		p = p[:min(len(p), max(1, int(rate/20)))]
	}
	n, err := s.from.Read(p)
	s.wire.bytes.Add(int64(n))
	if rate > 0 {
		time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
	}
	return n, err
}

// useful is when a page shows what a user comes for.
const useful = `document.querySelector("#status")?.textContent === "LIVE" && document.querySelectorAll("#scopes .row").length > 1 && groups().length > 0 && document.querySelector("#stack .frames li")`

// On a network of 50 KB/s the page is useful, and what a click asks for comes at once.
func TestASlowNetworkDelaysNothingButTheBeginning(t *testing.T) {
	b := openBrowser(t)
	d := startDemo(t, build(t), flights(t), 10_000)
	w := lay(t, d.url)
	w.rate.Store(50_000)
	b.step("the page", func() {
		b.do(chromedp.Navigate(w.url))
		b.until("useful", useful)
	})
	b.step("it stays at the newest moment", func() {
		before := b.text(`document.querySelector("header").innerText`)
		b.until("other figures", fmt.Sprintf(`document.querySelector("header").innerText !== %q`, before))
		b.press("another scope", `#scopes .row[data-path="root/shop/sessions"]`)
		b.until("the groups of another scope", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/shop/sessions"))`)
		b.until("still live", `document.querySelector("#status").textContent === "LIVE"`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// On a network that is too slow for the frames the page says how many moments it was not told, and it goes on when the network does.
func TestAPageOnATooSlowNetworkSaysWhatWasLeftOut(t *testing.T) {
	b := openBrowser(t)
	d := startDemo(t, build(t), flights(t), 10_000)
	w := lay(t, d.url)
	b.do(chromedp.Navigate(w.url))
	b.until("useful", useful)
	const out = `Number(document.querySelector("#slow")?.innerText.match(/: ([0-9,]+) moments? since/)?.[1].replaceAll(",", ""))`
	b.step("too slow", func() {
		w.rate.Store(3_000)
		b.until("moments that were left out, and since when", out+` > 0 && /^late, since the network, the browser or the machine is busy: [0-9]+ moments? since [0-9:]+ left out/.test(document.querySelector("#slow").innerText)`)
		b.flawed("a slow network")
		b.screen("slow")
		b.until("more of them", out+` > 3`)
		b.until("the sum in the header", `/[0-9]+ frames? lost/.test(document.querySelector("#cost").innerText)`)
		b.until("how late the rest comes", `/ on its way|nothing has come for /.test(document.querySelector("#slow").innerText)`)
	})
	b.step("cut off", func() {
		w.rate.Store(4_000) // the first frame alone takes longer than a page waits for one at first
		before := w.bytes.Load()
		w.cut()
		b.until("stale", `document.querySelector("#status").textContent !== "LIVE"`)
		began := time.Now()
		b.until("live again", `document.querySelector("#status").textContent === "LIVE"`)
		frame := b.text(`document.querySelector("header").innerText`)
		b.until("other figures", fmt.Sprintf(`document.querySelector("header").innerText !== %q`, frame))
		t.Logf("figures %.1f s after, by %d bytes", time.Since(began).Seconds(), w.bytes.Load()-before)
	})
	b.step("fast again", func() {
		w.rate.Store(0)
		b.until("nothing to say", `document.querySelector("#status").textContent === "LIVE" && !document.querySelector("#slow")`)
	})
}

// A million threads: what crosses the network until the page is useful, and five steps to one of them.
func TestAMillionThreadsAreAFewStepsFromOne(t *testing.T) {
	if testing.Short() {
		t.Skip("a million threads take 4 GB of memory")
	}
	b := openBrowser(t)
	dir := flights(t)
	url := serve(t, dir)
	pid := launch(t, build(t), dir, "storm", "-threads", "1000000", "-depth", "8", "-on", "semaphore", "-hold", "0")
	for deadline := time.Now().Add(10 * time.Minute); threadsOf(t, url, pid) < 1_000_000; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the storm has %d threads after 10 minutes", threadsOf(t, url, pid))
		}
	}
	w := lay(t, url)
	b.step("the first useful screen", func() {
		began := time.Now()
		b.do(chromedp.Navigate(w.url))
		b.until("useful", useful+` && Number(document.querySelector("#threads")?.textContent.replaceAll(",", "")) >= 1000000`)
		n, after := w.bytes.Load(), time.Since(began)
		t.Logf("useful %.2f s after the address was given, by %d bytes", after.Seconds(), n)
		// While vtserve still reads the million for the first time, on a machine that is busy, it tells ten times a second how far it is.
		most := 200<<10 + 20*max(0, after-time.Second).Milliseconds()
		if n > most {
			t.Errorf("%d bytes until the page is useful, want at most %d", n, most)
		}
		b.screen("storm")
	})
	b.step("the memory of vtserve", func() {
		const most = 200 // MiB
		const told = `document.querySelector("#cost").title.match(/([0-9.]+) MiB of memory/)?.[1]`
		t.Logf("vtserve has %s MiB of memory at first", b.text(told))
		// What it took to read the million for the first time goes back to the system when its garbage is collected.
		b.until("at most so much", fmt.Sprintf(`Number(%s) <= %d`, told, most))
	})
	b.step("from the finding to whom all wait for", func() {
		row := `#findings li[data-check="long-held"]`
		b.until("the finding, ten seconds after the last one began to wait", fmt.Sprintf(`document.querySelector(%q)?.innerText.includes('1,000,000 threads wait for semaphore "gate"')`, row))
		b.press("the finding", row+" button.finding")
		guilty := line(t, "storm/storm.go", "func (s *storm) waitForEnd", "vthread.Park()")
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		b.screen("steps-storm")
		toOneThread(b, guilty)
		b.screen("guilty-storm")
		b.text(`location.hash = ""`)
		b.until("no thread", `!document.querySelector("#thread .frames")`)
	})
	b.step("to one of a million", func() {
		b.press("the scope of all", `#scopes .row[data-path="root/storm"]`)
		b.until("its scope", `chosen("#scopes")?.dataset.path === "root/storm"`)
		b.until("a batch", `[...document.querySelectorAll("#scopes .row[data-path]")].some(r => r.dataset.path.startsWith("root/storm/batch-"))`)
		b.text(`[...document.querySelectorAll("#scopes .row[data-path]")].find(r => r.dataset.path.startsWith("root/storm/batch-")).click()`)
		b.until("its groups alone", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/storm/batch-"))`)
		b.until("the group of those who wait: all, when the last have begun", `(g => g && (g.click(), true))(groups().find(g => g.textContent.includes("passGate")))`)
		guilty := line(t, "storm/storm.go", "func (s *storm) passGate", "s.gate.Acquire")
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames")?.innerText.includes(%q)`, guilty))
		toOneThread(b, guilty)
		b.screen("thread-storm")
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// threadsOf is how many threads a process has, as vtserve knows.
func threadsOf(t *testing.T, url string, pid int) int {
	t.Helper()
	r, err := http.Get(url + "/api/v1/processes")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var list struct {
		Processes []struct{ PID, Threads int }
	}
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Processes {
		if p.PID == pid {
			return p.Threads
		}
	}
	return 0
}
