package dump

import (
	"bytes"
	"encoding/xml"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestMarkdownIsForAnIssue(t *testing.T) {
	s := shopSample()
	s.Complete, s.Incomplete = false, []string{"12 records are left out"}
	var b bytes.Buffer
	if err := Markdown(&b, s, MarkdownOptions{Top: 3}); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.md", b.Bytes())
	s.Scopes[1].Name, s.Groups[0].Blocker, s.Process.Program = "a|b<script>`", "</summary>", "*x*"
	s.Stacks[0].Frames[1].Func = "```\n<b>"
	b.Reset()
	if err := Markdown(&b, s, MarkdownOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.Contains(out, "<script") || strings.Count(out, "```")%2 != 0 || strings.Contains(out, "a|b") || strings.Count(out, "</summary>") != len(s.Groups) {
		t.Errorf("names change the page:\n%s", out)
	}
}

func TestDotMergesCallPaths(t *testing.T) {
	s := shopSample()
	var b bytes.Buffer
	if err := Dot(&b, s, DotOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.dot", b.Bytes())
	for _, nodes := range []int{0, -1, 3} {
		b.Reset()
		big := hugeSnapshot()
		big.Stacks[0].Frames[0].Func = `evil" -> "x\`
		if err := Dot(&b, big, DotOptions{Nodes: nodes}); err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^\t(n\d+) \[`).FindAllStringSubmatch(b.String(), -1) {
			known[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`(?m)^\t(n\d+) -> (n\d+) `).FindAllStringSubmatch(b.String(), -1) {
			if !known[m[1]] || !known[m[2]] {
				t.Errorf("%d nodes: an edge to nowhere: %s", nodes, m[0])
			}
		}
		if want := map[int]int{0: 150, 3: 3}[nodes]; want > 0 && len(known) != want {
			t.Errorf("got %d nodes, want %d", len(known), want)
		}
	}
}

func TestGraphvizDrawsTheCallPaths(t *testing.T) {
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("no dot command here: install graphviz (make test-needs does)")
	}
	big := hugeSnapshot()
	big.Stacks[0].Frames[0].Func = `evil" -> "x\<&>`
	for name, s := range map[string]*Snapshot{"shop": shopSample(), "huge": big} {
		var b bytes.Buffer
		if err := Dot(&b, s, DotOptions{}); err != nil {
			t.Fatal(err)
		}
		nodes := len(regexp.MustCompile(`(?m)^\tn\d+ \[`).FindAll(b.Bytes(), -1))
		edges := len(regexp.MustCompile(`(?m)^\tn\d+ -> n\d+ `).FindAll(b.Bytes(), -1))
		cmd := exec.CommandContext(t.Context(), dot, "-Tsvg")
		cmd.Stdin = &b
		var svg, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &svg, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: dot: %v: %s", name, err, errs.String())
		}
		drawn, lines := strings.Count(svg.String(), `class="node"`), strings.Count(svg.String(), `class="edge"`)
		if drawn != nodes || lines != edges || nodes < 5 {
			t.Errorf("%s: got %d nodes and %d edges drawn, want %d and %d", name, drawn, lines, nodes, edges)
		}
		if err := xml.Unmarshal(svg.Bytes(), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
