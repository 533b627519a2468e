package dump

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// PrintableText is [Printable] for a text of several lines: their ends and tabs stay.
func PrintableText(text []byte) []byte {
	var b bytes.Buffer
	c := cleaner{to: &b}
	_, _ = c.Write(text) // a buffer takes all
	if len(c.rest) > 0 {
		b.WriteRune('·')
	}
	return b.Bytes()
}

// CleanText returns a writer of text to w that does what [PrintableText] does. The sequences by
// which terminals change colors stay if there are colors. The last bytes of what is written must be
// whole characters.
func CleanText(w io.Writer, colors bool) io.Writer { return &cleaner{to: w, colors: colors} }

type cleaner struct {
	to     io.Writer
	colors bool
	rest   []byte // the beginning of a character, or of a sequence
	out    []byte
}

// longestColor is how many bytes a sequence has that changes colors.
const longestColor = 32

func (c *cleaner) Write(p []byte) (int, error) {
	text := p
	if len(c.rest) > 0 {
		text = append(c.rest, p...)
		c.rest = nil
	}
	c.out = c.out[:0]
	for len(text) > 0 {
		n := 0
		for n < len(text) && (text[n] >= ' ' && text[n] <= '~' || text[n] == '\n' || text[n] == '\t') {
			n++
		}
		c.out = append(c.out, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		if n, whole := colorOf(text); c.colors && (n > 0 || !whole) {
			if !whole {
				c.rest = bytes.Clone(text)
				break
			}
			c.out = append(c.out, text[:n]...)
			text = text[n:]
			continue
		}
		if !utf8.FullRune(text) {
			c.rest = bytes.Clone(text)
			break
		}
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '·'
		}
		c.out = utf8.AppendRune(c.out, r)
		text = text[n:]
	}
	if _, err := c.to.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// colorOf returns the length of the sequence that text begins with and that changes colors, 0 if
// there is none. whole is false if more of the text is needed to know.
func colorOf(text []byte) (n int, whole bool) {
	if text[0] != '\x1b' {
		return 0, true
	}
	for i := 1; i < min(len(text), longestColor); i++ {
		switch b := text[i]; {
		case i == 1:
			if b != '[' {
				return 0, true
			}
		case b == 'm':
			return i + 1, true
		case b != ';' && (b < '0' || b > '9'):
			return 0, true
		}
	}
	return 0, len(text) >= longestColor
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
			if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
				e.out = append(e.out, c)
			} else if c == '\r' {
				e.out = append(e.out, ' ') // between values: none is in a string
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
