package main

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
)

// masks take from a line what differs from run to run.
var masks = []struct{ of, as string }{
	{`^\S+ \(pid \d+\)`, "PROGRAM"},
	{`\bgroup [0-9a-f]+`, "GROUP"},
	{`^\s*e\.g\. .*`, "EXAMPLES"}, // in the order in which they wait
	{`#\d+ `, "#N "},
	{`#\d+$`, "#N"},
	{`scope #N?\d*`, "SCOPE"},
	{`<?\b\d+(\.\d+)? ?(ns|µs|ms|s|m|h)\b`, "SPAN"},
	{`\b(sema|time|server)\.go:\d+`, "GO"}, // of Go's own
	{`\s+`, " "},
}

func masked(line string) string {
	for _, m := range masks {
		line = regexp.MustCompile(m.of).ReplaceAllString(line, m.as)
	}
	return strings.TrimSpace(line)
}

// The tutorial has the code of its programs, and what vtdump prints of them.
func TestTheTutorialIsAsItsReaderWillSeeIt(t *testing.T) {
	text, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?m)^## \d\. `).Split(string(text), -1)[1:]
	if len(sections) != 5 {
		t.Fatalf("the tutorial has %d steps", len(sections))
	}
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			program := regexp.MustCompile(`go run (\./fixtures/tutorial/\w+)`).FindStringSubmatch(section)
			call := regexp.MustCompile(`(?m)^    vtdump (.*)$`).FindStringSubmatch(section)
			code := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(section)
			output := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(section)
			if program == nil || call == nil || code == nil || output == nil {
				t.Fatal("no program, code, call or output")
			}
			if is, err := os.ReadFile("../../" + program[1] + "/main.go"); err != nil || string(is) != code[1] {
				t.Errorf("%s is another program than the tutorial's (%v)", program[1], err)
			}
			child := childtest.Start(t, program[1])
			ready := child.WaitFor(regexp.MustCompile(`prices: pid (\d+)(?:, (\S+))?\n`))
			if ready[2] != "" {
				asked := make(chan struct{})
				client := http.Client{Timeout: 2 * time.Minute}
				go func() {
					defer close(asked)
					if r, err := client.Get(ready[2]); err == nil { // it is killed before it answers
						r.Body.Close()
					}
				}()
				t.Cleanup(func() { <-asked; client.CloseIdleConnections() })
			}
			var want []string
			for line := range strings.Lines(output[1]) {
				want = append(want, masked(line))
			}
			var missing []string
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				r := vtdump(t, append([]string{"--width", "150"}, strings.Fields(strings.ReplaceAll(call[1], "4711", ready[1]))...)...)
				var got []string
				for line := range strings.Lines(r.out) {
					got = append(got, masked(line))
				}
				if missing = slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) }); len(missing) == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("vtdump %s does not print\n%s\nbut\n%s", call[1], strings.Join(missing, "\n"), r.out)
				}
			}
			child.Signal(os.Kill)
		})
	}
}
