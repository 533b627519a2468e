package adapter

import (
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump/filter"
)

func TestChecksAreChosenByNameAndThreshold(t *testing.T) {
	var c choice
	if err := c.choose(""); err != nil || !slices.Equal(c.names, []string{"deadlock"}) {
		t.Errorf("got %v, %v of nothing", c.names, err)
	}
	if err := c.choose("pinned=100, leak"); err != nil || !slices.Equal(c.names, []string{"deadlock", "pinned", "leak"}) || c.options.Threshold["pinned"] != 100 {
		t.Errorf("got %+v, %v", c, err)
	}
	for text, want := range map[string]string{"nothing": "no check", "pinned=often": "want"} {
		if err := c.choose(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestAConditionIsAFilterOrAnExpression(t *testing.T) {
	for _, c := range []struct{ text, filter, rest string }{
		{"", "", ""},
		{"n > 3", "", "n > 3"},
		{"i == 5 && x.y != nil", "", "i == 5 && x.y != nil"},
		{"name=worker", "name=worker", ""},
		{`scope="root/checkout" name~w`, `scope="root/checkout" name~w`, ""},
		{"thread=5123; n > 3", "id=5123", "n > 3"},
		{"(thread=1 or thread=2)", "(id=1 or id=2)", ""},
		{"vt worker", "worker", ""},
	} {
		f, rest, err := split(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if c.filter == "" != (f == nil) || rest != c.rest {
			t.Errorf("%s: got filter %v and %q", c.text, f, rest)
		}
		if f == nil {
			continue
		}
		want, err := filter.Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		if f.String() != want.String() {
			t.Errorf("%s: got %s, want %s", c.text, f, want)
		}
	}
	if _, _, err := split("name=(x"); err == nil || !strings.Contains(err.Error(), "neither an expression of Go nor a filter of threads") {
		t.Errorf("got %v", err)
	}
}

func TestHitsCountAsInDelve(t *testing.T) {
	for text, want := range map[string][]int{
		"3": {3}, "== 3": {3}, ">3": {4, 5, 6}, ">= 3": {3, 4, 5, 6}, "<3": {1, 2}, "<= 3": {1, 2, 3}, "!=3": {1, 2, 4, 5, 6}, "%3": {3, 6},
	} {
		counts, err := hitCounts(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []int
		for n := 1; n <= 6; n++ {
			if counts(n) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"x", "% 0", "~3", ">"} {
		if _, err := hitCounts(text); err == nil {
			t.Errorf("%s counts", text)
		}
	}
}

func FuzzACondition(f *testing.F) {
	for _, text := range []string{"", "n > 3", "name=worker; n > 3", "vt x", ";", "thread=1 thread=2", "vt ;;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		of, rest, err := split(text)
		if err != nil && (of != nil || rest != "") {
			t.Errorf("%q: got %v and %q with an error", text, of, rest)
		}
	})
}
