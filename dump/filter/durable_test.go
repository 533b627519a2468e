package filter

import (
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

func TestADurableFilterLooksAtRows(t *testing.T) {
	now := time.Now()
	row := &journal.DurableRow{
		ID: "order-1/2", Body: "checkout", State: journal.Hibernated, Since: now.Add(-time.Hour), Wait: &journal.Pending{Kind: journal.StepSignal, Name: "address"},
		Steps: 12, Kept: 3, Bytes: 400, Children: 1, Attempts: 2, Failed: 1, Err: "card refused",
		Lease: &journal.Lease{Holder: "w1:99", Taken: 3}, Inbox: 2,
	}
	asked := map[string]bool{}
	for text, want := range map[string]bool{
		"": true, `id="order-1/*"`: true, "body!=checkout": false, "state=hibernated": true, "state=done": false, "waits=signal for=address": true, "for=other": false,
		"wait>30m": true, "wait>2h": false, "steps>=12": true, "kept=3": true, "bytes<400": false, "children=1": true, "attempts>1": true, "failed=0": false,
		"error~refused": true, "-error~refused or body=x": false, "REFUSED": true, "nothing": false, "address": true,
		`keeper="w1:*"`: true, "keeper=w2": false, "leases>2": true, "leases=0": false, "inbox>0": true, "inbox>2": false,
	} {
		f, err := ParseDurable(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f.MatchDurable(row, now); got != want {
			t.Errorf("%q: got %v", text, got)
		}
		for i := range DurableFields {
			if strings.Contains(text, DurableFields[i].Name) {
				asked[DurableFields[i].Name] = true
			}
		}
	}
	if len(asked) != len(DurableFields) {
		t.Errorf("asked for %d fields of %d: %v", len(asked), len(DurableFields), asked)
	}
	if f, _ := ParseDurable("waits=signal"); f.MatchDurable(&journal.DurableRow{ID: "x"}, now) {
		t.Error("a thread that waits for nothing waits for a signal")
	}
	for _, wrong := range []string{"scope=x", "label:k=v", "state=parked", "wait>x"} {
		if _, err := ParseDurable(wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}
