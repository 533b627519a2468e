package trigger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
)

const (
	maxText     = 500
	maxDuration = 24 * time.Hour
)

// Parse reads the text of a rule. An error is a [*ParseError].
func Parse(text string) (Rule, error) {
	p := &parser{text: text}
	if len(text) > maxText {
		return Rule{}, &ParseError{text[:maxText], maxText, "at most " + strconv.Itoa(maxText) + " characters"}
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '\ufffd' || r >= 0x7f && r < 0xa0 }); i >= 0 {
		return Rule{}, &ParseError{text, i, "text on one line"}
	}
	if err := p.split(); err != nil {
		return Rule{}, err
	}
	return p.rule()
}

// ParseRules reads several rules.
func ParseRules(texts ...string) ([]Rule, error) {
	rules := make([]Rule, len(texts))
	for i, text := range texts {
		var err error
		if rules[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// A token is a word, or ">".
type token struct {
	text   string
	at     int
	quoted bool
}

type parser struct {
	text   string
	tokens []token
	next   int
}

// split cuts the text into tokens.
func (p *parser) split() error {
	for at := 0; at < len(p.text); {
		rest := p.text[at:]
		switch {
		case rest[0] == ' ':
			at++
		case rest[0] == '>':
			p.tokens = append(p.tokens, token{">", at, false})
			at++
		case rest[0] == '"':
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return &ParseError{p.text, at, `another " at the end of the name`}
			}
			word, _ := strconv.Unquote(q) // it is quoted
			if !plain(word) {
				return &ParseError{p.text, at, "text on one line"}
			}
			p.tokens = append(p.tokens, token{word, at, true})
			at += len(q)
		default:
			n := strings.IndexAny(rest, " >\"")
			if n < 0 {
				n = len(rest)
			}
			p.tokens = append(p.tokens, token{rest[:n], at, false})
			at += n
		}
	}
	return nil
}

func plain(s string) bool {
	return strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\ufffd' || r >= 0x7f && r < 0xa0 })
}

// fail returns an error at the next token, or at the end.
func (p *parser) fail(want string) error {
	at := len(p.text)
	if p.next < len(p.tokens) {
		at = p.tokens[p.next].at
	}
	return &ParseError{p.text, at, want}
}

// word takes the next token if it is a word, "" if it is none.
func (p *parser) word() string {
	if p.next == len(p.tokens) || p.tokens[p.next].text == ">" && !p.tokens[p.next].quoted {
		return ""
	}
	p.next++
	return p.tokens[p.next-1].text
}

// take takes the next token if it is text.
func (p *parser) take(text string) bool {
	if p.next < len(p.tokens) && p.tokens[p.next].text == text && !p.tokens[p.next].quoted {
		p.next++
		return true
	}
	return false
}

func (p *parser) rule() (Rule, error) {
	info, err := p.name()
	if err != nil {
		return Rule{}, err
	}
	r := Rule{Name: info.Name}
	for _, part := range info.parts {
		if err := p.part(&r, part); err != nil {
			return Rule{}, err
		}
	}
	for p.next < len(p.tokens) {
		switch {
		case info.scoped && r.In == "" && p.take("in"):
			if r.In = p.word(); r.In == "" {
				return Rule{}, p.fail("a path of names of scopes, such as requests or requests/check*")
			}
		case info.lasting && r.For == 0 && p.take("for"):
			if r.For, err = p.duration(); err != nil {
				return Rule{}, err
			}
		default:
			return Rule{}, p.fail(p.rest(info, &r))
		}
	}
	return r, nil
}

// name takes the longest name of a rule that stands at the beginning.
func (p *parser) name() (*RuleInfo, error) {
	var best *RuleInfo
	words, reached := 0, 0 // reached is how far some name goes
	for i := range Rules {
		name := strings.Fields(Rules[i].Name)
		n := 0
		for n < len(name) && n < len(p.tokens) && p.tokens[n].text == name[n] && !p.tokens[n].quoted {
			n++
		}
		reached = max(reached, n)
		if n == len(name) && n > words {
			best, words = &Rules[i], n
		}
	}
	if best != nil {
		p.next = words
		return best, nil
	}
	p.next = reached
	var all []string
	for i := range Rules {
		if name := strings.Fields(Rules[i].Name); reached == 0 || reached < len(name) && p.tokens[0].text == name[0] {
			if next := name[reached]; !slices.Contains(all, next) {
				all = append(all, next)
			}
		}
	}
	return nil, p.fail("one of " + strings.Join(all, ", "))
}

// rest says what may stand where the rule goes on.
func (p *parser) rest(info *RuleInfo, r *Rule) string {
	var all []string
	if info.scoped && r.In == "" {
		all = append(all, "in PATH")
	}
	if info.lasting && r.For == 0 {
		all = append(all, "for DURATION")
	}
	return strings.Join(append(all, "the end"), ", or ")
}

func (p *parser) part(r *Rule, what part) (err error) {
	at := p.next
	again := func(want string) error { p.next = at; return p.fail(want) }
	switch what {
	case quantile:
		n, err := strconv.Atoi(strings.TrimPrefix(p.word(), "p"))
		if err != nil || n < 50 || n > 99 || p.tokens[at].text != "p"+strconv.Itoa(n) {
			return again("p50 to p99")
		}
		r.Quantile = n
	case above:
		if !p.take(">") {
			return p.fail(">")
		}
		r.Limit, err = p.duration()
	case more:
		if !p.take(">") {
			return p.fail(">")
		}
		at = p.next
		n, err := strconv.ParseUint(p.word(), 10, 31)
		if err != nil {
			return again("a number")
		}
		r.Count = int(n)
	case within:
		r.Within, err = p.duration()
	case check:
		if r.Of = p.word(); !slices.Contains(dump.CheckNames(), r.Of) {
			return again("one of " + strings.Join(dump.CheckNames(), ", "))
		}
	case event:
		if r.Of = p.word(); !strings.Contains(r.Of, ".") || quoted(r.Of) != r.Of {
			return again("the name of an event of the program's own, such as cart.Lost")
		}
	}
	return err
}

func (p *parser) duration() (time.Duration, error) {
	at := p.next
	d, err := time.ParseDuration(p.word())
	if err != nil || d <= 0 || d > maxDuration {
		p.next = at
		return 0, p.fail("a duration such as 500ms, 5s or 1m")
	}
	return d, nil
}
