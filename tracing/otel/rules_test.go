package otel

import (
	"strings"
	"testing"
	"time"
)

func TestRulesAreReadAsTheyAreWritten(t *testing.T) {
	all, err := ParseRules(" requests: keep=0.01 slow=250ms ; cache*: off; a:b: most=5 rate=2.5 pinned=1s failed=no threads=0.5 slower=2s;")
	if err != nil || len(all) != 3 {
		t.Fatalf("got %v, %v", all, err)
	}
	if r := all[0]; r.Scope != "requests" || r.Keep != 0.01 || r.Slow != 250*time.Millisecond || r.Rate != DefaultRule.Rate || !r.Failed {
		t.Errorf("got %+v", r)
	}
	if r := all[1]; r.Keep != 0 || r.Slow != 0 || r.Failed || r.Pinned != 0 {
		t.Errorf("got %+v", r)
	}
	if r := all[2]; r != (Rule{"a:b", 1, 2.5, time.Second, time.Second, false, 0.5, 2 * time.Second, 5}) {
		t.Errorf("got %+v", r)
	}
	for _, r := range all {
		again, err := ParseRules(r.String())
		if err != nil || len(again) != 1 || again[0] != r {
			t.Errorf("%s: got %v, %v when it was read again", r, again, err)
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for _, text := range []string{
		"requests", ": keep=1", "a: keep=2", "a: keep=NaN", "a: keep=-1", "a: rate=-1", "a: rate=Inf", "a: slow=1", "a: slow=-1s", "a: threads=1.1", "a: most=-1", "a: most=100000",
		"a: failed=maybe", "a: off=1", "a: color=red",
	} {
		if _, err := ParseRules(text); err == nil || !strings.Contains(err.Error(), "sampling rule") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}

func TestPatternsFitNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "ab", true}, {"*b", "ab", true}, {"a*c", "abc", true}, {"a*c", "abd", false}, {"a*b*c", "axbxc", true},
		{"a*b*c", "axc", false}, {"*a*", "xax", true}, {"aa*aa", "aaa", false}, {"", "a", false}, {"**", "x", true},
	} {
		if got := fits(c.pattern, c.name); got != c.want {
			t.Errorf("%q, %q: got %v", c.pattern, c.name, got)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add("requests: keep=0.01 slow=250ms; cache*: off; root: threads=0")
	f.Add("a:b: rate=1e9 most=1000")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseRules(text)
		if err != nil {
			return
		}
		for _, r := range all {
			if r.check() != nil {
				t.Fatalf("%q: got %+v", text, r)
			}
			again, err := ParseRules(r.String())
			if err != nil || len(again) != 1 || again[0] != r {
				t.Fatalf("%q: %s was read as %v, %v", text, r, again, err)
			}
			fits(r.Scope, text)
		}
	})
}
