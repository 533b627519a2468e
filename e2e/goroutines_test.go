//go:build linux

package e2e

import (
	"strconv"
	"strings"
	"testing"
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
