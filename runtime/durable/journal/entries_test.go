package journal_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// tight are limits that let no entries pass without being measured.
var tight = journal.Limits{Memory: 256 << 10}

// allocates returns how many bytes f allocates.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// samples are entries of each kind.
func samples() []journal.Entry {
	return []journal.Entry{
		begun("a"), stepped("a", "one"), {Thread: "a", Op: journal.OpSet, Step: &journal.Step{Kind: journal.StepPark, Name: "p", Open: true, Attempts: 2}},
		{Thread: "a", Op: journal.OpWhole, Parent: "b", Number: 2, Image: family()}, {Thread: "a", Op: journal.OpSignal, Name: "s", Value: json.RawMessage(`[1,{"x":"\"]"}]`), Inbox: 7},
		{Thread: "a", Op: journal.OpEnd, Err: "no"}, {Thread: "a", Op: journal.OpBase, Since: 3, Step: &journal.Step{Kind: journal.StepCheckpoint, Value: json.RawMessage("null")}},
	}
}

// What is measured is the same as what is not.
func FuzzEntries(f *testing.F) {
	text, err := journal.Limits{}.PackEntries(samples())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`[{"thread":"a","op":"step","step":null,"image":null,"more":{"x":[1]}},{}]`))
	f.Add([]byte(`[{"image":{"steps":[{},null],"inbox":null,"children":[{"inbox":{"s":[1,2]}}]}}]`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return
		}
		var want []journal.Entry
		bad := json.Unmarshal(text, &want)
		got, err := tight.UnpackEntries(text)
		if err != nil {
			if !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrMemory) {
				t.Fatalf("got %v", err)
			}
			return
		}
		if bad != nil {
			t.Fatalf("%q was taken, which is no JSON of entries: %v", text, bad)
		}
		a, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		exact := !strings.ContainsFunc(string(text), func(r rune) bool { return r >= 'A' && r <= 'Z' || r > 127 || r == '\\' }) // names in other letters are passed over
		if exact && string(a) != string(b) {
			t.Fatalf("got %s, want %s", a, b)
		}
	})
}

