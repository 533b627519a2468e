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
	bytes atomic.Int64 // from the server
	rate  atomic.Int64 // bytes a second; 0: as fast as it can
}

func lay(t *testing.T, url string) *wire {
	t.Helper()
	target := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + l.Addr().String()}
	var all sync.WaitGroup
	var open sync.Map
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := thin.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			open.Store(near, nil)
			open.Store(far, nil)
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
	d := startDemo(t, build(t), flights(t), freePort(t), 10_000)
	w := lay(t, d.url)
	w.rate.Store(50_000)
	b.step("the page", func() {
		b.do(chromedp.Navigate(w.url))
		b.until("useful", useful)
	})
	b.step("it stays at the newest moment", func() {
		before := b.text(`document.querySelector("header").innerText`)
		b.until("other figures", fmt.Sprintf(`document.querySelector("header").innerText !== %q`, before))
		b.do(chromedp.Click(chromedp.CSS(`#scopes .row[data-path="root/shop/sessions"]`)))
		b.until("the groups of another scope", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/shop/sessions"))`)
		b.until("still live", `document.querySelector("#status").textContent === "LIVE"`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// A million threads: what crosses the network until the page is useful, and five steps to one of them.
func TestAMillionThreadsAreAFewStepsFromOne(t *testing.T) {
	if testing.Short() {
		t.Skip("a million threads take 4 GB of memory")
	}
	b := openBrowser(t)
	dir := flights(t)
	url := serve(t, dir)
	pid := launch(t, build(t), dir, "storm", "-threads", "1000000", "-depth", "8", "-hold", "0")
	for deadline := time.Now().Add(5 * time.Minute); threadsOf(t, url, pid) < 1_000_000; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the storm has %d threads after 5 minutes", threadsOf(t, url, pid))
		}
	}
	w := lay(t, url)
	b.step("the first useful screen", func() {
		began := time.Now()
		b.do(chromedp.Navigate(w.url))
		b.until("useful", useful+` && Number(document.querySelector("#threads")?.textContent.replaceAll(",", "")) >= 1000000`)
		n := w.bytes.Load()
		t.Logf("useful %.2f s after the address was given, by %d bytes", time.Since(began).Seconds(), n)
		if n > 200<<10 {
			t.Errorf("%d bytes until the page is useful, want at most %d", n, 200<<10)
		}
		b.screen("storm")
	})
	b.step("to one thread", func() {
		b.do(chromedp.Click(chromedp.CSS(`#scopes .row[data-path="root/storm"]`)))
		b.until("its scope", `chosen("#scopes")?.dataset.path === "root/storm"`)
		b.until("a batch", `[...document.querySelectorAll("#scopes .row[data-path]")].some(r => r.dataset.path.startsWith("root/storm/batch-"))`)
		b.text(`[...document.querySelectorAll("#scopes .row[data-path]")].find(r => r.dataset.path.startsWith("root/storm/batch-")).click()`)
		b.until("its groups alone", `groups().length > 0 && groups().every(g => g.dataset.scope.startsWith("root/storm/batch-"))`)
		b.text(`groups()[0].click()`)
		guilty := line(t, "storm/storm.go", "func (s *storm) parkUntilReleased", "vthread.Park()")
		b.until("the guilty line", fmt.Sprintf(`document.querySelector("#stack .frames").innerText.includes(%q)`, guilty))
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
