package filter

import (
	"strings"
	"testing"
)

func TestAllMatchesWhatEachOfThemMatches(t *testing.T) {
	parse := func(s string) *Filter {
		f, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		of   []*Filter
		want string
	}{
		{nil, ""},
		{[]*Filter{nil, parse("")}, ""},
		{[]*Filter{nil, parse("state=parked")}, "state=parked"},
		{[]*Filter{parse("state=parked or id=3"), parse("scope~a")}, "(state=parked or id=3) scope~a"},
	} {
		f, err := All(c.of...)
		if err != nil || f.String() != c.want {
			t.Errorf("got %q, %v; want %q", f.String(), err, c.want)
		}
	}
	long := parse("name=" + strings.Repeat("x", maxText-10))
	if f, err := All(long, long); err == nil {
		t.Errorf("of too long ones: got %v", f)
	}
}

func TestTextsOfFiltersThatAreJoinedAreNotMixedUp(t *testing.T) {
	w := &world{scopes: []string{"root/shop/GET /cart (new)", "root/jobs"}}
	in := func(path string) *Filter {
		f, err := InScope(path)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	both, err := All(in("shop"), in("jobs"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.scopes {
		if both.Matcher(w).Match(&Row{Scope: i}) {
			t.Errorf("%s: it is in both", w.scopes[i])
		}
	}
	for path, want := range map[string]string{
		"shop": "yn", "root": "yy", "GET /cart (new)": "yn", "shop/GET*new)": "yn", "shop/GET": "nn", "*": "yy", "root/*": "yy", "j.bs": "nn", "jobs": "ny", "sho": "nn",
	} {
		m, got := in(path).Matcher(w), ""
		for i := range w.scopes {
			if m.Match(&Row{Scope: i}) {
				got += "y"
			} else {
				got += "n"
			}
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
	if f, err := InScope(""); err == nil {
		t.Errorf("of no path: got %v", f)
	}
}
