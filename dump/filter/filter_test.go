package filter

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A world is threads with their texts.
type world struct {
	scopes []string
	stacks [][]string
	names  []string
	asked  int
}

func (w *world) Scope(key int) string    { w.asked++; return w.scopes[key] }
func (w *world) Frames(key int) []string { w.asked++; return w.stacks[key] }
func (w *world) Name(row *Row) string    { return w.names[row.Key] }
func (w *world) Creator(row *Row) flight.ThreadID {
	if row.ID == 2 {
		return 1
	}
	return 0
}

func (w *world) Scheduler(id flight.SchedulerID) string { return fmt.Sprint("s", id) }
func (w *world) Blocker(b flight.Blocker) string        { return b.String() }
func (w *world) Durable(row *Row) *flight.DurableRow {
	if row.ID == 4 {
		return &flight.DurableRow{ID: "order-4711", Body: "checkout", Steps: 214}
	}
	return nil
}
func (w *world) Label(row *Row, key string) (string, bool) {
	if key == "tenant" && row.Key == 1 {
		return "acme", true
	}
	return "", false
}

var (
	shop = &world{
		scopes: []string{"root", "root/shop", "root/shop/req/GET /cart"},
		stacks: [][]string{{"vsync.(*Mutex).Lock", "mutex.go:31", "shop.(*Store).query", "store.go:88"}, {"database/sql.(*DB).conn", "sql.go:12", "shop.handle", "shop.go:4"}},
		names:  []string{"", "GET /cart", "idle 3", "ünï"},
	}
	rows = []Row{
		{ID: 1, State: flight.StateMounted, Scope: 0, Stack: -1, Key: 0, Carrier: 3, Mounts: 7},
		{ID: 2, State: flight.StateBlocked, Reason: flight.ReasonLock, Wait: time.Minute, Scope: 2, Stack: 0, Key: 1, Blocker: flight.BlockAt(flight.BlockedByMutex, 0xc000)},
		{ID: 3, State: flight.StateParked, Reason: flight.ReasonPark, Wait: 5 * time.Second, Scope: 1, Stack: 1, Key: 2, Pins: 2, Flags: flight.RecordOnGoroutine},
		{ID: 4, State: flight.StateTimedParked, Reason: flight.ReasonSleep, Wait: time.Hour, Scope: 1, Stack: 1, Key: 3, Scheduler: 9},
	}
)

func TestFiltersMatchTheThreadsTheyName(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "1 2 3 4",
		"  ":                                    "1 2 3 4",
		"state=parked":                          "3",
		"durable=order-4711":                    "4",
		"durable~order":                         "4",
		"durable!=\"\"":                         "4",
		"body=checkout steps>100":               "4",
		"steps=0":                               "1 2 3",
		"state!=parked":                         "1 2 4",
		"state=*parked":                         "3 4",
		"state~park":                            "3 4",
		"state!~park":                           "1 2",
		"wait>30s":                              "2 4",
		"wait<=5s":                              "1 3",
		"wait>=1m wait<1h":                      "2",
		`scope~"req/.*"`:                        "2",
		"scope=root/shop":                       "3 4",
		"scope=root/*":                          "2 3 4",
		"stack~sql":                             "3 4",
		"stack!~sql":                            "1 2",
		`stack="shop.(*Store).query"`:           "2",
		"stack~store.go:88":                     "2",
		"-stack~sql":                            "1 2",
		"not stack~sql":                         "1 2",
		"- stack~sql":                           "1 2",
		"not not stack~sql":                     "3 4",
		"reason=lock or reason=sleep":           "2 4",
		"state=parked and wait>1s":              "3",
		"(state=parked or state=blocked) -id=3": "2",
		"id=3 or id=4 wait>1m":                  "3 4",
		"(id=3 or id=4) wait>1m":                "4",
		"id>2":                                  "3 4",
		"id=#2":                                 "2",
		`name="GET /cart"`:                      "2",
		"-name=idle*":                           "1 2 4",
		`name=""`:                               "1",
		"blocker~mutex":                         "2",
		"scheduler=s9":                          "4",
		"carrier=3":                             "1",
		"kind=goroutine":                        "3",
		"creator=1":                             "2",
		"mounts>0":                              "1",
		"pins>0":                                "3",
		"label:tenant=acme":                     "2",
		"label:tenant!=acme":                    "1 3 4",
		"cart":                                  "2",
		"SQL":                                   "3 4",
		`"get /c"`:                              "2",
		"ünï":                                   "4",
		"-cart wait>1s":                         "3 4",
		`"or"`:                                  "2",
		`"="`:                                   "",
		"(((id=1)))":                            "1",
		"order":                                 "",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := matches(f); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		again, err := Parse(f.String())
		if err != nil || again.String() != f.String() || matches(again) != want {
			t.Errorf("%s: written as %s, which is %v, %v", text, f, again, err)
		}
	}
}

func matches(f *Filter) string {
	m := f.Matcher(shop)
	var ids []string
	for i := range rows {
		if m.Match(&rows[i]) {
			ids = append(ids, fmt.Sprint(rows[i].ID))
		}
	}
	return strings.Join(ids, " ")
}

func TestAWrongFilterPointsAtTheCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"state=parkd": "      ^^^^^ state is never \"parkd\"; did you mean parked?",
		"stat=parked": "^^^^ there is no field \"stat\"; did you mean state?",
		"wait>30":     "     ^^ \"30\" is no duration; a number with a unit, such as 30s, 5m or 1h30m",
		"wait~30s":    "     ^^^ wait is no text: ~ does not work; = != < > <= >=",
		"name>x":      "     ^ name is a text: > does not work; = != ~ !~",
		"id=x":        "   ^ \"x\" is no number",
		`name="x`:     "     ^^ this quote is not closed",
		"(id=1":       "^ this parenthesis is not closed",
		"id=1)":       "    ^ a closing parenthesis without an opening one",
		"id=":         "   ^ a value is missing; a word, or a text in quotes: \"…\"",
		"id=1 or":     "       ^ a condition is missing; FIELD=VALUE, or a word to look for",
		"or id=1":     "^^ a condition is missing before this; put the word in quotes to look for it",
		"()":          " ^ a condition is missing before this",
		"stack~(":     "      ^ a value is missing before this; a word, or a text in quotes: \"…\"",
		`stack~"("`:   "      ^^^ bad pattern: missing closing ): `(`; RE2 syntax, as of Go's package regexp",
		"ü state=x":   "        ^ state is never \"x\"; one of new, runnable, mounted, parked, timed-parked, blocked, waiting, pinned, hibernated",
		`""`:          "^^ nothing to look for",
		"=":           "^ a field is missing before this; FIELD=VALUE, or the text in quotes to look for it",
		"id=1 >=30s":  "     ^^ a field is missing before this; FIELD>=VALUE, or the text in quotes to look for it",
		"-~x":         " ^ a field is missing before this; FIELD~VALUE, or the text in quotes to look for it",
		`"id"=1`:      "    ^ a field is missing before this; FIELD=VALUE, or the text in quotes to look for it",
		"id=1 -":      "      ^ a condition is missing; FIELD=VALUE, or a word to look for",
		"colour=red":  "^^^^^^ there is no field \"colour\"; one of scope, name, state, reason, wait, stack, blocker, scheduler, carrier, kind, id, creator, waker, durable, body, steps, mounts, pins, label:KEY",
	} {
		_, err := Parse(text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error with a place", text, err)
			continue
		}
		_, pointer, _ := strings.Cut(e.Point(), "\n")
		got := pointer + " " + e.Why
		if e.Try != "" {
			got += "; " + e.Try
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestAMatcherAsksForATextOnce(t *testing.T) {
	f, err := Parse(`scope~req stack!~sql`)
	if err != nil {
		t.Fatal(err)
	}
	m := f.Matcher(shop)
	shop.asked = 0
	for range 1000 {
		for i := range rows {
			m.Match(&rows[i])
		}
	}
	if shop.asked > 3+2 {
		t.Errorf("asked %d times for the texts of 3 scopes and 2 stacks", shop.asked)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`(state=parked or wait>30s) -name="id*" not scope~"req/.*" cart label:a=b`)
	f.Add(`stack!~"\\(\"x" and id<=#7`)
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.At > len(e.Text) || e.Why == "" {
				t.Fatalf("%q: got %#v", text, err)
			}
			_ = e.Point()
			return
		}
		again, err := Parse(parsed.String())
		if err != nil || again.String() != parsed.String() {
			t.Fatalf("%q was written as %q, which is %q, %v", text, parsed, again, err)
		}
		if matches(parsed) != matches(again) {
			t.Fatalf("%q matches %s, and %q matches %s", text, matches(parsed), parsed, matches(again))
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	f, err := Parse(`scope~"req/.*" state=blocked wait>30s stack~query`)
	if err != nil {
		b.Fatal(err)
	}
	m := f.Matcher(shop)
	n := 0
	for i := 0; b.Loop(); i++ {
		if m.Match(&rows[i&3]) {
			n++
		}
	}
}

var update = flag.Bool("update", false, "write the fields into docs/filter.md")

// fieldsTable is the table of a language's fields.
func fieldsTable(fields []Field) string {
	var b strings.Builder
	b.WriteString("| field | is |\n|---|---|\n")
	for _, f := range fields {
		about := f.About
		if len(f.Values) > 0 {
			about += ": " + strings.Join(f.Values, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, about)
	}
	return b.String()
}

func TestTheDocsHaveTheFields(t *testing.T) {
	const path = "../../docs/filter.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		before, rest, _ := strings.Cut(string(page), "| field | is |\n")
		_, after, _ := strings.Cut(rest, "| `label:KEY`")
		between, rest, _ := strings.Cut(after, "| field | is |\n")
		_, after, _ = strings.Cut(rest, "\n\n")
		page = []byte(before + fieldsTable(Fields) + "| `label:KEY`" + between + fieldsTable(DurableFields) + "\n" + after)
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{fieldsTable(Fields), fieldsTable(DurableFields)} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/filter.md is stale: go test ./dump/filter -update; want\n%s", want)
		}
	}
}
