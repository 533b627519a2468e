package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

var durableNow = time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)

func waitingFor(i int, signal string) journal.DurableRow {
	return journal.DurableRow{
		ID: fmt.Sprintf("order-%07d", i), Body: "checkout", State: journal.Hibernated, Since: durableNow.Add(-time.Duration(i) * time.Second),
		Wait: &journal.Pending{Kind: journal.StepSignal, Name: signal}, Steps: i % 7, Bytes: i % 1000,
	}
}

func ids(rows []journal.DurableRow) (all []string) {
	for i := range rows {
		all = append(all, rows[i].ID)
	}
	return all
}

// Of a million threads some are told, and the others counted; nothing grows with them.
func TestAMillionDurableThreadsAreFolded(t *testing.T) {
	const n = 1_000_000
	f := NewDurableFold(DurableOptions{Top: 3}, durableNow)
	most := 0
	for i := range n {
		f.Add(waitingFor(i, "address"))
		most = max(most, cap(f.doc.Rows))
	}
	f.Add(journal.DurableRow{ID: "x", Body: "refund", State: journal.Failed, Since: durableNow, Err: "bank 7 said no", Failed: 1})
	f.Add(journal.DurableRow{ID: "y", Body: "refund", State: journal.Failed, Since: durableNow, Err: "bank 8 said no", Failed: 1})
	d := f.Done(DurableSource{})
	if d.Threads != n+2 || d.Matched != n+2 || d.RowsLeft != n-1 || d.States[journal.Hibernated] != n {
		t.Errorf("got %d threads, %d left, %v", d.Threads, d.RowsLeft, d.States)
	}
	if got, want := ids(d.Rows), []string{"order-0999999", "order-0999998", "order-0999997"}; !slices.Equal(got, want) {
		t.Errorf("waiting longest: got %q, want %q", got, want)
	}
	if len(d.Groups) != 2 || d.Groups[0].Threads != n || d.Groups[0].Example != "order-0999999" || d.Groups[1].Threads != 2 || d.Groups[1].Failed != 2 {
		t.Errorf("got the groups %+v", d.Groups)
	}
	if most > 10_000 {
		t.Errorf("up to %d rows were kept", most)
	}
}

func TestGroupsBeyondTheMostAreCounted(t *testing.T) {
	f := NewDurableFold(DurableOptions{}, durableNow)
	name := func(i int) string { // without digits, which make no difference
		s := ""
		for ; i > 0; i /= 26 {
			s += string(rune('a' + i%26))
		}
		return s
	}
	for i := range maxDurableGroups + 5 {
		f.Add(waitingFor(i, name(i)+"."))
	}
	d := f.Done(DurableSource{})
	if len(d.Groups) != defaultTop || d.GroupsLeft != maxDurableGroups-defaultTop || len(d.Incomplete) != 1 || !strings.Contains(d.Incomplete[0], "5 threads are in no group") {
		t.Errorf("got %d groups, %d left, %q", len(d.Groups), d.GroupsLeft, d.Incomplete)
	}
}

