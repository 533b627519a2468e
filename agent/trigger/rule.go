package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Rule says when a process is in trouble. [Rule.String] is its text, which [Parse] reads.
type Rule struct {
	Name     string        // of a row of [Rules]
	Quantile int           // of "queue delay": 50 to 99
	Limit    time.Duration // of those with "> DURATION"
	Count    int           // of those with "> N"
	Within   time.Duration // of "doubled in DURATION"
	Of       string        // of "finding CHECK" and "event NAME"
	In       string        // a path of names of scopes; "" for all
	For      time.Duration // how long it must be true
}

// A part is what a rule's text has after its name.
type part uint8

const (
	quantile part = iota // p99
	above                // > DURATION
	more                 // > N
	within               // DURATION
	check                // the name of a check of package dump
	event                // the name of an event of the program's own
)

var partWords = map[part]string{quantile: "pNN", above: "> DURATION", more: "> N", within: "DURATION", check: "CHECK", event: "NAME"}

// A RuleInfo is a row of the table of rules. Parser, help and docs derive from it.
type RuleInfo struct {
	Name    string
	About   string // when it is true, no full stop
	Example string
	parts   []part
	scoped  bool // "in PATH" may follow
	lasting bool // "for DURATION" may follow
	needs   need
	check   func(c *condition, l *look) (verdict, bool)
	of      string // the check of package dump that it is true by, "" if that is none or the rule names it
}

// Rules are all rules.
var Rules = []RuleInfo{
	{"park", "a thread has been parked, blocked or waiting for longer; sleeping does not count", "park > 5s in requests", []part{above}, true, true, needThreads, parked, ""},
	{"queued", "a runnable thread has waited for a carrier for longer", "queued > 1s", []part{above}, true, true, needThreads, queued, ""},
	{"queue delay", "so many in a hundred of the threads that a scheduler mounted within a second had waited for a carrier for longer, or none can be mounted", "queue delay p99 > 100ms for 10s", []part{quantile, above}, false, true, needSchedulers, queueDelay, ""},
	{"threads doubled in", "there are twice as many threads as so long before, and at least 100 more", "threads doubled in 1m", []part{within}, true, false, needThreads, doubled, ""},
	{"threads", "there are more threads", "threads > 100000 in requests", []part{more}, true, true, needThreads, tooMany, ""},
	{"pin", "a thread has held its carrier for longer while it blocked, or does", "pin > 1s", []part{above}, true, false, needThreads | needEvents, pinned, ""},
	{"monopoly", "a thread has computed for longer without a scheduling point", "monopoly > 1s", []part{above}, false, false, 0, found, "hog"},
	{"starving", "queued threads have found no free carrier for longer", "starving > 1s", []part{above}, false, true, 0, found, "carriers-held"},
	{"deadlock", "threads wait for each other in a circle", "deadlock", nil, false, true, 0, found, "deadlock"},
	{"finding", "a check of vtdump findings has found something", "finding scope-growth", []part{check}, false, false, 0, finding, ""},
	{"event", "the program has recorded an event, or the end of a span, of its own of that name", "event cart.Lost", []part{event}, false, false, needEvents, happened, ""},
	{"signal", "the program has got one of the signals that it records: package runtime/flight/signals", "signal", nil, false, false, needEvents, signalled, ""},
	{"panic", "the process has died of a thread's panic that nobody handled", "panic", nil, false, false, needEnd, panicked, ""},
	{"killed", "the process was ended by a signal, a panic, or an exit status that is not 0, as far as that is known", "killed", nil, false, false, needEnd, killed, ""},
	{"gone", "the process is gone without having closed its recorder, for whatever reason: a return from main that does not is one", "gone", nil, false, false, needEnd, gone, ""},
}

func infoOf(name string) *RuleInfo {
	if i := slices.IndexFunc(Rules, func(r RuleInfo) bool { return r.Name == name }); i >= 0 {
		return &Rules[i]
	}
	return nil
}

// Syntax returns, for example, "park > DURATION [in PATH] [for DURATION]".
func (i *RuleInfo) Syntax() string {
	words := []string{i.Name}
	for _, p := range i.parts {
		words = append(words, partWords[p])
	}
	if i.scoped {
		words = append(words, "[in PATH]")
	}
	if i.lasting {
		words = append(words, "[for DURATION]")
	}
	return strings.Join(words, " ")
}

// String returns the rule's text. There is one for all ways to write it.
func (r Rule) String() string {
	words := []string{r.Name}
	if info := infoOf(r.Name); info != nil {
		for _, p := range info.parts {
			switch p {
			case quantile:
				words = append(words, "p"+strconv.Itoa(r.Quantile))
			case above:
				words = append(words, "> "+duration(r.Limit))
			case more:
				words = append(words, "> "+strconv.Itoa(r.Count))
			case within:
				words = append(words, duration(r.Within))
			case check, event:
				words = append(words, r.Of)
			}
		}
	}
	if r.In != "" {
		words = append(words, "in "+quoted(r.In))
	}
	if r.For > 0 {
		words = append(words, "for "+duration(r.For))
	}
	return strings.Join(words, " ")
}

// duration writes "1m" where [time.Duration] writes "1m0s".
func duration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// quoted writes a word as it is, if it can be read so.
func quoted(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '>' || r == '"' || r == '\\' || r > '~' }) {
		return strconv.Quote(s)
	}
	return s
}

// matches reports whether the scope of a path is in pattern: names joined by "/" that stand one after the other in the path, in which "*" is any text.
func matches(pattern string, path []string) bool {
	if pattern == "" {
		return true
	}
	want := strings.Split(pattern, "/")
	for at := range path {
		if len(path)-at < len(want) {
			break
		}
		all := true
		for i, w := range want {
			if !fits(w, path[at+i]) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// fits reports whether a name is pattern, in which "*" is any text. It takes time in proportion to the product of the lengths at most.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, p)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}

// A ParseError says what is wrong with a rule's text, and where.
type ParseError struct {
	Text string
	At   int // bytes from the beginning
	Want string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("rule %q: at character %d: want %s", e.Text, len([]rune(e.Text[:e.At]))+1, e.Want)
}

// Pointer returns the text, and below it a mark at the character that is wrong with what is wanted there.
func (e *ParseError) Pointer() string {
	return e.Text + "\n" + strings.Repeat(" ", len([]rune(e.Text[:e.At]))) + "^ want " + e.Want
}
