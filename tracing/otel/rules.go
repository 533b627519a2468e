package otel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rule says which scopes of a name become spans, and which of their threads. Of several rules, the first counts whose pattern fits.
//
// Whether a scope is kept is decided when it is closed: it is if it was sampled, or was slow, or one of its threads was pinned or has failed, or a scope within it is
// kept. A thread has a span if its scope has one, and it was sampled, slow or pinned or has failed itself.
type Rule struct {
	Scope   string        // a pattern for names, in which * stands for any text; "root" is that of threads without a scope
	Keep    float64       // the share of traces to sample, from 0 to 1
	Rate    float64       // how many traces are sampled in a second at most, on average; 0: any number
	Slow    time.Duration // from what duration on it is kept in any case; 0: none is
	Pinned  time.Duration // from what duration of a pin on; 0: none is
	Failed  bool          // if a thread panics or the deadline passes
	Threads float64       // the share of threads to sample, of scopes that are kept
	Slower  time.Duration // as Slow, of threads; 0: none is
	Most    int           // threads of a scope that have spans, at most
}

// DefaultRule is what counts where no rule fits, and what a rule begins with.
var DefaultRule = Rule{Scope: "*", Keep: 1, Rate: 100, Slow: time.Second, Pinned: 20 * time.Millisecond, Failed: true, Threads: 1, Slower: time.Second, Most: 100}

// ParseRules reads rules such as "requests: keep=0.01 slow=250ms; cache*: off; root: threads=0". Words are the fields of [Rule] in lower case; off is keep=0 slow=0
// pinned=0 failed=no, which keeps such a scope only if one within it is kept.
func ParseRules(text string) ([]Rule, error) {
	var all []Rule
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		r, err := parseRule(part)
		if err != nil {
			return nil, fmt.Errorf("sampling rule %q: %w", strings.TrimSpace(part), err)
		}
		all = append(all, r)
	}
	return all, nil
}

func parseRule(text string) (Rule, error) {
	r := DefaultRule
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return r, fmt.Errorf("want PATTERN: WORDS")
	}
	if r.Scope = strings.TrimSpace(text[:i]); r.Scope == "" {
		return r, fmt.Errorf("no pattern before the colon")
	}
	for word := range strings.FieldsSeq(text[i+1:]) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "keep":
			r.Keep, err = strconv.ParseFloat(value, 64)
		case "rate":
			r.Rate, err = strconv.ParseFloat(value, 64)
		case "slow":
			r.Slow, err = time.ParseDuration(value)
		case "pinned":
			r.Pinned, err = time.ParseDuration(value)
		case "slower":
			r.Slower, err = time.ParseDuration(value)
		case "threads":
			r.Threads, err = strconv.ParseFloat(value, 64)
		case "most":
			r.Most, err = strconv.Atoi(value)
		case "failed":
			if value != "yes" && value != "no" {
				err = fmt.Errorf("want yes or no")
			}
			r.Failed = value == "yes"
		case "off":
			if word != name {
				err = fmt.Errorf("it has no value")
			}
			r.Keep, r.Slow, r.Pinned, r.Failed, r.Slower, r.Threads = 0, 0, 0, false, 0, 0
		default:
			err = fmt.Errorf("want keep, rate, slow, pinned, failed, threads, slower, most or off")
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", word, err)
		}
	}
	return r, r.check()
}

func (r *Rule) check() error {
	switch {
	case !(r.Keep >= 0 && r.Keep <= 1):
		return fmt.Errorf("keep=%v: want a share from 0 to 1", r.Keep)
	case !(r.Threads >= 0 && r.Threads <= 1):
		return fmt.Errorf("threads=%v: want a share from 0 to 1", r.Threads)
	case !(r.Rate >= 0 && r.Rate <= 1e9):
		return fmt.Errorf("rate=%v: want a number from 0 to 1e9", r.Rate)
	case r.Slow < 0 || r.Pinned < 0 || r.Slower < 0:
		return fmt.Errorf("a negative duration")
	case r.Most < 0 || r.Most > maxThreads:
		return fmt.Errorf("most=%d: want a number from 0 to %d", r.Most, maxThreads)
	}
	return nil
}

// maxThreads is the largest that Most may be.
const maxThreads = 1000

// String returns the rule as [ParseRules] reads it.
func (r Rule) String() string {
	failed := "no"
	if r.Failed {
		failed = "yes"
	}
	return fmt.Sprintf("%s: keep=%v rate=%v slow=%v pinned=%v failed=%s threads=%v slower=%v most=%d",
		r.Scope, r.Keep, r.Rate, r.Slow, r.Pinned, failed, r.Threads, r.Slower, r.Most)
}

// fits reports whether a name fits a pattern.
func fits(pattern, name string) bool {
	first, rest, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		var part string
		if part, rest, any = strings.Cut(rest, "*"); !any {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
}

// A limiter lets so many pass in a second, on average, and as many at once.
type limiter struct {
	rate, tokens float64
	at           time.Duration
}

// take asks for one, at a time that only grows.
func (l *limiter) take(now time.Duration) bool {
	if l.rate == 0 {
		return true
	}
	most := max(l.rate, 1)
	if now > l.at {
		l.tokens = min(most, l.tokens+(now-l.at).Seconds()*l.rate)
		l.at = now
	}
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}
