package goroutines_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/dump/goroutines"
)

// ages has goroutines with and without an age: Go gives one from a minute on, and only after a garbage collection.
const ages = `goroutine 1 [chan receive]:
main.main()
	/src/main.go:12 +0x1d

goroutine 18 [sync.Mutex.Lock, 5 minutes]:
main.work()
	/src/main.go:20 +0x1d

goroutine 19 [sync.Mutex.Lock]:
main.work()
	/src/main.go:20 +0x1d
`

func agesRead(t *testing.T) *goroutines.Dump {
	t.Helper()
	r, err := goroutines.Read(strings.NewReader(ages), goroutines.Options{Name: "shop", At: time.Unix(1_700_000_000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnAgeThatADumpDoesNotSayIsUnknownAndNotZero(t *testing.T) {
	r := agesRead(t)
	s, err := dump.Take(context.Background(), r, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := dump.Text(&b, s, dump.TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x 2 blocked 5m or ?   lock", "x 1 parked ?   on channel"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "0s") {
		t.Errorf("nobody has waited for 0 s:\n%s", b.String())
	}
	g := &s.Groups[0]
	if want := (dump.Wait{Min: 5 * time.Minute, Median: 5 * time.Minute, Max: 5 * time.Minute, Unknown: 1}); g.Wait != want {
		t.Errorf("got %+v, want %+v", g.Wait, want)
	}
	if len(g.Examples) != 2 || g.Examples[0].Unknown || g.Examples[0].Wait != 5*time.Minute || !g.Examples[1].Unknown {
		t.Errorf("got examples %+v; want the known wait first, and the other unknown", g.Examples)
	}

	b.Reset()
	if err := dump.Markdown(&b, s, dump.MarkdownOptions{}); err != nil || !strings.Contains(b.String(), " parked park ? in root") || strings.Contains(b.String(), "0s") {
		t.Errorf("Markdown: got %v and\n%s", err, b.String())
	}
}

func TestAThreadOfUnknownAgeSaysSo(t *testing.T) {
	report, err := dump.TakeThread(context.Background(), agesRead(t), 19)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := dump.ThreadText(&b, report, dump.TextOptions{}); err != nil || !strings.Contains(b.String(), "blocked, for how long is unknown   lock\n") {
		t.Errorf("got %v and\n%s", err, b.String())
	}
	if strings.Contains(b.String(), "mounted 0") {
		t.Errorf("how often a goroutine was mounted is not known:\n%s", b.String())
	}
	b.Reset()
	if err := dump.ThreadJSON(&b, report); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc["since"] != nil {
		t.Errorf("got %v and\n%s\nwant no moment since when", err, b.String())
	}
}

func TestFiltersByWaitMatchKnownWaitsOnly(t *testing.T) {
	for text, want := range map[string]int{"wait<1m": 0, "wait>=1m": 1, "wait=0s": 0, "wait>=0s": 1, "wait!=5m": 2} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := dump.Take(context.Background(), agesRead(t), dump.Options{Filter: f})
		if err != nil || s.Threads != want {
			t.Errorf("%s: got %v and %d goroutines, want %d", text, err, s.Threads, want)
		}
	}
}
