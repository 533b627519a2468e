package agent

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
)

// An ask is what the parameters of a request say. Words and meanings are those of vtdump's flags.
type ask struct {
	given   map[string]bool
	format  string
	options dump.Options
	durable bool // the filter is of durable threads
	sort    *dump.DurableSort
	values  bool
	within  *filter.Filter // --scope
	group   string
	by      []dump.Dimension
	growth  time.Duration
	at      string
	from    string
	to      string
	of      string
	least   int
	checks  dump.CheckOptions
	text    dump.TextOptions
	top     int // -1: not given, 0: all
	depth   int
	during  time.Duration
	held    bool
	tape    *tapeForm // nil: the usual one
}

// A param is a parameter of the query. Parser, docs/openapi.json and docs/agent.md derive from the table.
type param struct {
	name   string
	about  string
	schema map[string]any // of its text
	many   bool           // it may be given again
	set    func(q *ask, v string) error
}

const (
	longestValue  = 4 << 10 // bytes of a parameter's value
	longestGrowth = time.Minute
	longestRecord = time.Hour
	usualRecord   = 10 * time.Second
	usualGrowth   = 2 * time.Second // of findings, as of vtdump findings
)

var (
	aText     = map[string]any{"type": "string", "maxLength": longestValue}
	aNumber   = map[string]any{"type": "integer", "minimum": 0}
	aSwitch   = map[string]any{"type": "boolean"}
	aDuration = map[string]any{"type": "string", "examples": []string{"500ms", "2s"}}
)

var params = []param{
	{"format", "how the answer is written; each path tells which it knows", aText, false, func(q *ask, v string) error { q.format = v; return nil }},
	{"filter", "only the threads that match: docs/filter.md has the language", aText, false,
		func(q *ask, v string) (err error) {
			parse := filter.Parse
			if q.durable {
				parse = filter.ParseDurable
			}
			q.options.Filter, err = parse(v)
			return
		}},
	{"sort", "the order of durable threads", map[string]any{"enum": durableSorts(), "default": dump.DurableSorts[0].Name}, false,
		func(q *ask, v string) (err error) { q.sort, err = dump.ParseDurableSort(v); return }},
	{"values", "tell values whole", aSwitch, false, func(q *ask, v string) (err error) { q.values, err = strconv.ParseBool(v); return }},
	{"scope", "only the scopes of this path and those below, such as requests/GET*", aText, false,
		func(q *ask, v string) (err error) { q.within, err = filter.InScope(v); return }},
	{"group", "only the threads of this group: its key or the beginning of it, or N for the Nth largest", aText, false,
		func(q *ask, v string) error { q.group = v; return nil }},
	{"similar", "stacks count as one if they have the same lines, functions or shape", aText, false,
		func(q *ask, v string) (err error) { q.options.Similar, err = dump.ParseSimilarity(v); return }},
	{"templates", "fold scopes whose names differ in numbers and ids only", aSwitch, false,
		func(q *ask, v string) (err error) { q.options.Templates, err = strconv.ParseBool(v); return }},
	{"by", "group by these, the first outermost, such as state,scope,stack; json and text only", aText, false,
		func(q *ask, v string) (err error) { q.by, err = dump.ParseBy(v); return }},
	{"growth", "look twice, so far apart, at most 1m, and tell what grew", aDuration, false,
		func(q *ask, v string) (err error) { q.growth, err = span(v, longestGrowth); return }},
	{"at", "the moment, such as -30s before now or the end, 12s after the beginning, a time, or Unix milliseconds: of a recording or a bundle with one any, of a process the newest that is kept and not after it, and of that groups alone", aText, false,
		func(q *ask, v string) error { q.at = v; return nil }},
	{"from", "the older moment, as at", aText, false, func(q *ask, v string) error { q.from = v; return nil }},
	{"to", "the newer moment, as at; now, or the end, without it", aText, false, func(q *ask, v string) error { q.to = v; return nil }},
	{"of", "the process, by key or pid, that the older moment is of; the same one without it", aText, false, func(q *ask, v string) error { q.of = v; return nil }},
	{"least", "changes of fewer threads, or scopes, count as the same", aNumber, false, func(q *ask, v string) (err error) { q.least, err = natural(v); return }},
	{"check", "NAME=N or NAME=off: check NAME finds from N on, or nothing; may be given again", aText, true,
		func(q *ask, v string) error { return setCheck(&q.checks, v) }},
	{"top", "show the N largest; 0 shows all", aNumber, false, func(q *ask, v string) (err error) { q.top, err = natural(v); return }},
	{"depth", "of text: frames of each stack; 0 shows all", aNumber, false, func(q *ask, v string) (err error) { q.depth, err = natural(v); return }},
	{"width", "of text: cut lines after so many columns, at least 40", aNumber, false,
		func(q *ask, v string) (err error) {
			if q.text.Width, err = natural(v); err == nil && q.text.Width < 40 {
				err = fmt.Errorf("want at least 40")
			}
			return
		}},
	{"internal", "of text: show the frames of vtscope's and Go's runtime too", aSwitch, false,
		func(q *ask, v string) (err error) { q.text.Internal, err = strconv.ParseBool(v); return }},
	{"used", "of text: tell of each scope what its threads that have ended used", aSwitch, false,
		func(q *ask, v string) (err error) { q.text.Used, err = strconv.ParseBool(v); return }},
	{"ascii", "of text: use no character beyond ASCII", aSwitch, false,
		func(q *ask, v string) (err error) { q.text.ASCII, err = strconv.ParseBool(v); return }},
	{"color", "of text: colour for a terminal", aSwitch, false,
		func(q *ask, v string) (err error) { q.text.Color, err = strconv.ParseBool(v); return }},
	{"for", "record so long, at most 1h; 10s without it", aDuration, false,
		func(q *ask, v string) (err error) { q.during, err = span(v, longestRecord); return }},
	{"as", "how a recording is written: vtr as it is; jfr and perfetto when it has ended, at most 5m", map[string]any{"enum": tapeNames(), "default": "vtr"}, false, setTape},
	{"held", "begin with what the process still knows of before", aSwitch, false,
		func(q *ask, v string) (err error) { q.held, err = strconv.ParseBool(v); return }},
}

