//go:build unix

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// launch starts a program that ends when its standard input does, and returns its pid.
func launch(t *testing.T, bin, dir, program string, args ...string) int {
	t.Helper()
	return launchHeld(t, bin, dir, program, append(args, "-exit-with-stdin")...)
}

// launchHeld is launch for a program that ends with its standard input anyway.
func launchHeld(t *testing.T, bin, dir, program string, args ...string) int {
	t.Helper()
	c := exec.Command(filepath.Join(bin, program), args...)
	c.Env = append(os.Environ(), "VTSCOPE_DIR="+dir)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if _, err := said.ReadString('\n'); err != nil {
		t.Errorf("%s said nothing: %v", program, err)
	}
	drained := make(chan struct{})
	go func() { io.Copy(io.Discard, said); close(drained) }()
	t.Cleanup(func() {
		in.Close()
		<-drained
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	})
	return c.Process.Pid
}

// Programs in trouble are found, and a click on a finding shows its scope and the group of its threads.
func TestAFindingLeadsToItsScopeAndGroup(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	url := serve(t, dir)
	for _, p := range []struct {
		program string
		checks  map[string]string // the scope that the view has after a click, "": none to go to
		worst   string
	}{
		{"deadlock -kind locks", map[string]string{"deadlock": "root"}, "error"},
		{"trouble -kind victims", map[string]string{"pinned": "-"}, "warning"},
		{"trouble -kind queue", map[string]string{"unbounded-queue": "root/requests/orders", "scope-growth": "root/requests/orders"}, "warning"},
		{"leak -rate 1000", map[string]string{"holder-gone": "root/server", "scope-growth": "root/server", "unscoped": "root"}, "error"},
		{"trouble -kind spawn", map[string]string{"spawn-storm": "root/requests/orders"}, "warning"},
	} {
		b.step(p.program, func() {
			words := strings.Fields(p.program)
			pid := launch(t, bin, dir, words[0], words[1:]...)
			b.do(chromedp.Navigate(fmt.Sprintf("%s/#process=%d&findings=all", url, pid)), chromedp.Reload())
			for check, scope := range p.checks {
				row := fmt.Sprintf(`#findings li[data-check="%s"]`, check)
				b.until("a finding of "+check, fmt.Sprintf(`document.querySelector(%q)`, row))
				b.until("its page", fmt.Sprintf(`document.querySelector(%q).textContent.includes("docs/findings/%s.md")`, row, check))
				if scope == "-" { // who holds a carrier may do something else by now
					b.until("that it leads somewhere", fmt.Sprintf(`!document.querySelector(%q).disabled`, row+" button.finding"))
					b.press("where carriers were held", row+` .more button.link`)
					b.until("the place among the pins", `document.querySelector("#pins tr.revealed, #pins.revealed") !== null`)
					continue
				}
				b.press("the finding", row+" button") // others come, and move it
				b.until("its scope", fmt.Sprintf(`chosen("#scopes")?.dataset.path === %q`, scope))
				b.until("its group", `chosen("#groups") && location.hash.includes("group=")`)
				b.until("what to do, at once", fmt.Sprintf(`/What to do: .{20}/.test(document.querySelector(%q).innerText)`, row))
			}
			b.until("how bad it is", fmt.Sprintf(`document.querySelector("#findings h2 .severity-%s")`, p.worst))
			if *update {
				if err := os.WriteFile(filepath.Join(os.TempDir(), "findings-"+strings.ReplaceAll(p.program, " ", "")+".png"), b.shot(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	b.step("a healthy program", func() {
		pid := launch(t, bin, dir, "trouble")
		b.do(chromedp.Navigate(fmt.Sprintf("%s/#process=%d", url, pid)), chromedp.Reload())
		b.until("no finding", `document.querySelector("#findings .empty")?.textContent === "None: the checks find nothing."`)
		b.until("live", `document.querySelector("#status")?.textContent === "LIVE"`)
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
