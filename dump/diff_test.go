package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// changedShop is the sample ten seconds later: the lock is waited for by more, some of whom are about to have it; the sleepers have gone from an older build's
// line; jobs ended, and a scope of imports is new.
func changedShop() *Snapshot {
	b := newSample()
	b.s.Taken = sampleTime.Add(10 * time.Second)
	b.s.AsOf = b.s.Taken
	b.s.Process.PID = 4712
	root := b.scope(-1, "root", 1)
	shop := b.scope(root, "shop", 1)
	requests := b.scope(shop, "requests", 1)
	checkout := b.scope(requests, "checkout", 340)
	imports := b.scope(shop, "import 17", 1)
	query := b.stack(frame("example.org/shop.(*Store).query", "/src/shop/store.go", 91), frame("example.org/shop.handleCheckout", "/src/shop/checkout.go", 44))
	lock := b.stack(internal("github.com/vtscope/vtscope/runtime/vsync.(*Mutex).Lock"), frame("example.org/shop.(*Cart).add", "/src/shop/cart.go", 230))
	b.group(requests, query, flight.StateParked, flight.ReasonSleep, 998_870, time.Second, 40*time.Second, 2*time.Minute, Example{ID: 5123, Name: "GET /cart", Wait: 2 * time.Minute})
	b.group(checkout, lock, flight.StateBlocked, flight.ReasonLock, 1200, 12*time.Millisecond, 800*time.Millisecond, 19*time.Second,
		Example{ID: 88, Name: "order 17", Wait: 19 * time.Second}, Example{ID: 90, Name: "", Wait: 9 * time.Second})
	b.group(checkout, lock, flight.StateRunnable, flight.ReasonLock, 12, 0, 0, time.Millisecond, Example{ID: 91, Name: "", Wait: time.Millisecond})
	b.group(imports, -1, flight.StateNew, 0, 36, time.Millisecond, time.Millisecond, time.Millisecond)
	b.group(shop, -1, flight.StateRunnable, flight.ReasonYield, 402, 0, 3*time.Microsecond, 40*time.Microsecond)
	return b.s
}

// inUTC lets pages print times of one zone.
func inUTC(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
}

