package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Error tells what is wrong with a filter, and where.
type Error struct {
	Text string
	At   int // byte of Text
	Len  int // bytes that are wrong; 0 at the end
	Why  string
	Try  string // what would be right; "" if there is nothing to say
}

// Error is one line. [Error.Point] shows the place.
func (e *Error) Error() string {
	return fmt.Sprintf("filter: character %d: %s", utf8.RuneCountInString(e.Text[:e.At])+1, e.Why)
}

// Point returns the filter with a line below that points to what is wrong, such as
//
//	state=parkd
//	      ^^^^^
func (e *Error) Point() string {
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, e.Text)
	n := utf8.RuneCountInString(e.Text[e.At:min(e.At+e.Len, len(e.Text))])
	return shown + "\n" + strings.Repeat(" ", utf8.RuneCountInString(e.Text[:e.At])) + strings.Repeat("^", max(n, 1))
}

// A Filter is a parsed filter. The zero value and nil match every thread.
type Filter struct{ root node }

// A node is a part of a filter.
type node interface {
	match(m *Matcher, row *Row) bool
	// write writes the node as it is parsed again; within is the precedence of what is around it.
	write(b *strings.Builder, within int)
}

// The precedences of operators.
const (
	loose = iota
	inOr
	inAnd
	inNot
)

type (
	anyOf []node
	allOf []node
	not   struct{ of node }
	term  struct {
		field *Field
		op    string
		value string
		// What value is:
		number  int64
		pattern *regexp.Regexp // of = and != with "*", and of ~ and !~
		slot    int            // of the matcher's memory
	}
	search struct { // a word alone
		value   string
		pattern *regexp.Regexp
		slot    int
	}
)

const (
	maxText  = 4096
	maxDepth = 64
	maxTerms = 256
)

// A language is what can be asked, in the one grammar.
type language struct {
	fields []Field
	labels bool // label:KEY too
}

// Parse reads a filter. An empty one matches every thread. The error is an [*Error].
func Parse(s string) (*Filter, error) { return parse(s, &language{Fields, true}) }

func parse(s string, l *language) (*Filter, error) {
	p := &parser{text: s, language: l}
	if len(s) > maxText {
		return nil, &Error{Text: s[:maxText], At: maxText, Why: fmt.Sprintf("a filter has at most %d bytes", maxText)}
	}
	if !utf8.ValidString(s) {
		at := 0
		for at < len(s) {
			r, n := utf8.DecodeRuneInString(s[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, &Error{Text: strings.ToValidUTF8(s, "?"), At: at, Len: 1, Why: "not UTF-8"}
	}
	p.skip()
	if p.at == len(s) {
		return &Filter{}, nil
	}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(s) {
		return nil, p.wrong(p.at, 1, "a closing parenthesis without an opening one", "")
	}
	return &Filter{root}, nil
}

type parser struct {
	language *language
	text     string
	at       int
	terms    int
}

func (p *parser) wrong(at, n int, why, try string) *Error {
	return &Error{Text: p.text, At: at, Len: n, Why: why, Try: try}
}

func (p *parser) skip() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

func (p *parser) or(depth int) (node, error) {
	var all anyOf
	for {
		n, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		if all = append(all, n); !p.keyword("or") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) and(depth int) (node, error) {
	var all allOf
	for {
		n, err := p.unary(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		if p.keyword("and") {
			continue
		}
		if p.at == len(p.text) || p.text[p.at] == ')' || p.isKeyword("or") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) unary(depth int) (node, error) {
	if depth > maxDepth {
		return nil, p.wrong(p.at, 1, fmt.Sprintf("more than %d levels", maxDepth), "")
	}
	switch {
	case p.at == len(p.text):
		return nil, p.wrong(p.at, 0, "a condition is missing", "FIELD=VALUE, or a word to look for")
	case p.isKeyword("or"), p.isKeyword("and"):
		return nil, p.wrong(p.at, 2, "a condition is missing before this", `put the word in quotes to look for it`)
	case p.keyword("not"), p.char('-'):
		of, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return not{of}, nil
	case p.text[p.at] == ')':
		return nil, p.wrong(p.at, 1, "a condition is missing before this", "")
	}
	open := p.at
	if p.char('(') {
		n, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.char(')') {
			return nil, p.wrong(open, 1, "this parenthesis is not closed", "")
		}
		return n, nil
	}
	return p.term()
}

// char takes c, and what space follows, if it is next.
func (p *parser) char(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		p.skip()
		return true
	}
	return false
}

func (p *parser) isKeyword(w string) bool {
	rest := p.text[p.at:]
	if !strings.HasPrefix(rest, w) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest[len(w):])
	return len(rest) == len(w) || unicode.IsSpace(r) || r == '(' || r == ')'
}

func (p *parser) keyword(w string) bool {
	if !p.isKeyword(w) {
		return false
	}
	p.at += len(w)
	p.skip()
	return true
}

// operators, the longer ones first.
var operators = []string{"!=", "!~", ">=", "<=", "=", "~", ">", "<"}

func (p *parser) term() (node, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, p.wrong(p.at, 1, fmt.Sprintf("more than %d conditions", maxTerms), "")
	}
	begin := p.at
	if p.text[p.at] != '"' {
		name := p.bare("=~!<>")
		for _, op := range operators {
			switch {
			case !strings.HasPrefix(p.text[p.at:], op):
			case name == "":
				return nil, p.wrong(begin, len(op), "a field is missing before this", "FIELD"+op+"VALUE, or the text in quotes to look for it")
			default:
				p.at += len(op)
				return p.compare(begin, name, op)
			}
		}
		p.at = begin
	}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	if value == "" {
		return nil, p.wrong(begin, p.at-begin, "nothing to look for", "")
	}
	return &search{value: value, pattern: regexp.MustCompile("(?i)" + regexp.QuoteMeta(value)), slot: p.terms}, nil
}

// bare takes a word up to a space, a parenthesis, a quote or one of stop.
func (p *parser) bare(stop string) string {
	begin := p.at
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if unicode.IsSpace(r) || strings.ContainsRune(`()"`, r) || strings.ContainsRune(stop, r) {
			break
		}
		p.at += n
	}
	return p.text[begin:p.at]
}

// value takes a word or a quoted text, and the space after it.
func (p *parser) value() (string, error) {
	begin := p.at
	if p.at == len(p.text) || p.text[p.at] != '"' {
		v := p.bare("")
		if v == "" {
			what, n := "a value is missing", 0
			if p.at < len(p.text) {
				what, n = "a value is missing before this", 1
			}
			return "", p.wrong(p.at, n, what, `a word, or a text in quotes: "…"`)
		}
		p.skip()
		return v, nil
	}
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			p.skip()
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.text) && (p.text[p.at+1] == '"' || p.text[p.at+1] == '\\'):
			p.at++
			b.WriteByte(p.text[p.at])
		default: // other backslashes are the pattern's
			b.WriteByte(c)
		}
	}
	return "", p.wrong(begin, len(p.text)-begin, "this quote is not closed", "")
}

