package flight

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	testCustomer = TextField("customer")
	testItems    = CountField("items")
	testTotal    = FloatField("total")
	testDelta    = IntField("delta")
	testPaid     = BoolField("paid")
	testTook     = DurationField("took")
	testSize     = BytesField("size")
	testCheckout = Register("flighttest.Checkout", testCustomer, testItems, testTotal, testDelta, testPaid, testTook, testSize)
	testTick     = Register("flighttest.Tick")
)

// forUserEvents makes r the recorder of user events, and its ring of carrier 5 that of the caller, which is thread 7.
func forUserEvents(t testing.TB, r *Recorder) *Ring {
	g := r.AcquireRing(5, 0, 1024)
	was, old := here, userKinds.recorder.Load()
	here = func() (*Ring, ThreadID) { return g, 7 }
	adoptUserKinds(r)
	t.Cleanup(func() { here = was; adoptUserKinds(old) })
	return g
}

// texts returns the fields of an event as "name=value".
func texts(k UserKindInfo, e Event, more []uint64) (all []string) {
	for _, f := range k.Fields {
		s := FieldUses[f.Use].Text(f.Word(e.Code, uint32(e.Stack), e.Arg, more))
		if f.Use == FieldText {
			s = f.Text(more)
		}
		all = append(all, f.Name+"="+s)
	}
	return all
}

// moreOf returns the words after event i.
func moreOf(evs []Event, i int) (words []uint64) {
	for _, e := range evs[i+1 : i+1+MoreSlots(evs[i].Kind, evs[i].Code)] {
		words = append(words, uint64(e.Time), uint64(e.Thread), e.Arg)
	}
	return words
}

