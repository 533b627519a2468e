package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A Redactor hides parts of texts of observed processes. It stands where texts come from: [Redactor.Reader] makes a reader of a flight file give no other, so that
// snapshots, frames, recordings, profiles and all that exporters are told have them hidden already. The zero value hides nothing.
type Redactor struct {
	rules []rule
	key   [32]byte // of tags

	mu struct {
		sync.Mutex
		known map[textKey]string
	}
}

type textKey struct {
	kind flight.TextKind
	text string
}

// maxKnown bounds the texts that are remembered.
const maxKnown = 1 << 16

// A rule hides what an expression matches in texts of some kinds.
type rule struct {
	text  string
	kinds []flight.TextKind // nil: all
	match *regexp.Regexp
	tag   bool // equal texts get equal tags
}

// Bounds of rules.
const (
	maxRules      = 100
	maxExpression = 1000
)

// fields are the words of rules: those of the filter language.
var fields = []struct {
	name  string
	about string
	kinds []flight.TextKind
}{
	{"name", "names of threads", []flight.TextKind{flight.TextThread}},
	{"scope", "names of scopes", []flight.TextKind{flight.TextScope}},
	{"blocker", "names of locks, queues and what else is waited for", []flight.TextKind{flight.TextBlocker}},
	{"address", "addresses of sockets", []flight.TextKind{flight.TextAddress}},
	{"label", "values of the profiler's labels", []flight.TextKind{flight.TextLabel}},
	{"text", "any other text: of events of the program's own, names of schedulers and thread-local variables", []flight.TextKind{flight.TextOther}},
	{"any", "all of these", nil},
}

// Fields returns the words that rules may begin with, and what each is, for help and documentation.
func Fields() (rows [][2]string) {
	for _, f := range fields {
		rows = append(rows, [2]string{f.name, f.about})
	}
	return rows
}

// ParseRules returns what hides texts by rules of the form FIELD=~/EXPRESSION/FLAGS. The expression is of package regexp, in which \/ is a slash; what it matches
// is replaced by [redacted]. Flags are i (whatever the case) and t (by a tag, so that equal texts stay equal within one run, and nothing more is known of them).
func ParseRules(rules ...string) (*Redactor, error) {
	r := &Redactor{}
	rand.Read(r.key[:]) // never fails
	if len(rules) > maxRules {
		return nil, fmt.Errorf("redact: %d rules: at most %d", len(rules), maxRules)
	}
	for _, text := range rules {
		parsed, err := parseRule(text)
		if err != nil {
			return nil, Refuse(fmt.Errorf("redact: %q: %w", clean(text, 80), err), `--redact 'name=~/card-\d+/'`)
		}
		r.rules = append(r.rules, parsed)
	}
	return r, nil
}

func parseRule(text string) (rule, error) {
	field, rest, ok := strings.Cut(text, "=~/")
	if !ok {
		return rule{}, errors.New("not of the form FIELD=~/EXPRESSION/")
	}
	at := slices.IndexFunc(fields, func(f struct {
		name  string
		about string
		kinds []flight.TextKind
	}) bool {
		return f.name == field
	})
	if at < 0 {
		var names []string
		for _, f := range fields {
			names = append(names, f.name)
		}
		return rule{}, fmt.Errorf("no field %q: want %s", clean(field, 20), strings.Join(names, ", "))
	}
	end := strings.LastIndexByte(rest, '/')
	if end < 0 {
		return rule{}, errors.New("no / at the end of the expression")
	}
	if end == 0 {
		return rule{}, errors.New("an empty expression")
	}
	if end > maxExpression {
		return rule{}, fmt.Errorf("an expression of %d bytes: at most %d", end, maxExpression)
	}
	out := rule{text: text, kinds: fields[at].kinds}
	expression := strings.ReplaceAll(rest[:end], `\/`, `/`)
	for _, c := range rest[end+1:] {
		switch c {
		case 'i':
			expression = "(?i:" + expression + ")"
		case 't':
			out.tag = true
		default:
			return rule{}, fmt.Errorf("no flag %q: want i or t", string(c))
		}
	}
	match, err := regexp.Compile(expression)
	if err != nil {
		return rule{}, err
	}
	if match.MatchString("") {
		return rule{}, errors.New("an expression that matches nothing at all")
	}
	out.match = match
	return out, nil
}

// Rules returns the rules as they were given.
func (r *Redactor) Rules() (rules []string) {
	for i := range r.rules {
		rules = append(rules, r.rules[i].text)
	}
	return rules
}

// On reports whether it hides anything.
func (r *Redactor) On() bool { return r != nil && len(r.rules) > 0 }

// Text returns a text of a kind without what is hidden. It is the one function that decides: all others call it. What kind a [flight.TextUnknown] has nobody can
// tell any more, so it is asked every rule.
func (r *Redactor) Text(kind flight.TextKind, s string) string {
	if !r.On() || s == "" {
		return s
	}
	key := textKey{kind, s}
	r.mu.Lock()
	known, ok := r.mu.known[key]
	r.mu.Unlock()
	if ok {
		return known
	}
	out := s
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.kinds != nil && kind != flight.TextUnknown && !slices.Contains(rule.kinds, kind) {
			continue
		}
		if !rule.tag {
			out = rule.match.ReplaceAllLiteralString(out, "[redacted]")
			continue
		}
		out = rule.match.ReplaceAllStringFunc(out, r.tag)
	}
	r.mu.Lock()
	if len(r.mu.known) >= maxKnown || r.mu.known == nil {
		r.mu.known = map[textKey]string{}
	}
	r.mu.known[key] = out
	r.mu.Unlock()
	return out
}

// tag stands for a text. Its key lives as long as the redactor: a list of possible texts does not tell which one it was.
func (r *Redactor) tag(s string) string {
	h := hmac.New(sha256.New, r.key[:])
	h.Write([]byte(s))
	return "[redacted:" + hex.EncodeToString(h.Sum(nil)[:4]) + "]"
}

// Reader makes a reader give no other texts. Call it before the reader is used.
func (r *Redactor) Reader(f *flight.Reader) {
	if r.On() {
		f.Rewrite(r.Text)
	}
}

// Profile hides texts in a profile of package runtime/pprof: the values of labels, whose names tell which rules are asked, and comments. Without rules it returns what it was
// given.
func (r *Redactor) Profile(b []byte) ([]byte, error) {
	if !r.On() {
		return b, nil
	}
	p, err := profile.Parse(bytes.NewReader(b), profile.MostMemory)
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	for _, s := range p.Sample {
		for name, values := range s.Label {
			for i, v := range values {
				values[i] = r.label(name, v)
			}
		}
	}
	for i, c := range p.Comments {
		p.Comments[i] = r.Text(flight.TextUnknown, c)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return out.Bytes(), nil
}

// label hides in the value of a label: vtscope's own labels have names of threads and scopes.
func (r *Redactor) label(name, value string) string {
	value = r.Text(flight.TextLabel, value)
	name = strings.TrimPrefix(name, "vtscope.") // which has a scope in it
	switch {
	case strings.Contains(name, "scope"):
		return r.Text(flight.TextScope, value)
	case strings.Contains(name, "thread") || strings.Contains(name, "name"):
		return r.Text(flight.TextThread, value)
	}
	return r.Text(flight.TextOther, value)
}