// Parameters that go together.
var (
	inText    = []string{"format", "top", "depth", "width", "internal", "used", "ascii", "color"}
	inFold    = append([]string{"filter", "scope", "similar", "templates", "at"}, inText...)
	inWaits   = append([]string{"filter", "scope", "group", "similar", "templates"}, inText...)
	inDump    = append([]string{"by", "growth"}, inFold...)
	inDiff    = append([]string{"from", "to", "of", "similar", "templates", "least"}, inText...)
	inDurable = []string{"filter", "sort", "format", "top", "width", "ascii", "color"}
	inHistory = []string{"values", "format", "top", "width", "ascii", "color"}
	inChecks  = append([]string{"growth", "check"}, inText...)
)

func paramOf(name string) *param {
	i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &params[i]
}

// parseAsk reads the parameters of a request that a route takes. What it does not know it refuses: a word that is misspelt would else change nothing.
func parseAsk(r *http.Request, known []string) (*ask, error) {
	q := &ask{given: map[string]bool{}, format: "json", top: -1, depth: -1, durable: slices.Contains(known, "sort")}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refusal{http.StatusBadRequest, "the query cannot be read", "escape what is special in it, as in filter=state%3Dparked"}
	}
	for name, all := range values {
		p := paramOf(name)
		if p == nil || !slices.Contains(known, name) {
			try := "without parameters"
			if len(known) > 0 {
				try = "one of " + strings.Join(known, ", ")
			}
			return nil, refusal{http.StatusBadRequest, fmt.Sprintf("%q is no parameter of this path", short(name)), try}
		}
		if len(all) > 1 && !p.many || len(all) > 100 {
			return nil, refusal{http.StatusBadRequest, name + " is given more than once", name + ": " + p.about}
		}
		for _, v := range all {
			if len(v) > longestValue {
				return nil, refusal{http.StatusBadRequest, fmt.Sprintf("%s is %d bytes long, more than %d", name, len(v), longestValue), "a shorter one"}
			}
			if err := p.set(q, v); err != nil {
				return nil, wrongValue(p, v, err)
			}
		}
		q.given[name] = true
	}
	if q.within != nil {
		f, err := filter.All(q.within, q.options.Filter)
		if err != nil {
			return nil, refusal{http.StatusBadRequest, "scope and filter: " + err.Error(), "a shorter filter"}
		}
		q.options.Filter = f
	}
	q.text.Top, q.text.Depth = orUsual(q.top), orUsual(q.depth)
	return q, nil
}

// orUsual turns a number of the query into that of package dump: 0 means all here, and the default there.
func orUsual(n int) int {
	switch n {
	case -1:
		return 0
	case 0:
		return -1
	}
	return n
}

func natural(v string) (int, error) {
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("want a whole number")
	}
	return int(n), nil
}

func span(v string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 || d > most {
		return 0, fmt.Errorf("want a duration of more than 0 and at most %v, such as 500ms", most)
	}
	return d, nil
}

func setCheck(o *dump.CheckOptions, v string) error {
	if name, _, _ := strings.Cut(v, "="); dump.CheckOf(name) == nil {
		return fmt.Errorf("there is no check %q: want one of %s", short(name), strings.Join(dump.CheckNames(), ", "))
	}
	return o.Set(v)
}
