//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// startProgram starts a command of bin that tells an address in its first line, and ends with its standard input.
func startProgram(t *testing.T, dir, command string, args ...string) (url string) {
	t.Helper()
	url, _ = startMortal(t, dir, command, args...)
	return url
}

// startMortal is startProgram for a program that the test may kill.
func startMortal(t *testing.T, dir, command string, args ...string) (url string, of *os.Process) {
	t.Helper()
	c := exec.Command(command, args...)
	c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); c.Process.Signal(os.Interrupt); c.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	i := strings.Index(line, "http://")
	if err != nil || i < 0 {
		t.Fatalf("%s said %q, %v; want its address", command, line, err)
	}
	return strings.TrimSpace(line[i:]), c.Process
}

// The page below a prefix: as a program serves it itself, and as vtserve passes on that of another agent. Its files, its websocket and its links are found there.
func TestThePageWorksBelowAPrefix(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	within := startProgram(t, dir, filepath.Join(bin, "within"))
	lives := func(prefix string) {
		b.Helper()
		b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
		b.until("its threads", `Number(document.querySelector("#threads")?.textContent.replaceAll(",", "")) >= 50`)
		b.until("documents come from below the prefix", fmt.Sprintf(`performance.getEntriesByType("resource").some(e => new URL(e.name).pathname.startsWith(%q))`, prefix+"api/v1/processes/"))
		b.until("and from nowhere else", fmt.Sprintf(`performance.getEntriesByType("resource").every(e => new URL(e.name).pathname.startsWith(%q))`, prefix))
	}
	b.step("inside a program", func() {
		b.do(chromedp.Navigate(within))
		lives("/admin/threads/")
		b.until("the licences", fmt.Sprintf(`document.querySelector('footer a[href="licences.txt"]')?.href.startsWith(%q)`, within))
	})
	b.step("of another agent", func() {
		near := startProgram(t, dir, filepath.Join(bin, "vtserve"), "--addr", "127.0.0.1:0", "--connect", within)
		name := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(within, "http://"), "/", "_"), "_")
		b.do(chromedp.Navigate(near))
		b.until("the process in the list, with its host", fmt.Sprintf(`[...document.querySelectorAll("#process option")].some(o => o.textContent.includes(%q))`, "on "+name))
		b.text(`(() => { const s = document.querySelector("#process"); s.value = [...s.options].find(o => o.textContent.includes(" on ")).value; s.dispatchEvent(new Event("change", {bubbles: true})); })()`)
		b.until("the page of the other agent", fmt.Sprintf(`location.pathname === %q`, "/remote/"+name+"/"))
		lives("/remote/" + name + "/")
		b.until("a way back", `document.querySelector(".brand a")?.getAttribute("href") === "../../"`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
