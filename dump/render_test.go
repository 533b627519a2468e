package dump

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vtscope/vtscope/runtime/flight"

	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n(-update rewrites it)", name, got, want)
	}
}

func text(t *testing.T, s *Snapshot, o TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextShowsTheTreeWithItsGroups(t *testing.T) {
	golden(t, "shop.txt", text(t, shopSample(), TextOptions{}))
	golden(t, "shop-ascii.txt", text(t, shopSample(), TextOptions{ASCII: true, Internal: true, Depth: 2, Top: 3}))
	golden(t, "shop-color.txt", text(t, shopSample(), TextOptions{Color: true, Width: 70}))
}

func TestTextSaysHowFarTheDataIsToBeTrusted(t *testing.T) {
	s := shopSample()
	s.KeepTop(2)
	s.Process.Status = StatusGone
	s.AsOf = s.Taken.Add(-12 * time.Second)
	s.Complete, s.Incomplete = false, []string{"12 thread records changed while they were read, and are left out"}
	golden(t, "killed.txt", text(t, s, TextOptions{}))
}

// hugeSnapshot has a million threads, three levels of thousands of scopes with long names, and deep stacks.
func hugeSnapshot() *Snapshot {
	b := newSample()
	root := b.scope(-1, "root", 1)
	var stacks []int
	for i := range 300 {
		var frames []Frame
		for d := range 40 {
			frames = append(frames, frame(
				fmt.Sprintf("example.org/very/long/module/path/package%d.(*ReceiverWithALongName).MethodNumber%dOfIt", i, d),
				fmt.Sprintf("/src/example.org/very/long/file_name_%d.go", d), 1000+d))
		}
		stacks = append(stacks, b.stack(frames...))
	}
	for i := range 100 {
		parent := b.scope(root, fmt.Sprintf("tenant-%d-with-a-name-that-is-rather-long-and-goes-on-and-on", i), 1)
		for j := range 30 {
			child := b.scope(parent, fmt.Sprintf("GET /api/v1/tenants/%d/orders/%d/lines", i, j), 1+j)
			b.group(child, stacks[(i*30+j)%len(stacks)], flight.StateTimedParked, flight.ReasonSleep, 333, time.Millisecond, time.Second, time.Hour,
				Example{ID: flight.ThreadID(i), Name: strings.Repeat("name", 12), Wait: time.Hour}, Example{ID: 1 << 40, Name: strings.Repeat("日本", 8), Wait: time.Hour})
		}
	}
	return b.s
}

func TestPageOfAMillionThreadsIsSmallAndNarrow(t *testing.T) {
	for _, o := range []TextOptions{{}, {ASCII: true}, {Width: 60}, {Internal: true}} {
		page := text(t, hugeSnapshot(), o)
		if len(page) > 16_000 {
			t.Errorf("%+v: got %d bytes, want at most 16,000", o, len(page))
		}
		wide := 100
		if o.Width > 0 {
			wide = o.Width
		}
		for line := range strings.Lines(string(page)) {
			if n := Columns(strings.TrimSuffix(line, "\n")); n > wide || strings.HasSuffix(line, " \n") {
				t.Errorf("%+v: line of %d columns, or with a space at its end: %q", o, n, line)
			}
			if o.ASCII && strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
				t.Errorf("not ASCII: %q", line)
			}
		}
	}
	golden(t, "huge.txt", text(t, hugeSnapshot(), TextOptions{Depth: 1, Top: 3}))
}

func TestPageAccountsForEveryThread(t *testing.T) {
	s := hugeSnapshot()
	for _, o := range []TextOptions{{}, {Top: 1}, {Top: -1, Depth: 1}, {Top: 100}} {
		sum := 0
		for _, m := range regexp.MustCompile(`(?m)^[^a-zA-Z]*x ([0-9,]+) |with ([0-9,]+) threads`).FindAllStringSubmatch(string(text(t, s, o)), -1) {
			n, err := strconv.Atoi(strings.ReplaceAll(m[1]+m[2], ",", ""))
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != s.Threads {
			t.Errorf("%+v: groups and rest: got %d threads, want %d", o, sum, s.Threads)
		}
	}
}

func TestNamesCannotChangeTheTerminal(t *testing.T) {
	b := newSample()
	root := b.scope(-1, "ro\x1b[31mot", 1)
	evil := "a\n\x1b]0;b\x07\u202ec\xff;d"
	child := b.scope(root, evil, 1)
	b.s.Process.Program = evil
	st := b.stack(frame(evil, evil, 3))
	b.group(child, st, flight.StateParked, 0, 2, 1, 1, 1, Example{ID: 1, Name: evil, Wait: 1})
	b.s.Scopes[child].Owner, b.s.Scopes[child].OwnerName = 4, evil
	var folded bytes.Buffer
	if err := Folded(&folded, b.s, FoldedOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text(t, b.s, TextOptions{})), folded.String()} {
		if strings.ContainsAny(out, "\x1b\x07\u202e") || !utf8.ValidString(out) {
			t.Errorf("control characters in %q", out)
		}
	}
	if n := strings.Count(folded.String(), "\n"); n != 1 || strings.Count(folded.String(), ";") != 2 {
		t.Errorf("folded: got %q, want one line of three names", folded.String())
	}
}

