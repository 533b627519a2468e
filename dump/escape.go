package dump

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PrintableText is [Printable] for a text of several lines: their ends and tabs stay.
func PrintableText(text []byte) []byte {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		line, end := strings.CutSuffix(line, "\n")
		for i, field := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Printable(field))
		}
		if end {
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}

// EscapeJSON returns a writer of JSON text to w that writes the characters of strings which would change a terminal, or the order in which it shows
// text, as escapes: package encoding/json leaves U+007F to U+009F and the marks of bidirectional text as they are. The values stay the same, but that
// bytes which are no UTF-8 become U+FFFD. The last bytes of what is written must be whole characters, as those of JSON are.
func EscapeJSON(w io.Writer) io.Writer { return &escaper{to: w} }

type escaper struct {
	to   io.Writer
	rest []byte // the beginning of a character
	out  []byte
}

func (e *escaper) Write(p []byte) (int, error) {
	text := p
	if len(e.rest) > 0 {
		text = append(e.rest, p...)
	}
	e.out, e.rest = e.out[:0], nil
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			text = text[1:]
			if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' || c == '\r' {
				e.out = append(e.out, c)
			} else {
				e.out = fmt.Appendf(e.out, `\u%04x`, c)
			}
			continue
		}
		if !utf8.FullRune(text) {
			e.rest = append([]byte(nil), text...)
			break
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			e.out = append(e.out, `\ufffd`...)
		case r < 0xa0 || unicode.Is(unicode.Bidi_Control, r):
			e.out = fmt.Appendf(e.out, `\u%04x`, r)
		default:
			e.out = append(e.out, text[:n]...)
		}
		text = text[n:]
	}
	if _, err := e.to.Write(e.out); err != nil {
		return 0, err
	}
	return len(p), nil
}