func TestEntriesAreTheSameMeasuredOrNot(t *testing.T) {
	want := samples()
	text, err := tight.PackEntries(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]journal.Limits{"measured": tight, "short": {}} {
		got, err := l.UnpackEntries(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	one, err := json.Marshal(want[3])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tight.UnpackEntry(one); err != nil || !reflect.DeepEqual(got, want[3]) {
		t.Errorf("one: got %+v, %v", got, err)
	}
	newer := []byte(`[{"thread":"a","op":"new","since_when":{"a":[1,2]},"image":{"id":"a","colour":"red"}}]`)
	for name, l := range map[string]journal.Limits{"measured": tight, "short": {}} {
		if got, err := l.UnpackEntries(newer); err != nil || got[0].Image.ID != "a" {
			t.Errorf("%s: of a newer version: got %+v, %v", name, got, err)
		}
	}
}

// hostile are texts that are short, and ask for much.
func hostile(n int) map[string]string {
	list := func(one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	names := func() string {
		var b strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&b, `,"%x":[]`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	return map[string]string{
		"entries":          list("{}"),
		"threads":          list(`{"op":"new"}`),
		"open steps":       list(`{"step":{}}`),
		"images":           list(`{"image":{}}`),
		"steps":            `[{"thread":"x","op":"whole","image":{"steps":` + list("{}") + `}}]`,
		"nulls":            `[{"thread":"x","op":"whole","image":{"steps":` + list("null") + `}}]`,
		"children":         `[{"thread":"x","op":"whole","image":{"children":` + list("{}") + `}}]`,
		"signals":          `[{"thread":"x","op":"whole","image":{"inbox":{"s":` + list("1") + `}}}]`,
		"names of signals": `[{"thread":"x","op":"base","image":{"inbox":` + names() + `}}]`,
		"of a child":       `[{"thread":"x","op":"whole","image":{"children":[{"steps":` + list("{}") + `}]}}]`,
	}
}

// DU-13: a record whose sum is right, and that holds very many small things, is refused before these are made, whoever reads it; and is not taken for what a process was writing.
func TestHostileRecordsAllocateNoMoreThanTheLimit(t *testing.T) {
	small := journal.Limits{Memory: 2 << 20}
	for name, text := range hostile(256 << 10) {
		path := filepath.Join(t.TempDir(), "records")
		if err := os.WriteFile(path, recordOf(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if got := allocates(func() { _, err = small.UnpackEntries([]byte(text)) }); got > 6*2<<20+uint64(len(text)) { // what it asks for is twice as much, and more
			t.Errorf("%s: %d bytes of text allocated %d", name, len(text), got)
		}
		if !errors.Is(err, journal.ErrMemory) || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: got %v, want %v with the limit", name, err, journal.ErrMemory)
		}
		if got := allocates(func() { _, err = small.ReadFile(path, true, func(journal.Entry) error { return nil }) }); got > 6*2<<20+8*uint64(len(text)) {
			t.Errorf("%s: a file with %d bytes allocated %d", name, len(text), got)
		}
		if !errors.Is(err, journal.ErrMemory) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %v with the file", name, err, journal.ErrMemory)
		}
		one := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		if _, err := small.UnpackEntry([]byte(one)); err == nil {
			t.Errorf("%s: one was taken", name)
		}
	}
	large := `[{"image":{"children":[` + strings.Repeat("{},", 2<<20) + `{}]}}]`
	if got := allocates(func() {
		if _, err := (journal.Limits{}).UnpackEntries([]byte(large)); !errors.Is(err, journal.ErrMemory) {
			t.Errorf("default limits: got %v", err)
		}
	}); got > 2<<30 {
		t.Errorf("default limits: %d bytes of text allocated %d", len(large), got)
	}
}

// recordOf returns a record with any text.
func recordOf(text string) []byte {
	record := make([]byte, 8, 8+len(text))
	binary.LittleEndian.PutUint32(record, uint32(len(text)))
	binary.LittleEndian.PutUint32(record[4:], crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
	return append(record, text...)
}

// A record that larger limits have let pass is no damage: it is never cut off.
func TestARecordThatIsTooLargeIsNoTail(t *testing.T) {
	e := begun("a")
	e.Args = json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)
	path := filepath.Join(t.TempDir(), "000000000001.log")
	write(t, path, begun("b"), e)
	small := journal.Limits{Bytes: 1 << 20}
	n := 0
	read := func() (int64, error) {
		return small.ReadFile(path, true, func(journal.Entry) error { n++; return nil })
	}
	if _, err := read(); !errors.Is(err, journal.ErrTooLarge) || errors.Is(err, journal.ErrDamaged) || n != 1 {
		t.Errorf("got %v after %d entries, want %v", err, n, journal.ErrTooLarge)
	}
	if _, err := small.NewRecord([]journal.Entry{e}); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("it can be written: %v", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if size, err := read(); err != nil || size == 0 {
		t.Errorf("of one that is not whole: got %d, %v", size, err)
	}
}

// Whoever looks for records behind damage does not hold what is there: a file says what it likes, and is as large as it likes.
func TestALargeFileOfNothingTakesNoMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000000000001.log")
	write(t, path, begun("a"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	read := func() (size int64, err error) {
		if got := allocates(func() { size, err = journal.ReadFile(path, true, func(journal.Entry) error { return nil }) }); got > 16<<20 {
			t.Errorf("%d bytes were allocated", got)
		}
		return size, err
	}
	if size, err := read(); size != info.Size() || err != nil {
		t.Errorf("got %d, %v, want %d", size, err, info.Size())
	}
	// A marked record behind it, over the border of what is looked at at a time, is found: so it is damage.
	record, err := journal.NewRecord([]journal.Entry{begun("b")})
	if err != nil {
		t.Fatal(err)
	}
	journal.MarkSynced(record)
	for d := range int64(24) {
		at := info.Size() + 1<<20 - d
		if _, err := f.WriteAt(record, at); err != nil {
			t.Fatal(err)
		}
		if size, err := read(); size != info.Size() || !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("a record at %d: got %d, %v, want %v", at, size, err, journal.ErrDamaged)
		}
		if _, err := f.WriteAt(make([]byte, len(record)), at); err != nil {
			t.Fatal(err)
		}
	}
	// One that says again and again that it is long is damage too, and takes no days.
	liar := binary.LittleEndian.AppendUint32(nil, 90<<20|1<<31)
	liar = append(append(liar, 1, 2, 3, 4), `[{"thread":`...)
	if _, err := f.WriteAt(slices.Repeat(liar, 100), 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v, want %v", err, journal.ErrDamaged)
	}
}

// What NewRecord takes ReadFile takes, with the same limits.
func TestWhatIsRecordedWithinLimitsIsReadWithin(t *testing.T) {
	taken, refused := 0, 0
	for n := range 80 {
		var entries []journal.Entry
		for i := range n {
			entries = append(entries, samples()[i%7])
		}
		l := journal.Limits{Memory: 64 << 10}
		record, err := l.NewRecord(entries)
		if err != nil {
			if !errors.Is(err, journal.ErrMemory) {
				t.Errorf("%d: %v", n, err)
			}
			refused++
			continue
		}
		taken++
		path := filepath.Join(t.TempDir(), "records")
		if err := os.WriteFile(path, record, 0o600); err != nil {
			t.Fatal(err)
		}
		got := 0
		if _, err := l.ReadFile(path, false, func(journal.Entry) error { got++; return nil }); err != nil || got != n {
			t.Errorf("%d: recorded, and then %d, %v", n, got, err)
		}
	}
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}

// A thread of any size can be told in pieces that are not larger than what it was told in.
func TestWholesOfALargeThreadAreInPieces(t *testing.T) {
	var trees journal.Trees
	apply := func(to *journal.Trees, all ...journal.Entry) {
		t.Helper()
		for _, e := range all {
			if err := to.Apply(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	apply(&trees, begun("a"), begun("b"), journal.Entry{Thread: "b/1", Op: journal.OpNew, Parent: "b", Number: 1, Body: "c"})
	for i := range 100 {
		e := stepped("b", fmt.Sprint(i))
		if i == 0 {
			e.Step.Kind, e.Number = journal.StepFork, 1
		}
		apply(&trees, e, journal.Entry{Thread: "b", Op: journal.OpSignal, Name: fmt.Sprint(i % 3), Value: json.RawMessage(fmt.Sprint(i))})
	}
	apply(&trees, journal.Entry{Thread: "b", Op: journal.OpUnpark}, journal.Entry{Thread: "b/1", Op: journal.OpEnd, Value: json.RawMessage(`"` + strings.Repeat("r", 5000) + `"`)})
	var again journal.Trees
	pieces := 0
	for entries := range journal.WholesForTest(&trees, 4000) {
		pieces++
		text, err := journal.Limits{}.PackEntries(entries)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 8000 {
			t.Errorf("a piece of %d bytes", len(text))
		}
		apply(&again, entries...)
	}
	if pieces < 15 {
		t.Errorf("%d pieces", pieces)
	}
	want, err := json.Marshal(trees.Roots())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(again.Roots()); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// Signals that wait are not copied for each one that is taken.
func TestManySignalsAreTakenOneByOne(t *testing.T) {
	const n = 10_000
	var trees journal.Trees
	apply := func(e journal.Entry) {
		if err := trees.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	apply(begun("a"))
	for i := range n {
		apply(journal.Entry{Thread: "a", Op: journal.OpSignal, Name: "s", Value: json.RawMessage(fmt.Sprint(i))})
	}
	got := allocates(func() {
		for i := range n - 1 {
			apply(journal.Entry{Thread: "a", Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepSignal, Name: "s", Open: true}})
			apply(journal.Entry{Thread: "a", Op: journal.OpSet, Step: &journal.Step{Kind: journal.StepSignal, Name: "s", Value: json.RawMessage(fmt.Sprint(i))}})
		}
	})
	if got > 100<<20 {
		t.Errorf("%d signals allocated %d bytes", n, got)
	}
	if left := trees.Roots()[0].Inbox["s"]; len(left) != 1 || string(left[0]) != fmt.Sprint(n-1) {
		t.Errorf("left are %s", left)
	}
}