func TestFoldedSumsToAllThreads(t *testing.T) {
	s := shopSample()
	var b bytes.Buffer
	if err := Folded(&b, s, FoldedOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.folded", b.Bytes())
	s.KeepTop(2)
	var top bytes.Buffer
	if err := Folded(&top, s, FoldedOptions{Internal: true}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{b.String(), top.String()} {
		sum := 0
		for line := range strings.Lines(out) {
			n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]))
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != s.Threads {
			t.Errorf("got %d threads, want %d in\n%s", sum, s.Threads, out)
		}
	}
}

func TestJSONReadsBackAsItWas(t *testing.T) {
	s := shopSample()
	s.Complete, s.Incomplete = false, []string{"something is missing"}
	s.ChangeOver = time.Second
	s.Scopes[1].Change = -4
	s.Groups[0].Change = 7
	s.Groups[0].Key = "k"
	var b bytes.Buffer
	if err := JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.json", b.Bytes())
	back, err := ParseJSON(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, s) {
		t.Errorf("got\n%+v\nwant\n%+v", back, s)
	}
}

func TestCompareMarksOnlyWhatChanged(t *testing.T) {
	old, s := shopSample(), shopSample()
	for _, s := range []*Snapshot{old, s} {
		for i := range s.Groups {
			s.Groups[i].Key = strconv.Itoa(i)
		}
	}
	old.Taken = s.Taken.Add(-2 * time.Second)
	old.Scopes[2].Total -= 1204
	old.Scopes[4].Total += 3
	old.Groups[0].Count -= 1204
	Compare(old, s)
	golden(t, "growth.txt", text(t, s, TextOptions{Depth: 1}))
}

func TestSpansHaveTheDigitsThatMatter(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-1, "0s"}, {0, "0s"}, {999, "999ns"}, {1500, "1.5µs"}, {999_499, "999µs"}, {999_500, "1ms"}, {12 * time.Millisecond, "12ms"},
		{1250 * time.Millisecond, "1.3s"}, {2 * time.Second, "2s"}, {9960 * time.Millisecond, "10s"}, {31 * time.Second, "31s"},
		{59_700 * time.Millisecond, "1m"}, {130 * time.Second, "2m10s"}, {42*time.Minute + 40*time.Second, "43m"}, {59*time.Minute + 40*time.Second, "1h"},
		{3*time.Hour + 5*time.Minute, "3h5m"}, {26 * time.Hour, "1d2h"}, {300 * time.Hour, "13d"}, {1<<63 - 1, "106752d"},
	} {
		if got := Span(c.d); got != c.want {
			t.Errorf("%d: got %s, want %s", c.d, got, c.want)
		}
	}
}

func TestCutKeepsToTheColumns(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"abc", 0, ""}, {"é", 1, "é"}} {
		if got := Cut(c.s, c.n); got != c.want || Columns(got) > c.n {
			t.Errorf("Cut(%q, %d): got %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestEmptySnapshotPrints(t *testing.T) {
	for _, s := range []*Snapshot{{}, newSample().s} {
		if b := text(t, s, TextOptions{}); len(b) == 0 {
			t.Error("got nothing")
		}
		var b bytes.Buffer
		if err := JSON(&b, s); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("JSON: %v %s", err, b.Bytes())
		}
	}
}

func BenchmarkText(b *testing.B) {
	s := hugeSnapshot()
	b.ReportAllocs()
	for b.Loop() {
		if err := Text(io.Discard, s, TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	var b bytes.Buffer
	if err := JSON(&b, shopSample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":"vtscope/dump/v1","scopes":[{"parent":-1}],"groups":[{"state":"new","stack":-1,"examples":[{}]}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := ParseJSON(doc)
		if err != nil {
			return
		}
		text(t, s, TextOptions{})
		if err := Folded(io.Discard, s, FoldedOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSameStackIsPrintedOnce(t *testing.T) {
	b := newSample()
	root := b.scope(-1, "root", 1)
	var frames []Frame
	for i := range 12 {
		frames = append(frames, frame(fmt.Sprintf("shop.f%d", i), "/src/shop/f.go", i))
	}
	long, short := b.stack(frames...), b.stack(frames[:2]...)
	for i := range 3 {
		scope := b.scope(root, fmt.Sprintf("batch-%d", i), 1)
		b.group(scope, long, flight.StateParked, 0, 50-i, time.Second, time.Second, time.Minute, Example{ID: flight.ThreadID(i + 1), Name: "", Wait: time.Minute})
		b.group(scope, short, flight.StateParked, 0, 10-i, time.Second, time.Second, time.Minute)
	}
	golden(t, "same.txt", text(t, b.s, TextOptions{}))
}