// compare reads what follows an operator.
func (p *parser) compare(begin int, name, op string) (node, error) {
	f := p.language.named(name)
	if f == nil {
		return nil, p.wrong(begin, len(name), fmt.Sprintf("there is no field %q", name), didYouMean(name, p.language.names()))
	}
	at := p.at
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	t := &term{field: f, op: op, value: value, slot: p.terms}
	n := len(strings.TrimRightFunc(p.text[at:p.at], unicode.IsSpace))
	if why, try := t.prepare(); why != "" {
		return nil, p.wrong(at, n, why, try)
	}
	return t, nil
}

// prepare makes the value what the field wants, or says why it is wrong.
func (t *term) prepare() (why, try string) {
	f := t.field
	ordered := strings.ContainsAny(t.op, "<>")
	pattern := t.op == "~" || t.op == "!~"
	switch {
	case f.kind == duration || f.kind == number:
		if pattern {
			return fmt.Sprintf("%s is no text: ~ does not work", f.Name), "= != < > <= >="
		}
		if f.kind == duration {
			d, err := time.ParseDuration(t.value)
			if err != nil {
				return fmt.Sprintf("%q is no duration", t.value), "a number with a unit, such as 30s, 5m or 1h30m"
			}
			t.number = int64(d)
			return "", ""
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(t.value, "#"), 10, 64)
		if err != nil {
			return fmt.Sprintf("%q is no number", t.value), ""
		}
		t.number = n
		return "", ""
	case ordered:
		return fmt.Sprintf("%s is a text: %s does not work", f.Name, t.op), "= != ~ !~"
	case pattern:
		re, err := regexp.Compile(t.value)
		if err != nil {
			return "bad pattern: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "), "RE2 syntax, as of Go's package regexp"
		}
		t.pattern = re
		return "", ""
	}
	star := strings.Contains(t.value, "*")
	if f.kind == word && !star && !slices.Contains(f.Values, t.value) {
		return fmt.Sprintf("%s is never %q", f.Name, t.value), didYouMean(t.value, f.Values)
	}
	if star {
		t.pattern = regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(t.value), `\*`, ".*") + "$")
	}
	return "", ""
}

func (l *language) names() (names []string) {
	for i := range l.fields {
		names = append(names, l.fields[i].Name)
	}
	if l.labels {
		names = append(names, labelPrefix+"KEY")
	}
	return names
}

// didYouMean returns the words that are nearest to a wrong one, or all of them.
func didYouMean(wrong string, words []string) string {
	best, least := "", 3
	for _, w := range words {
		if d := distance(strings.ToLower(wrong), w); d < least {
			best, least = w, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "one of " + strings.Join(words, ", ")
}

// distance is how many letters are to be changed, put in, or taken out.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d++
			}
			last = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// String returns the filter in its canonical form, which is parsed to the same.
func (f *Filter) String() string {
	if f == nil || f.root == nil {
		return ""
	}
	var b strings.Builder
	f.root.write(&b, loose)
	return b.String()
}

func writeAll(b *strings.Builder, all []node, between string, own, within int) {
	if within > own {
		b.WriteByte('(')
	}
	for i, n := range all {
		if i > 0 {
			b.WriteString(between)
		}
		n.write(b, own+1)
	}
	if within > own {
		b.WriteByte(')')
	}
}

func (a anyOf) write(b *strings.Builder, within int) { writeAll(b, a, " or ", inOr-1, within) }
func (a allOf) write(b *strings.Builder, within int) { writeAll(b, a, " ", inAnd-1, within) }

func (n not) write(b *strings.Builder, _ int) {
	b.WriteByte('-')
	n.of.write(b, inNot)
}

func (t *term) write(b *strings.Builder, _ int) {
	b.WriteString(t.field.Name + t.op + quoted(t.value))
}

func (s *search) write(b *strings.Builder, _ int) {
	b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.value) + `"`)
}

// quoted returns a value in quotes if it needs them.
func quoted(v string) string {
	plain := v != "" && v[0] != '"' && !strings.ContainsFunc(v, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`()"`, r) })
	if plain {
		return v
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
}
