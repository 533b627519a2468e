package dump

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Thousands writes n as 1,000,412.
func Thousands[N int | uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	head := len(digits) % 3
	var b strings.Builder
	b.WriteString(sign + digits[:head])
	for i := head; i < len(digits); i += 3 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(digits[i : i+3])
	}
	return b.String()
}

// Count writes "1 thread", "1,204 threads".
func Count[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Span writes d with the two digits that matter, as 340ms, 1.2s, 31s, 2m10s, 3h5m, 12d.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	tenths := func(unit time.Duration, name string) string {
		t := (d + unit/20) / (unit / 10)
		if t >= 100 || t%10 == 0 {
			return strconv.FormatInt(int64((d+unit/2)/unit), 10) + name
		}
		return strconv.FormatInt(int64(t/10), 10) + "." + strconv.FormatInt(int64(t%10), 10) + name
	}
	pair := func(big time.Duration, bigName string, small time.Duration, smallName string) string {
		d := (d + small/2) / small * small
		s := strconv.FormatInt(int64(d/big), 10) + bigName
		if r := d % big / small; r != 0 {
			s += strconv.FormatInt(int64(r), 10) + smallName
		}
		return s
	}
	switch {
	case d <= 0:
		return "0s"
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case d < time.Millisecond-500*time.Nanosecond:
		return tenths(time.Microsecond, "µs")
	case d < time.Second-500*time.Microsecond:
		return tenths(time.Millisecond, "ms")
	case d < time.Minute-500*time.Millisecond:
		return tenths(time.Second, "s")
	case d < 10*time.Minute:
		return pair(time.Minute, "m", time.Second, "s")
	case d < time.Hour-30*time.Second:
		return strconv.FormatInt(int64((d+30*time.Second)/time.Minute), 10) + "m"
	case d < day:
		return pair(time.Hour, "h", time.Minute, "m")
	case d < 10*day:
		return pair(day, "d", time.Hour, "h")
	default:
		return strconv.FormatInt(int64(d/day+d%day/(day/2)), 10) + "d"
	}
}

// Printable returns s without what could change the terminal that prints it or the line it stands in: control and
// format characters and bytes that are not UTF-8 become "·".
func Printable(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

// Columns returns the columns that s takes in a terminal.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	}
	return 1
}

// cut shortens s to at most columns, with more at its end where something was cut.
func cut(s string, columns int, more string) string {
	if Columns(s) <= columns {
		return s
	}
	room := columns - Columns(more)
	if room < 0 {
		return ""
	}
	for i, r := range s {
		if room -= runeWidth(r); room < 0 {
			return s[:i] + more
		}
	}
	return s
}

// Cut shortens s to at most columns, with … at its end where something was cut.
func Cut(s string, columns int) string { return cut(s, columns, "…") }

// ASCII returns s without characters beyond ASCII: µ becomes u, and any other ?.
func ASCII(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'µ':
			return 'u'
		case r > '~':
			return '?'
		}
		return r
	}, s)
}

// ShortFunc takes the directories off the import path of a function: shop.(*Store).query. Of a path that ends in a major
// version it leaves the package's name, and no version: chi.(*Mux).ServeHTTP.
func ShortFunc(name string) string {
	if by, ok := strings.CutPrefix(name, createdBy); ok { // as Go's own dumps have the frame of the go statement
		return createdBy + ShortFunc(by)
	}
	end := strings.IndexByte(name, '[') // type arguments have import paths of their own
	if end < 0 {
		end = len(name)
	}
	slash := strings.LastIndexByte(name[:end], '/')
	last := name[slash+1:]
	if n := majorVersion(last); n > 0 && slash > 0 {
		return name[strings.LastIndexByte(name[:slash], '/')+1:slash] + last[n:]
	}
	return last
}

// majorVersion returns the length of the version that is the name of a function's package, v5 of v5.(*Mux).ServeHTTP, or 0.
func majorVersion(name string) int {
	n, _, ok := strings.Cut(name, ".")
	if !ok || len(n) < 2 || n[0] != 'v' || n[1] < '1' || strings.Trim(n[1:], "0123456789") != "" {
		return 0
	}
	return len(n)
}

const createdBy = "created by "

// baseName takes the directories off a file's path, of any system.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
