package flight

import (
	"net/netip"
	"strings"
	"testing"
)

func TestARewrittenReaderGivesNoOtherText(t *testing.T) {
	r := newTest(t)
	g := forUserEvents(t, r)
	rec := r.GetRecord()
	rec.Init(StateNew, 7, 0, 0, 0, 0, Now())
	r.SetName(rec, "thread-secret")
	r.OpenScope(5, "scope-secret", 0, 0, 0, Now())
	r.OpenScheduler(3, "scheduler-secret", Now())
	r.OpenBlocker(BlockerSpec{Blocker: BlockFile(8), Name: "lock-secret"}, Now())
	r.OpenBlocker(BlockerSpec{Blocker: BlockFile(9), Local: netip.MustParseAddrPort("10.1.2.3:80"), Remote: netip.MustParseAddrPort("192.0.2.9:4711")}, Now())
	name := TextOf("event-secret")
	g.EmitMore(Now(), EventThreadName, 0, 0, 7, 0, name[:]...)
	for b, with := range map[Blocker]string{BlockSocket(9): "192.0.2.9:4711", BlockFile(8): "/path/secret"} {
		text := TextOf(with)
		more := append([]uint64{1, 2}, text[:]...)
		g.EmitMore(Now(), EventIO, ReasonRead, 0, 7, uint64(b), more...)
	}
	span := testCheckout.Begin(testCustomer.Is("customer-secret"))
	span.End(testCustomer.Is("Ann"), testItems.Is(4))
	id := r.Intern("string-secret")

	rd := openFile(t, r)
	asked := map[TextKind]bool{}
	rd.Rewrite(func(kind TextKind, s string) string {
		asked[kind] = true
		if kind == TextAddress && strings.HasPrefix(s, "192.") {
			return "hidden\x1b"
		}
		return strings.ReplaceAll(s, "secret", "X")
	})
	var all []string
	if _, err := rd.Threads(t.Context(), func(rows []ThreadRow) {
		names := rd.Names()
		for _, row := range rows {
			all = append(all, rd.ThreadName(row), names.Of(row), rd.Name(row.Name))
		}
	}); err != nil {
		t.Fatal(err)
	}
	scopes, err := rd.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scopes {
		all = append(all, s.Name)
	}
	schedulers, err := rd.Schedulers()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range schedulers {
		all = append(all, s.Name)
	}
	blockers, err := rd.Blockers()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blockers {
		all = append(all, b.Name)
		if b.Remote.IsValid() || b.Pollers[0] == 0 && b.Local.IsValid() && b.Local.String() != "10.1.2.3:80" {
			t.Errorf("blocker %+v: an address that was rewritten is still there, or one that was not is gone", b)
		}
	}
	users, err := rd.UserKinds()
	if err != nil {
		t.Fatal(err)
	}
	rings, err := rd.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range rings {
		evs, _, _, err := rd.Events(ring.Index, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for j, e := range evs {
			switch e.Kind {
			case EventThreadName:
				all = append(all, Kinds[e.Kind].Fields[0].Text(moreOf(evs, j)))
			case EventIO:
				all = append(all, Kinds[e.Kind].Fields[5].Text(moreOf(evs, j)))
			case EventSpanBegin, EventSpanEnd:
				for _, k := range users {
					if k.Number == uint32(e.Stack) && k.Name == "flighttest.Checkout" {
						all = append(all, texts(k, e, moreOf(evs, j))...)
					}
				}
			}
		}
	}
	all = append(all, rd.String(id))
	text := strings.Join(all, "\n")
	for _, want := range []string{"thread-X", "scope-X", "scheduler-X", "lock-X", "customer=customer-X", "customer=Ann", "event-X", "items=4", "string-X", "10.1.2.3:80→hidden\ufffd", "\nhidden\ufffd", "/path/X"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, bad := range []string{"secret", "192.0.2.9", "\x1b"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q was given:\n%s", bad, text)
		}
	}
	for _, kind := range []TextKind{TextUnknown, TextThread, TextScope, TextBlocker, TextAddress, TextOther} {
		if !asked[kind] {
			t.Errorf("nobody asked about texts of kind %d", kind)
		}
	}
	if n := strings.Count(text, "thread-X"); n < 3 {
		t.Errorf("%d names of the thread, want one from each way of reading it", n)
	}
}
