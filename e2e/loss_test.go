//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// little is a folder for flight files with room for a small one: its rings are few, and shared.
func little(t *testing.T, kilobytes int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small tmpfs")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(kilobytes<<10)); err != nil {
		t.Skipf("needs the right to mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// Goroutines that fight for the two rings that a small flight file has lose events: the time line is hatched where, its key says so, and the header how many.
func TestLossIsHatchedInTheTimeLine(t *testing.T) {
	b := openBrowser(t)
	dir := little(t, 3700)
	parade(t, dir, "-threads", "200", "-drivers", "0", "-flood", "4")
	b.do(chromedp.Navigate(serve(t, dir)))
	b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
	b.until("loss in the header", `document.querySelector("[data-vital=drops].bad")`)
	b.until("loss in the key", `[...document.querySelectorAll("#timeline figcaption .key")].some(k => k.innerText.includes("loss"))`)
	b.until("loss in words", `document.querySelector("#timeline [role=slider]").getAttribute("aria-label").includes("lost where it is hatched")`)
	// Hatching is of the colour of what is bad, on all three charts: in the charts without it there is none of that colour but in thin lines.
	const hatched = `(() => {
		const bad = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
		const probe = document.createElement("canvas").getContext("2d");
		probe.fillStyle = bad;
		probe.fillRect(0, 0, 1, 1);
		const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
		return [...document.querySelectorAll("#timeline canvas")].map(c => {
			const data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
			let n = 0;
			for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 40 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 60) n++;
			return n;
		});
	})()`
	b.until("hatching on each chart", hatched+`.every(n => n > 150)`)
	b.screen("loss")
	b.flawed("loss")
	if bad := b.complaints("willReadFrequently"); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