func TestEventsOfTheProgramComeBack(t *testing.T) {
	r := newTest(t)
	forUserEvents(t, r)
	rd := openFile(t, r)
	span := testCheckout.Begin(testCustomer.Is("Ann"))
	testTick.Mark()
	span.End(testSize.Is(4096), testCustomer.Is("Ann Marie"), testItems.Is(3), testTotal.Is(9.75), testDelta.Is(-5), testPaid.Is(true), testTook.Is(3*time.Second))

	kinds, err := rd.UserKinds()
	if err != nil || len(kinds) < 2 {
		t.Fatalf("got %+v, %v", kinds, err)
	}
	byNumber := map[uint32]UserKindInfo{}
	for _, k := range kinds {
		byNumber[k.Number] = k
	}
	var got []string
	evs := eventsOf(t, rd, 5)
	for i, e := range evs {
		if e.Kind == EventMore {
			continue
		}
		if e.Thread != 7 {
			t.Errorf("got thread %d, want 7", e.Thread)
		}
		k := byNumber[uint32(e.Stack)]
		got = append(got, fmt.Sprint(e.Kind, " ", k.Name, " ", strings.Join(texts(k, e, moreOf(evs, i)), " ")))
	}
	want := []string{
		"span-begin flighttest.Checkout customer=Ann items=0 total=0 delta=0 paid=false took=0s size=0",
		"mark flighttest.Tick ",
		"span-end flighttest.Checkout customer=Ann Marie items=3 total=9.75 delta=-5 paid=true took=3s size=4096",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// recordProgram writes settings, events of the program and sums for the golden recording.
func recordProgram(r *Recorder) {
	s, _ := NamedSettings("profile")
	_ = s.Set("name=golden")
	_ = s.Set("slice.threshold=7ms")
	r.SetSettings(s)
	was, old := here, userKinds.recorder.Load()
	defer func() { here = was; adoptUserKinds(old) }()
	g := r.AcquireRing(9, 0, 256)
	here = func() (*Ring, ThreadID) { return g, 7 }
	adoptUserKinds(r)
	testCheckout.Begin(testCustomer.Is("Ann")).End(testItems.Is(3))
	words := TextOf("GET /cart")
	g.EmitMore(Now(), EventThreadName, 0, 0, 7, 0, words[:]...)
	for id := range ThreadID(flushAt) {
		endThread(r, g, 2, id+1000)
	}
}

func TestSettingsEventsAndSumsOfTheGoldenRecordings(t *testing.T) {
	old, err := Open(unpacked(t, blockerGolden))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	settings, err := old.Settings()
	users, err2 := old.UserKinds()
	sums, err3 := old.Totals()
	if settings.Known || len(users)+len(sums) != 0 || errors.Join(err, err2, err3) != nil {
		t.Errorf("before they were recorded: got %+v, %v, %v, %v; want nothing", settings, users, sums, errors.Join(err, err2, err3))
	}

	rd, err := Open(golden(t))
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	settings, err = rd.Settings()
	if err != nil || !settings.Known || settings.Name != "golden" || !settings.CPUTime || settings.Kinds[EventSlice] != (Setting{On: true, Threshold: 7 * time.Millisecond}) {
		t.Errorf("got %+v, %v", settings, err)
	}
	if _, got := totalOf(t, rd, 2); got.Ended != flushAt || got.ID != 2 {
		t.Errorf("got sums %+v", got)
	}
	users, err = rd.UserKinds()
	if err != nil {
		t.Fatal(err)
	}
	evs := eventsOf(t, rd, 9)
	found := 0
	for i, e := range evs {
		for _, k := range users {
			if e.Kind == EventSpanBegin && uint32(e.Stack) == k.Number && k.Name == "flighttest.Checkout" && texts(k, e, moreOf(evs, i))[0] == "customer=Ann" {
				found++
			}
		}
		if e.Kind == EventThreadName && Kinds[e.Kind].Fields[0].Text(moreOf(evs, i)) == "GET /cart" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("got %d of a span and a name among %d events, want both", found, len(evs))
	}
}

func TestSpansHaveTheirDuration(t *testing.T) {
	r := newTest(t)
	forUserEvents(t, r)
	rd := openFile(t, r)
	before := Now()
	s := testTick.Begin()
	from := Now()
	s.from -= Ticks(durationToTicks(50 * time.Millisecond)) // as if it had begun before
	until := Now()
	s.End()
	least, most := until.Sub(from)+50*time.Millisecond, Since(before)+50*time.Millisecond
	evs := eventsOf(t, rd, 5)
	if d := time.Duration(evs[len(evs)-1].Arg); d < least-time.Millisecond || d > most+time.Millisecond { // the rate of the clock may be measured anew meanwhile
		t.Errorf("got a duration of %v, want %v to %v", d, least, most)
	}
}

func TestTextsOfEventsAreCutAtACharacter(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{strings.Repeat("x", 48), strings.Repeat("x", 48)},
		{strings.Repeat("x", 49), strings.Repeat("x", 45) + "…"},
		{strings.Repeat("é", 30), strings.Repeat("é", 22) + "…"},
		{"", ""},
	} {
		words := TextOf(c.in)
		if got := (Field{At: AtMore}).Text(words[:]); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestSettingsDecideWhichEventsOfTheProgramAreRecorded(t *testing.T) {
	r := newTest(t)
	forUserEvents(t, r)
	rd := openFile(t, r)
	record := func(set ...string) int {
		t.Helper()
		s := DefaultSettings()
		for _, one := range set {
			if err := s.Set(one); err != nil {
				t.Fatal(err)
			}
		}
		r.SetSettings(s)
		before := countOf(t, rd, EventSpanBegin) + countOf(t, rd, EventSpanEnd) + countOf(t, rd, EventMark)
		for range 10 {
			testTick.Begin().End()
			testTick.Mark()
		}
		return int(countOf(t, rd, EventSpanBegin)+countOf(t, rd, EventSpanEnd)+countOf(t, rd, EventMark)) - int(before)
	}
	for _, c := range []struct {
		set  string
		want int
	}{{"name=a", 30}, {"flighttest.Tick=off", 0}, {"flighttest.*=off", 0}, {"flighttest.Tick.threshold=1h", 10}, {"flighttest.Tick.every=10", 2*10/10 + 1}, {"other.Tick=off", 30}, {"flighttest.Tick.limit=4", 4 + 4}} {
		began := Now()
		got := record(c.set)
		switch c.set {
		case "flighttest.Tick.every=10": // begins and marks take turns: one of them in ten
			if got < 2 || got > 4 {
				t.Errorf("%s: got %d events, want 2 to 4", c.set, got)
			}
		case "flighttest.Tick.limit=4":
			if most := 8 * (1 + int(Since(began)/time.Second)); got < 4 || got > most { // spans have two, and another second may begin
				t.Errorf("%s: got %d events, want 4 to %d", c.set, got, most)
			}
		default:
			if got != c.want {
				t.Errorf("%s: got %d events, want %d", c.set, got, c.want)
			}
		}
	}
}

func TestBadKindsOfEventsPanic(t *testing.T) {
	many := make([]UserField, maxUserFields+1)
	for i := range many {
		many[i] = IntField(fmt.Sprint("f", i))
	}
	for name, f := range map[string]func(){
		"no dot":          func() { Register("Checkout") },
		"a space":         func() { Register("cart.Check out") },
		"two of one name": func() { Register("flighttest.Bad", IntField("a"), TextField("a")) },
		"other fields":    func() { Register("flighttest.Tick", IntField("a")) },
		"too many":        func() { Register("flighttest.Bad", many...) },
		"too long": func() {
			Register("flighttest.Bad", TextField("a"), TextField("b"), TextField("c"), TextField("d"), TextField("e"))
		},
		"empty field": func() { Register("flighttest.Bad", IntField("")) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "flight: register ") {
					t.Errorf("got %q, want a panic that names the kind", s)
				}
			}()
			f()
		})
	}
	if Register("flighttest.Tick") != testTick {
		t.Error("registering the same again made another kind")
	}
}