func TestDurableThreadsAreSorted(t *testing.T) {
	at := func(s int) time.Time { return durableNow.Add(time.Duration(s) * time.Second) }
	rows := []journal.DurableRow{
		{ID: "a", Since: at(-3), Begun: at(-4), Steps: 1, Bytes: 3, Failed: 0},
		{ID: "b", Since: at(-1), Begun: at(-9), Steps: 3, Bytes: 1, Failed: 2, Wait: &journal.Pending{Kind: journal.StepSleep, Until: at(9)}},
		{ID: "c", Begun: at(-5), Steps: 2, Bytes: 2, Failed: 1, Wait: &journal.Pending{Kind: journal.StepSleep, Until: at(5)}},
	}
	want := map[string]string{"since": "abc", "begun": "bca", "until": "cba", "steps": "bca", "bytes": "acb", "failed": "bca", "id": "abc"}
	for i := range DurableSorts {
		sort, err := ParseDurableSort(DurableSorts[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		f := NewDurableFold(DurableOptions{Sort: sort}, durableNow)
		for _, r := range rows {
			f.Add(r)
		}
		if got := strings.Join(ids(f.Done(DurableSource{}).Rows), ""); got != want[sort.Name] {
			t.Errorf("%s: got %s, want %s", sort.Name, got, want[sort.Name])
		}
	}
	if _, err := ParseDurableSort("size"); err == nil {
		t.Error("a sort that there is not was taken")
	}
}

// What a thread's names and errors hold changes neither the terminal nor the lines.
func TestDurableTextsAreHarmlessAndNarrow(t *testing.T) {
	evil := "evil\x1b[31m\nname" + strings.Repeat("x", 300)
	row := journal.DurableRow{
		ID: evil, Body: evil, State: journal.Failed, Since: durableNow.Add(-time.Hour), Begun: durableNow.Add(-48 * time.Hour), Err: evil, Attempts: 3, Failed: 2, Children: 2,
		Wait: &journal.Pending{Kind: journal.StepDo, Name: evil}, Checkpoint: &journal.Saved{Name: evil, At: durableNow, Steps: 9},
	}
	f := NewDurableFold(DurableOptions{}, durableNow)
	f.Add(row)
	f.Add(journal.DurableRow{ID: "late", State: journal.Waiting, Wait: &journal.Pending{Kind: journal.StepSleep, Until: durableNow.Add(-5 * time.Second)}})
	source := DurableSource{Kind: FromFolder, Path: evil, Files: 1, Tail: 3, Why: evil}
	d := f.Done(source, evil)
	value, _ := json.Marshal(evil)
	thread := NewDurableThread(&journal.History{
		Row: row, Args: value, Result: value, StepsLeft: 4, Signals: map[string][]json.RawMessage{evil: {value}}, Permit: true, Children: []journal.DurableRow{row},
		Steps: []journal.DurableStep{{Number: 9, Kind: journal.StepCheckpoint, Name: evil, Value: value}, {Number: 10, Kind: journal.StepDo, Name: evil, Err: evil, Attempts: 2}, {Number: 11, Kind: journal.StepFork, Name: evil, Value: json.RawMessage("1")}},
	}, source, durableNow, evil)
	for _, o := range []TextOptions{{}, {ASCII: true, Width: 40}, {Width: 60}} {
		for _, whole := range []bool{false, true} {
			var b bytes.Buffer
			if err := DurablesText(&b, d, o); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "overdue 5s") && o.Width == 0 {
				t.Errorf("what is overdue is not told:\n%s", b.String())
			}
			list := b.Len()
			if err := DurableThreadText(&b, thread, whole, o); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			if strings.ContainsAny(text, "\x1b\x07") {
				t.Errorf("an escape in\n%q", text)
			}
			if whole {
				text = text[:list] // whole values are wider
			}
			for line := range strings.Lines(text) {
				if n := Columns(strings.TrimRight(line, "\n")); n > max(o.Width, 40) && (o.Width > 0 || n > defaultWidth) && len(strings.Fields(line)) > 1 {
					t.Errorf("width %d: %d columns: %q", o.Width, n, line)
				}
			}
		}
	}
}

func TestADurableFilterIsOfTheList(t *testing.T) {
	only, err := filter.ParseDurable("wait>8s")
	if err != nil {
		t.Fatal(err)
	}
	f := NewDurableFold(DurableOptions{Filter: only}, durableNow)
	for i := range 10 {
		f.Add(waitingFor(i, "address"))
	}
	if d := f.Done(DurableSource{}); d.Threads != 10 || d.Matched != 1 || d.Rows[0].ID != "order-0000009" {
		t.Errorf("got %d of %d, %q", d.Matched, d.Threads, ids(d.Rows))
	}
}