func diffText(t *testing.T, d *Diff, o TextOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := DiffText(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDiffTextShowsWhatGrewMostFirst(t *testing.T) {
	inUTC(t)
	d := DiffOf(shopSample(), changedShop(), DiffOptions{Similar: SameFunctions, Templates: true})
	golden(t, "diff.txt", diffText(t, d, TextOptions{}))
	golden(t, "diff-ascii.txt", diffText(t, d, TextOptions{ASCII: true, Top: 1, Width: 70}))
	golden(t, "diff-same.txt", diffText(t, DiffOf(shopSample(), shopSample(), DiffOptions{}), TextOptions{Color: true}))
}

// changes writes what became of the groups of each path.
func changes(d *Diff) string {
	var all []string
	for _, g := range d.Groups {
		all = append(all, fmt.Sprintf("%s %s %d>%d", ScopeName(g.Path), g.Change, g.Before, g.After))
	}
	return strings.Join(all, "; ")
}

func TestThreadsThatLeaveALockAreTheSameGroup(t *testing.T) {
	d := DiffOf(shopSample(), changedShop(), DiffOptions{})
	for _, g := range d.Groups {
		if ScopeName(g.Path) != "shop/requests/checkout" {
			continue
		}
		if g.Change != Grew || g.Before != 1000 || g.After != 1212 || g.Is[flight.StateRunnable] != 12 || g.Was[flight.StateBlocked] != 1000 ||
			g.LongestAfter != 19*time.Second || len(g.Examples) != 2 || g.Examples[0].ID != 88 {
			t.Errorf("got %+v", g)
		}
		return
	}
	t.Errorf("the group is not told: %s", changes(d))
}

func TestAGroupOfAnotherBuildIsTheSameIfLinesDoNotCount(t *testing.T) {
	build := func(line int, closure string) *Snapshot {
		b := newSample()
		root := b.scope(-1, "root", 1)
		at := b.stack(frame("shop.serve["+closure+"]."+closure, "/home/"+closure+"/serve.go", line))
		b.group(root, at, flight.StateParked, 0, 100, 0, 0, 0)
		return b.s
	}
	for _, c := range []struct {
		similar Similarity
		old, s  *Snapshot
		want    string
	}{
		{SameLines, build(12, "func1"), build(12, "func1"), ""},
		{SameLines, build(12, "func1"), build(13, "func1"), "root new 0>100; root gone 100>0"},
		{SameFunctions, build(12, "func1"), build(13, "func1"), ""},
		{SameFunctions, build(12, "func1"), build(13, "func2"), "root new 0>100; root gone 100>0"},
		{SameShape, build(12, "func1"), build(13, "func2"), ""},
	} {
		if got := changes(DiffOf(c.old, c.s, DiffOptions{Similar: c.similar})); got != c.want {
			t.Errorf("%v: got %q, want %q", c.similar, got, c.want)
		}
	}
}

func TestAChangeIsWhatItsCountsSay(t *testing.T) {
	for _, c := range []struct {
		least                  int
		before, after, was, is int
		want                   Change
	}{
		{1, 0, 0, 1, 1, Same}, {1, 3, 3, 2, 2, Same}, {1, 3, 4, 1, 1, Grew}, {1, 4, 3, 1, 1, Shrank}, {1, 0, 5, 0, 1, New}, {1, 5, 0, 1, 0, Gone},
		{1, 0, 0, 0, 1, New}, {1, 3, 3, 1, 2, Grew}, {1, 3, 3, 2, 1, Shrank}, {1, 3, 0, 1, 1, Shrank},
		{5, 3, 7, 1, 1, Same}, {5, 3, 8, 1, 1, Grew}, {5, 0, 4, 0, 1, Same}, {5, 0, 5, 0, 1, New}, {5, 4, 0, 1, 0, Same}, {5, 5, 0, 1, 0, Gone},
		{5, 1, 2, 1, 9, Same}, // few threads, of however many scopes
	} {
		d := Diff{Least: c.least}
		if got := d.judge(c.before, c.after, c.was, c.is); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestScopesOfNamesThatDifferInNumbersAreOneOfATemplate(t *testing.T) {
	run := func(from int) *Snapshot {
		b := newSample()
		root := b.scope(-1, "root", 1)
		for i := range 3 {
			b.group(b.scope(root, fmt.Sprint("order ", from+i), 1), -1, flight.StateNew, 0, 2, 0, 0, 0)
		}
		return b.s
	}
	if d := DiffOf(run(1), run(4), DiffOptions{Templates: true}); d.GroupCounts[Same] != 1 || len(d.Scopes)+len(d.Groups) != 0 {
		t.Errorf("got %+v and %+v", d.Scopes, d.Groups)
	}
	if d := DiffOf(run(1), run(4), DiffOptions{}); d.ScopeCounts[New] != 3 || d.ScopeCounts[Gone] != 3 {
		t.Errorf("without templates: got %v", d.ScopeCounts)
	}
	folded := run(4)
	folded.Templates = true // as of so many scopes that it was done
	if d := DiffOf(run(1), folded, DiffOptions{}); !d.Templates || len(d.Scopes) != 0 {
		t.Errorf("of one that is folded: got %v", d.ScopeCounts)
	}
}

// No figure stands for a wait that nobody recorded.
func TestADiffOfUnknownWaitsNamesNoLongestOne(t *testing.T) {
	sample := func(waits ...Wait) *Snapshot {
		b := newSample()
		root := b.scope(-1, "root", 1)
		for _, w := range waits {
			b.group(root, -1, flight.StateParked, 0, 2, w.Min, w.Median, w.Max)
			b.s.Groups[0].Wait = w
		}
		return b.s
	}
	for _, c := range []struct {
		wait Wait
		want string
	}{
		{Wait{Unknown: 2}, "parked\n"},
		{Wait{Min: time.Minute, Median: time.Minute, Max: time.Minute, Unknown: 1}, "parked for up to 1m or ?\n"},
		{Wait{Min: time.Second, Median: time.Second, Max: time.Minute}, "parked for up to 1m\n"},
	} {
		none, some := sample(), sample(c.wait)
		for _, d := range []*Diff{DiffOf(none, some, DiffOptions{}), DiffOf(some, none, DiffOptions{})} {
			if got := string(diffText(t, d, TextOptions{})); !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		}
	}
}

func TestADiffSaysWhatItsSnapshotsMiss(t *testing.T) {
	a, b := shopSample(), shopSample()
	a.Incomplete, a.Complete = []string{"3 threads not recorded"}, false
	b.Filter = "state=parked"
	b.KeepTop(1)
	d := DiffOf(a, b, DiffOptions{})
	if d.Complete || len(d.Incomplete) != 3 || !strings.Contains(d.Incomplete[0], "the old one: 3 threads") ||
		!strings.Contains(d.Incomplete[1], "the new one: 1,541 threads in groups") || !strings.Contains(d.Incomplete[2], "different filters") {
		t.Errorf("got %v %q", d.Complete, d.Incomplete)
	}
}

func TestADiffIsReadAsItWasWritten(t *testing.T) {
	d := DiffOf(shopSample(), changedShop(), DiffOptions{Similar: SameShape})
	var b bytes.Buffer
	if err := DiffJSON(&b, d); err != nil {
		t.Fatal(err)
	}
	var back Diff
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&back, d) {
		t.Errorf("got\n%+v\nwant\n%+v", &back, d)
	}
	for _, want := range []string{`"format": "vtscope/diff/v1"`, `"change": "grew"`, `"similar": "shape"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %s in %s", want, b.String())
		}
	}
}

func TestKeepTopKeepsWhatChangedMostInBothDirections(t *testing.T) {
	d := DiffOf(shopSample(), changedShop(), DiffOptions{})
	d.KeepTop(1)
	if got := changes(d); got != "shop/requests new 0>998870; shop/requests gone 998871>0" {
		t.Errorf("got %s", got)
	}
}

func TestChangesAreChosenByName(t *testing.T) {
	got, err := ParseChanges("grew, new,grew")
	if err != nil || !reflect.DeepEqual(got, []Change{Grew, New}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, wrong := range []string{"", "same", "grown", "grew,"} {
		if got, err := ParseChanges(wrong); err == nil || !strings.Contains(err.Error(), "grew, shrank, new, gone") {
			t.Errorf("%q: got %v, %v", wrong, got, err)
		}
	}
	d := DiffOf(shopSample(), changedShop(), DiffOptions{})
	if n := d.Found([]Change{New}); n != d.ScopeCounts[New]+d.GroupCounts[New] || n == 0 {
		t.Errorf("found %d", n)
	}
}

func TestADiffNamesScopesAndGroupsOfTheNewerSnapshotAndKeepsTheirStacksAlone(t *testing.T) {
	old, s := shopSample(), changedShop()
	for _, of := range []*Snapshot{old, s} {
		for i := range of.Scopes {
			of.Scopes[i].Key = "scope " + strings.Join(of.Path(i), "/")
		}
		for i := range of.Groups {
			of.Groups[i].Key = fmt.Sprintf("group %d of %d", i, of.Process.PID)
		}
	}
	d := DiffOf(old, s, DiffOptions{})
	for _, c := range d.Scopes {
		of := s
		if c.Change == Gone {
			of = old
		}
		at := slices.IndexFunc(of.Scopes, func(sc Scope) bool { return sc.Key == c.Scope })
		if at < 0 || strings.Join(of.Path(at)[1:], "/") != strings.Join(c.Path, "/") {
			t.Errorf("%s %v names the scope %s at %d", c.Change, c.Path, c.Scope, at)
		}
	}
	for _, c := range d.Groups {
		of := s
		if c.Change == Gone {
			of = old
		}
		if at := slices.IndexFunc(of.Groups, func(g Group) bool { return g.Key == c.Group }); at < 0 || strings.Join(of.Path(of.Groups[at].Scope)[1:], "/") != strings.Join(c.Path, "/") {
			t.Errorf("%s %v names the group %s at %d", c.Change, c.Path, c.Group, at)
		}
	}
	stacks := map[string]string{}
	for _, c := range d.Groups {
		if c.Stack >= 0 {
			stacks[c.Key] = d.Stacks[c.Stack].Fingerprint
		}
	}
	d.KeepTop(1)
	if len(d.Groups) != 2 || len(d.Stacks) > 2 {
		t.Fatalf("%d groups with %d stacks are kept of each way, want 2", len(d.Groups), len(d.Stacks))
	}
	for _, c := range d.Groups {
		if c.Stack >= 0 && d.Stacks[c.Stack].Fingerprint != stacks[c.Key] {
			t.Errorf("the group %v has another stack now", c.Path)
		}
	}
}
