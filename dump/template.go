package dump

import "strings"

// Template returns what names that differ in numbers and ids only have in common: "GET /cart/123" and "GET /cart/7" are "GET /cart/*". Words that are a number, a
// hexadecimal number of eight digits or more with a digit in it, or a UUID become "*", and so do the digits at the end of a word.
func Template(name string) string { return string(AppendTemplate(nil, name)) }

// AppendTemplate appends the [Template] of a name to b.
func AppendTemplate(b []byte, name string) []byte {
	for name != "" {
		n := 0
		for n < len(name) && !isBetween(name[n]) {
			n++
		}
		b = appendWord(b, name[:n])
		if n < len(name) {
			b = append(b, name[n])
			n++
		}
		name = name[n:]
	}
	return b
}

// isBetween reports whether a byte stands between words. The hyphen is a part of UUIDs.
func isBetween(c byte) bool { return strings.IndexByte(" /.,:;=#?&@|()[]{}<>\"'_", c) >= 0 }

func appendWord(b []byte, w string) []byte {
	if isID(w) {
		return append(b, '*')
	}
	head := strings.TrimRight(w, "0123456789")
	if len(head) == len(w) || len(w)-len(head) == 1 && strings.HasSuffix(head, "v") { // v1, v2: a version is no id
		return append(b, w...)
	}
	return append(append(b, head...), '*')
}

// isID reports whether a word is a number, a long hexadecimal one, or a UUID.
func isID(w string) bool {
	digits, hex, hyphens := 0, 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			hex++
		case c == '-':
			hyphens++
		default:
			return false
		}
	}
	return digits > 0 && (digits == len(w) || hyphens == 0 && len(w) >= 8 || hyphens == 4 && len(w) == 36)
}