func TestEventsOfTheProgramAllocateNothing(t *testing.T) {
	r := newTest(t)
	forUserEvents(t, r)
	if n := testing.AllocsPerRun(1000, func() {
		s := testCheckout.Begin()
		testTick.Mark()
		s.End(testCustomer.Is("Ann"), testItems.Is(3), testTotal.Is(1.5))
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestEventsWhoseSlotsAreNotAllThereAreHeldBack(t *testing.T) {
	r := newTest(t)
	g, rd := r.AcquireRing(5, 0, 64), openFile(t, r)
	words := TextOf("a name that is longer than one slot")
	g.EmitMore(Now(), EventThreadName, 0, 0, 7, 0, words[:]...)
	row := ringOfCarrier(t, rd, 5)
	whole := g.hdr.Head
	for head := uint64(0); head <= whole; head++ {
		put64(&g.hdr.Head, head)
		evs, next, lost, err := rd.Events(row.Index, 0, 64)
		if head < whole && (len(evs) != 0 || next != 0) || head == whole && (len(evs) != 3 || next != 3) || lost != 0 || err != nil {
			t.Errorf("head %d: got %d slots, next %d, lost %d, %v", head, len(evs), next, lost, err)
		}
	}
	evs, next, lost, err := rd.Events(row.Index, 1, 64)
	if len(evs) != 0 || next != 3 || lost != 2 || err != nil {
		t.Errorf("from the middle: got %d slots, next %d, lost %d, %v; want 0, 3, 2, nil", len(evs), next, lost, err)
	}
	if evs, next, _, _ = rd.Events(row.Index, 0, 2); len(evs) != 0 || next == 0 {
		t.Errorf("more slots than asked for: got %d, next %d; want to go on", len(evs), next)
	}
}

func BenchmarkUserEvents(b *testing.B) {
	r, err := New(Options{Dir: b.TempDir(), Mode: ModePrivate})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	forUserEvents(b, r)
	b.Run("event=mark", func(b *testing.B) {
		for b.Loop() {
			testTick.Mark()
		}
	})
	items := CountField("items")
	three := Register("flighttest.Three", items, testTotal, testPaid)
	b.Run("event=mark/fields=3", func(b *testing.B) {
		for b.Loop() {
			three.Mark(items.Is(3), testTotal.Is(1.5), testPaid.Is(true))
		}
	})
	b.Run("event=span/fields=3", func(b *testing.B) {
		for b.Loop() {
			three.Begin().End(items.Is(3), testTotal.Is(1.5), testPaid.Is(true))
		}
	})
	b.Run("event=mark/text=1", func(b *testing.B) {
		for b.Loop() {
			testCheckout.Mark(testCustomer.Is("Ann Marie"), testItems.Is(3))
		}
	})
}
