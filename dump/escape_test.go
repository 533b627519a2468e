package dump_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
)

// hostile has what changes a terminal: an escape sequence in seven and in eight bits, a deletion, and marks that turn text around.
const hostile = "a\x1b]0;owned\x07b\u009b31mc\x7fd\u202ee\u2066f\u200fg\u061ch"

func TestJSONForATerminalIsEscapedAndMeansTheSame(t *testing.T) {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetIndent("", "\t")
	if err := e.Encode(map[string]string{hostile: "naïve 日本 \U0001f600 \u00a0" + hostile}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{1, 2, 3, 7, plain.Len()} { // also in the middle of a character
		var got bytes.Buffer
		w := dump.EscapeJSON(&got)
		for rest := plain.Bytes(); len(rest) > 0; {
			n, err := w.Write(rest[:min(step, len(rest))])
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		for _, r := range got.String() {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0x200f || r == 0x61c {
				t.Fatalf("steps of %d: %U is in %q", step, r, got.String())
			}
		}
		var want, have map[string]string
		if err := json.Unmarshal(plain.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got.Bytes(), &have); err != nil {
			t.Fatal(err)
		}
		if have[hostile] != want[hostile] {
			t.Errorf("steps of %d: got %q, want %q", step, have[hostile], want[hostile])
		}
	}
	var got bytes.Buffer
	dump.EscapeJSON(&got).Write([]byte("\"\xff\x80\"\n"))
	if got.String() != `"\ufffd\ufffd"`+"\n" {
		t.Errorf("no UTF-8: got %q", got.String())
	}
}

func TestATextOfSeveralLinesIsPrintable(t *testing.T) {
	if got, want := string(dump.PrintableText([]byte("one\ttwo\x1b[2J\n\n"+hostile))), "one\ttwo·[2J\n\na·]0;owned·b·31mc·d·e·f·g·h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextForATerminalIsCleanedWhereverItIsCut(t *testing.T) {
	text := "na\u00efve \u65e5\u672c\tx\r\n\x1b[1;31mred\x1b[0m \x1b[2J \x1b]0;t\a \x1b[" + strings.Repeat("1", 40) + "m \xff\x80 \u00a0" + hostile + "\n"
	for _, c := range []struct {
		colors bool
		want   string
	}{
		{false, "na\u00efve \u65e5\u672c\tx·\n·[1;31mred·[0m ·[2J ·]0;t· ·[" + strings.Repeat("1", 40) + "m ·· ·a·]0;owned·b·31mc·d·e·f·g·h\n"},
		{true, "na\u00efve \u65e5\u672c\tx·\n\x1b[1;31mred\x1b[0m ·[2J ·]0;t· ·[" + strings.Repeat("1", 40) + "m ·· ·a·]0;owned·b·31mc·d·e·f·g·h\n"},
	} {
		for step := 1; step <= len(text); step++ {
			var got strings.Builder
			w := dump.CleanText(&got, c.colors)
			for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
				if _, err := io.WriteString(w, rest[:min(step, len(rest))]); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != c.want {
				t.Fatalf("colors %t, steps of %d: got %q, want %q", c.colors, step, got.String(), c.want)
			}
		}
	}
	if got := string(dump.PrintableText([]byte("a\xe6\x97"))); got != "a·" {
		t.Errorf("a character without an end: got %q", got)
	}
}
