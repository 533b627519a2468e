package trigger

import (
	"errors"
	"strings"
	"testing"
)

func TestRulesArePrintedAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"park > 5s in requests":               "park > 5s in requests",
		"  park>5s   in requests  for 60s":    "park > 5s in requests for 1m",
		"park > 5s for 1m in requests/check*": "park > 5s in requests/check* for 1m",
		`park > 1.5s in "my scope/x>y"`:       `park > 1.5s in "my scope/x>y"`,
		`park > 5s in "requests"`:             "park > 5s in requests",
		"queue delay p99 > 100ms for 10s":     "queue delay p99 > 100ms for 10s",
		"threads doubled in 60s":              "threads doubled in 1m",
		"threads doubled in 1h in requests":   "threads doubled in 1h in requests",
		"threads > 007":                       "threads > 7",
		"queued > 1000ms":                     "queued > 1s",
		"pin > 1s":                            "pin > 1s",
		"finding scope-growth":                "finding scope-growth",
		"event cart.Lost":                     "event cart.Lost",
		"deadlock for 2s":                     "deadlock for 2s",
		"panic":                               "panic",
	} {
		r, err := Parse(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: got %q, %v; want %q", text, r, err, want)
		}
	}
	for i := range Rules {
		r, err := Parse(Rules[i].Example)
		if err != nil || r.String() != Rules[i].Example || r.Name != Rules[i].Name {
			t.Errorf("example %q: got %q of %q, %v", Rules[i].Example, r, r.Name, err)
		}
		if s := Rules[i].Syntax(); !strings.HasPrefix(s, Rules[i].Name) {
			t.Errorf("%s: got syntax %q", Rules[i].Name, s)
		}
	}
}

func TestErrorsOfRulesPointAtTheCharacter(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "one of park, queued, queue, threads, pin"},
		{"prk > 5s", 0, "one of park"},
		{"park 5s", 5, ">"},
		{"park > ", 7, "a duration"},
		{"park > 5", 7, "a duration such as"},
		{"park > -5s", 7, "a duration"},
		{"park > 5s on requests", 10, "in PATH, or for DURATION, or the end"},
		{"park > 5s in", 12, "a path"},
		{"park > 5s in >", 13, "a path"},
		{"park > 5s in a in b", 15, "for DURATION, or the end"},
		{`park > 5s in "abc`, 13, `another "`},
		{"queue delay > 5s", 12, "p50 to p99"},
		{"queue delay p100 > 5s", 12, "p50 to p99"},
		{"queue delays", 6, "one of delay"},
		{"threads doubled 5s", 8, ">"},
		{"threads doubled in x", 19, "a duration"},
		{"threads > many", 10, "a number"},
		{"finding nothing", 8, "one of deadlock, holder-gone"},
		{"event lost", 6, "the name of an event"},
		{"panic for 5s", 6, "the end"},
		{"pänic", 0, "one of"},
		{"park > 5s\nin x", 9, "text on one line"},
		{strings.Repeat("a", 600), 500, "at most 500"},
	} {
		_, err := Parse(c.text)
		var bad *ParseError
		if !errors.As(err, &bad) || bad.At != c.at || !strings.Contains(bad.Want, c.want) {
			t.Errorf("%.40q: got %v at %v; want %q at %d", c.text, err, bad, c.want, c.at)
		}
	}
	_, err := Parse("park > 5s än x")
	if got := err.(*ParseError).Pointer(); got != "park > 5s än x\n          ^ want in PATH, or for DURATION, or the end" {
		t.Errorf("got\n%s", got)
	}
	if want := `rule "park > 5s än x": at character 11: want in PATH, or for DURATION, or the end`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestPathsMatchNamesThatFollowEachOther(t *testing.T) {
	path := []string{"shop", "requests", "checkout-7"}
	for pattern, want := range map[string]bool{
		"": true, "shop": true, "requests": true, "checkout-7": true, "shop/requests": true, "requests/checkout-7": true,
		"requests/checkout-*": true, "*/*/*": true, "check*7": true, "*": true, "*out*": true, "c*k*o*7": true,
		"request": false, "shop/checkout-7": false, "requests/shop": false, "*/*/*/*": false, "checkout-7*7": false, "/": false, "x*": false,
	} {
		if got := matches(pattern, path); got != want {
			t.Errorf("%q: got %v, want %v", pattern, got, want)
		}
	}
	if matches("x", nil) || !matches("", nil) {
		t.Error("the root scope has no names")
	}
}

func FuzzParse(f *testing.F) {
	for i := range Rules {
		f.Add(Rules[i].Example)
		f.Add(Rules[i].Syntax())
	}
	f.Add(`park > 5s in "a\"b" for 1h2m3.5s`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		var bad *ParseError
		if err != nil {
			if !errors.As(err, &bad) || bad.At < 0 || bad.At > len(bad.Text) || bad.Want == "" || bad.Pointer() == "" {
				t.Errorf("%q: got %#v", text, err)
			}
			return
		}
		again, err := Parse(r.String())
		if err != nil || again != r {
			t.Errorf("%q: its text %q is read as %+v, %v; want %+v", text, r, again, err, r)
		}
	})
}
