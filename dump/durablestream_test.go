package dump

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// The page of a stream says who has what, who is silent, and what was not read.
func TestAStreamIsTold(t *testing.T) {
	at := func(s int) time.Time { return durableNow.Add(time.Duration(s) * time.Second) }
	f := NewDurableFold(DurableOptions{}, durableNow)
	rows := []journal.DurableRow{
		{ID: "order-1", Body: "checkout", State: journal.Running, Since: at(-9), Steps: 4, Bytes: 100, Lease: &journal.Lease{Holder: "w1:4711", Since: at(-60), Taken: 2, Silent: true}},
		{ID: "order-2", Body: "checkout", State: journal.Hibernated, Since: at(-8), Steps: 3, Bytes: 90, Wait: &journal.Pending{Kind: journal.StepSignal, Name: "address"}, Lease: &journal.Lease{Since: at(-8)}, Inbox: 2},
		{ID: "order-3", Body: "checkout", State: journal.Hibernated, Since: at(-7), Wait: &journal.Pending{Kind: journal.StepSignal, Name: "address"}, Lease: &journal.Lease{}, Unread: true},
	}
	for _, r := range rows {
		f.Add(r)
	}
	source := DurableSource{Kind: FromStream, Path: "nats://n1:4222", Bytes: 2_000_000, Stream: &DurableStream{
		Name: "vt-shop", Namespace: "shop", Messages: 1234, Trees: 3, Read: 2, Listened: 2200 * time.Millisecond,
		Keepers: []DurableKeeper{{Name: "w1:4711", Trees: 1, Lease: 10 * time.Second, Silent: true}, {Name: "w2:99"}, {Name: "w4:5", Trees: 2, Lease: 10 * time.Minute, Unheard: true}},
	}}
	var b bytes.Buffer
	if err := DurablesText(&b, f.Done(source), TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	has := func(wanted ...string) {
		t.Helper()
		for _, w := range wanted {
			if !strings.Contains(b.String(), w) {
				t.Errorf("want %q in\n%s", w, b.String())
			}
		}
	}
	has("nats://n1:4222\n", "stream vt-shop of 1,234 messages, 2.0 MB", "w1:4711, has 1 tree, silent for 2.2s, with a lease of 10s: dead, or cut off\n", "w2:99, has 0 trees\n",
		"w4:5, has 2 trees, not heard of in 2.2s, which tells nothing: with its lease of 10m it says something",
		"at w1:4711 (silent) for 1m", "2 signals not taken", "hibernated     7s       ?        ?  checkout")

	b.Reset()
	h := &journal.History{Row: rows[0], Steps: []journal.DurableStep{}, Leases: []journal.LeaseMove{
		{Holder: "w0", To: at(-99), Given: true}, {Holder: "w3", From: at(-90), To: at(-60), Given: true, Err: "step 1: no"}, {Holder: "w1:4711", From: at(-60)},
	}}
	if err := DurableThreadText(&b, NewDurableThread(h, source, durableNow), false, TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	has("held by     w1:4711 for 1m", "it is silent: others take the thread if it is dead", "keepers     w0, before the checkpoint to", "given back", "w3, from", "given back: step 1: no", "w1:4711, from", "until now")

	b.Reset()
	source.Stream.Keepers = nil
	if err := DurableThreadText(&b, NewDurableThread(&journal.History{Row: rows[1]}, source, durableNow), false, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	has("keepers     none has a thread, and none was heard of in 2.2s", "held by     no keeper for 8s", "inbox       2 signals came that no keeper has taken yet")
}
