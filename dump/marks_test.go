package dump

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

const someMarks = marksHead + `good        0123456789abcdef  shop/requests  shop.(*Store).query < shop.handleCheckout  # the database # is slow
suspicious  fedcba9876543210  root  pinned
`

func TestMarksAreReadAsTheyWereWritten(t *testing.T) {
	m, err := ParseMarks("\n  # a comment\n" + someMarks + "good 0123456789abcdef the same again, as after a merge\n")
	if err != nil || m.Len() != 2 {
		t.Fatalf("got %d marks, %v", m.Len(), err)
	}
	if g, _ := m.Get("0123456789abcdef"); g.Mark != Good || g.About != "shop/requests  shop.(*Store).query < shop.handleCheckout" || g.Note != "the database # is slow" {
		t.Errorf("got %+v", g)
	}
	again, err := ParseMarks(m.String())
	if err != nil || again.Len() != 2 {
		t.Errorf("got %v of\n%s", err, m)
	}
	if !m.Remove("fedcba9876543210") || m.Remove("fedcba9876543210") || m.Len() != 1 {
		t.Errorf("got %d marks after one of two was removed", m.Len())
	}
}

func TestMarksAreInTheOrderOfFingerprints(t *testing.T) {
	var m Marks
	for _, f := range []string{"9", "1", "5", "1"} {
		m.Set(MarkedGroup{Suspicious, strings.Repeat(f, 16), "about\n" + f, "why # not"})
	}
	want := marksHead + "suspicious  1111111111111111  about 1  # why # not\nsuspicious  5555555555555555  about 5  # why # not\nsuspicious  9999999999999999  about 9  # why # not\n"
	if m.String() != want {
		t.Errorf("got\n%s\nwant\n%s", m.String(), want)
	}
}

func TestWrongMarksNameTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"\nfine 0123456789abcdef x": `line 2: "fine" is no mark: want good or suspicious`,
		"good 0123 x":               `line 1: "0123" is no fingerprint`,
		"good":                      `line 1: "" is no fingerprint`,
		"good 0123456789ABCDEF x":   "is no fingerprint",
		"good 0123456789abcdef x\n#\nsuspicious 0123456789abcdef x # y": "lines 1 and 3: group 0123456789abcdef is good and suspicious: one of them has to go",
		"<<<<<<< ours\n": "line 1",
	} {
		if m, err := ParseMarks(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want %s", text, m, err, want)
		}
	}
}

func FuzzMarks(f *testing.F) {
	f.Add(someMarks)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMarks(text)
		if err != nil {
			return
		}
		again, err := ParseMarks(m.String())
		if err != nil || again.Len() != m.Len() || again.String() != m.String() {
			t.Errorf("%q: got %v and\n%s\nof\n%s", text, err, again, m)
		}
	})
}

func TestGoodGroupsAreHiddenAndCounted(t *testing.T) {
	var m Marks
	s := shopSample()
	m.Set(s.MarkOf(0, SameFunctions, Good, "sleeps"))
	m.Set(s.MarkOf(1, SameShape, Suspicious, "too many\x1b"))
	later := changedShop()
	m.Apply(s)
	if s.Known != (Rest{1, 998_871}) || len(s.Groups) != 5 || s.Groups[0].Mark != Suspicious || s.Scopes[2].Known != 998_871 || s.Scopes[2].Own != 998_871 || s.Threads != 1_000_412 {
		t.Errorf("got %+v, %d groups, the first %+v", s.Known, len(s.Groups), s.Groups[0])
	}
	page := string(text(t, s, TextOptions{}))
	for _, want := range []string{"\nknown good, hidden: 1 group with 998,871 threads\n", "  suspicious: too many"} {
		if !strings.Contains(page, want) || strings.Contains(page, "\x1b") {
			t.Errorf("want %q in\n%s", want, page)
		}
	}
	var b bytes.Buffer
	if err := JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	if back, err := ParseJSON(b.Bytes()); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("got %+v, %v", back, err)
	}

	m.Apply(later)
	d := DiffOf(s, later, DiffOptions{Similar: SameFunctions})
	for _, g := range d.Groups {
		if g.Change == Gone && g.Before == 998_871 {
			t.Errorf("what is known as good is told: %+v", g)
		}
	}
	if page := string(diffText(t, d, TextOptions{})); !strings.Contains(page, "known good, hidden: 998,871 → ") {
		t.Errorf("got %s", page)
	}
}

func TestAMarkIsOfTheSameGroupInEveryProcess(t *testing.T) {
	build := func(pid, line int, scope string, state flight.State) *Snapshot {
		b := newSample()
		b.s.Process.PID = pid
		root := b.scope(-1, "root", 1)
		at := b.stack(frame("shop.serve.func1", "/src/serve.go", line))
		b.group(b.scope(root, scope, 1), at, state, 0, 100*pid, 0, 0, 0).Blocker = "mutex 0xc000012345"
		return b.s
	}
	one, other := build(1, 10, "order 17", flight.StateParked), build(2, 20, "order 18", flight.StateRunnable)
	for similar, want := range map[Similarity]bool{SameLines: false, SameFunctions: true, SameShape: true} {
		a, b := one.MarkOf(0, similar, Good, ""), other.MarkOf(0, similar, Good, "")
		if (a.Fingerprint == b.Fingerprint) != want {
			t.Errorf("%v: got %+v and %+v, the same: %v", similar, a, b, !want)
		}
		if a.About != "order *  shop.serve.func1" {
			t.Errorf("got %q", a.About)
		}
	}
}
