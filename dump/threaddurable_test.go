package dump

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// hibernatedFile is a flight file with an ordinary thread, a durable one that is hibernated, and one that calls.
func hibernatedFile(t *testing.T) *flight.Reader {
	t.Helper()
	rec, err := flight.New(flight.Options{Mode: flight.ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	now := flight.Now()
	plain := rec.GetRecord()
	plain.Init(flight.StateRunnable, 1, 0, 0, 0, 0, now)
	calls := rec.GetRecord()
	calls.Init(flight.StateRunnable, 2, 0, 0, 0, 0, now)
	calls.Mounted(now, 0)
	b := flight.DurableSignal.Blocker("approved")
	sleeps := rec.GetRecord()
	sleeps.Hibernated(now.Add(-3*time.Hour), 3, flight.ReasonSignal, 0, b)
	rec.SetName(sleeps, "checkout order-4711")
	d := rec.OpenDurable("order-4711", "checkout")
	d.Is(3, false)
	d.Learned(214, 2)
	d.Waits(flight.DurableSignal, "approved", 0, time.Now().Add(-3*time.Hour), time.Date(2036, 1, 2, 3, 4, 5, 0, time.Local))
	d = rec.OpenDurable("order-1", "refund")
	d.Is(2, false)
	d.Learned(5, 0)
	d.Waits(flight.DurableCall, "pay", 0, time.Now().Add(-time.Minute), time.Time{})
	r, err := rec.Reader()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAHibernatedThreadIsToldWithItsJournalAndItsWait(t *testing.T) {
	src := hibernatedFile(t)
	s, err := Take(context.Background(), src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var g *Group
	for i := range s.Groups {
		if s.Groups[i].State == flight.StateHibernated {
			g = &s.Groups[i]
		}
	}
	if g == nil || g.Blocker != `signal "approved"` || g.Reason != flight.ReasonSignal || len(g.Examples) != 1 || g.Wait.Max < 2*time.Hour {
		t.Fatalf("got %+v", g)
	}
	if e := g.Examples[0]; e.Durable != "order-4711" || e.Steps != 214 || e.Name != "checkout order-4711" {
		t.Errorf("got example %+v", e)
	}
	var text bytes.Buffer
	if err := Text(&text, s, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hibernated", `signal "approved"`, `"checkout order-4711" (214 steps)`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the dump lacks %q:\n%s", want, text.String())
		}
	}

	text.Reset()
	r, err := TakeThread(context.Background(), src, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := ThreadText(&text, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hibernated for 3 h", `"order-4711" of body checkout, 214 steps, 2 errors`, `signal "approved" until 2036-01-02 03:04:05, since `, `waits for   signal "approved", with a time limit`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the thread lacks %q:\n%s", want, text.String())
		}
	}
	text.Reset()
	if r, err = TakeThread(context.Background(), src, 2); err != nil || r.Durable == nil || r.Durable.Wait == nil || r.Durable.Wait.Kind != "call" || r.Durable.Wait.Name != "pay" {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err = TakeThread(context.Background(), src, 1); err != nil || r.Durable != nil {
		t.Errorf("an ordinary thread: got %+v, %v", r.Durable, err)
	}
}

func TestThreadsAreChosenAndGroupedByTheirDurableThread(t *testing.T) {
	src := hibernatedFile(t)
	for text, want := range map[string]int{"durable=order-4711": 1, `durable!=""`: 2, "body=refund": 1, "steps>100": 1, "steps=0": 1, `blocker~approved`: 1, "state=hibernated reason=signal": 1} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Take(context.Background(), src, Options{Filter: f})
		if err != nil || s.Threads != want {
			t.Errorf("%s: got %d threads, %v; want %d", text, s.Threads, err, want)
		}
	}
	by, err := ParseBy("body")
	if err != nil {
		t.Fatal(err)
	}
	table, err := TakeTable(context.Background(), src, by, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := TableJSON(&b, table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"checkout"`, `"refund"`, `"(no durable thread)"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %s:\n%s", want, b.String())
		}
	}
	w, err := TakeWaits(context.Background(), src)
	if err != nil || w.Others[flight.ReasonSignal] != 1 {
		t.Errorf("got %+v, %v; want one that waits for a signal among the others", w, err)
	}
}
