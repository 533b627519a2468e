//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A program that knows nothing of vtscope is shown by its goroutines, in words of theirs.
func TestAUserSeesTheGoroutinesOfAnyProgram(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	pid := launchHeld(t, bin, dir, "plain", "-each", "40")
	url := serve(t, dir, strconv.Itoa(pid))
	const said = `(document.querySelector("header").innerText + document.querySelector("main").innerText)`

	b.step("the first screen", func() {
		b.do(at(url, pid, ""))
		b.until("how many there are", `/^[0-9]{3} goroutines in [0-9]+ scopes/.test(document.querySelector(".total")?.innerText.replace(/\s+/g, " "))`)
		b.until("their stacks", `groups().length > 10 && document.querySelector("#groups").innerText.includes("main.locks")`)
		b.until("scopes that are go statements", `/main\.main main\.go:[0-9]+/.test(document.querySelector("#scopes").innerText)`)
		b.until("what cannot be judged", `document.querySelector("#findings").innerText.includes("cannot be judged")`)
		b.until("no word of threads and carriers", `!/\b(threads?|carriers?)\b/.test(`+said+`.replace(/carriers-held|os-threads?/g, ""))`)
		b.until("nothing that a recorder would tell", `!document.querySelector("#schedulers, #carriers, #events, .vitals")`)
		b.flawed("goroutines")
		b.audited("goroutines")
		b.screen("goroutines")
	})
	b.step("a goroutine", func() {
		b.openOne()
		b.until("its stack with the go statement", `document.querySelector("#thread").innerText.includes("created by main.")`)
		b.flawed("a goroutine")
		b.screen("goroutine")
	})
	b.step("who waits for whom", func() {
		b.do(at(url, pid, "&view=waits"))
		b.until("the locks, and that their holders are not known", `/40\s+wait for mutex 0x/.test(document.querySelector("#waits").innerText.replace(/\s+/g, " ")) && document.querySelector("#waits").innerText.includes("holders unknown")`)
		b.flawed("waits of goroutines")
		b.screen("goroutines-waits")
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}

// What a crash has printed is a page, and a program that nobody named is shown when it is chosen.
func TestAUserOpensACrashLogAndChoosesAProgram(t *testing.T) {
	b := openBrowser(t)
	bin, dir := build(t), flights(t)
	pid := launchHeld(t, bin, dir, "plain", "-each", "40")
	log := filepath.Join(t.TempDir(), "crash.log")
	crash := "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [sync.Mutex.Lock, 5 minutes]:\n" +
		"internal/sync.(*Mutex).lockSlow(0xc000012080)\n\t/go/src/internal/sync/mutex.go:149 +0x15\nmain.main()\n\t/src/main.go:12 +0x1d\n"
	for id := range 30 {
		crash += fmt.Sprintf("\ngoroutine %d [chan receive]:\nmain.worker()\n\t/src/worker.go:9 +0x1\ncreated by main.main in goroutine 1\n\t/src/main.go:7 +0x2\n", id+18)
	}
	if err := os.WriteFile(log, []byte(crash), 0o600); err != nil {
		t.Fatal(err)
	}
	url := serve(t, dir, "--local", log)

	b.step("the crash", func() {
		b.do(chromedp.Navigate(url + "/#process=crash.log"))
		b.until("its goroutines", `/31 goroutines/.test(document.querySelector(".total")?.innerText.replace(/\s+/g, " ")) && document.querySelector("#groups").innerText.includes("main.worker")`)
		b.until("the go statement", `document.querySelector("#scopes").innerText.includes("main.main main.go:7")`)
		b.until("that there is one moment", `document.querySelector("#timeline").innerText.includes("one moment alone")`)
		b.until("no pid that it has not", `!/pid 0\b/.test(document.body.innerText)`)
		b.flawed("a crash log")
		b.audited("a crash log")
		b.screen("crash")
		b.do(chromedp.Navigate(url + "/#process=crash.log&view=waits"))
		b.until("the address of the lock", `document.querySelector("#waits").innerText.includes("mutex 0xc000012080")`)
		b.until("a wait that is not known", `[...document.querySelectorAll("#waits .wait")].some((e) => e.innerText.trim() === "?")`)
	})
	b.step("another program", func() {
		b.do(chromedp.Navigate(url + "/#process=crash.log&panel=processes"))
		row := fmt.Sprintf(`.programs tr[data-program="%d"]`, pid)
		b.until("the program among the others", fmt.Sprintf(`document.querySelector(%q)?.innerText.includes("plain")`, row))
		b.audited("programs that are not followed")
		b.screen("programs")
		b.press("show", row+" button")
		b.until("its goroutines", `document.querySelector("#process").selectedOptions[0].innerText.includes("plain") && groups().length > 10 && document.querySelector("#groups").innerText.includes("main.locks")`)
		b.until("its key in the address", fmt.Sprintf(`/#process=%d-[0-9]+-goroutines/.test(location.hash)`, pid))
	})
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console says:\n%s", strings.Join(bad, "\n"))
	}
}
