package flight

import (
	"strings"
	"testing"
	"time"
)

func TestSettingsTextComesBack(t *testing.T) {
	for _, name := range SettingsNames {
		s, err := NamedSettings(name)
		if err != nil {
			t.Fatal(err)
		}
		checkComesBack(t, s)
		for _, set := range []string{"park.stack=off", "park.depth=7", "slice.threshold=5ms", "yield=off", "mount.every=10", "unpark.limit=1000", "cpu-time=on", "cart.Checkout.threshold=1ms", "cart.*=off", "name=mine"} {
			if err := s.Set(set); err != nil {
				t.Fatalf("%s: %v", set, err)
			}
			checkComesBack(t, s)
		}
	}
}

func checkComesBack(t *testing.T, s Settings) {
	t.Helper()
	back, err := ParseSettings(s.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, s)
	}
	if back.String() != s.String() || back.Name != s.Name || back.Kinds != s.Kinds {
		t.Errorf("got\n%s\nwant\n%s", back, s)
	}
}

func TestBadSettingsAreRefusedWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"pork = on":                         `line 1: no kind of events "pork"`,
		"park.stack = maybe":                "line 1: park.stack=maybe: want on or off",
		"mount.threshold = 1ms":             "mount.threshold: events of this kind have no duration",
		"mount.stack = on":                  "mount.stack: events of this kind have no stack",
		"# fine\n\npark.depth = 65":         "line 3: park.depth=65: want 1 to 64",
		"slice.threshold = 5":               "want a duration such as 5ms",
		"slice.threshold = -5ms":            "want a duration such as 5ms",
		"park = on\nsettings = profile":     "line 2: settings must come first",
		"settings = loud":                   `no settings "loud": want default, profile, off`,
		"park":                              "want KIND=on, KIND=off or KIND.PROPERTY=VALUE",
		"more = off":                        `no kind of events "more"`,
		"cart.Check out = off":              "bad name",
		"park.every = -1":                   "want a number",
		"name = " + strings.Repeat("x", 49): "name of 49 bytes",
	} {
		if _, err := ParseSettings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
}

func FuzzParseSettings(f *testing.F) {
	s, _ := NamedSettings("profile")
	f.Add(s.String())
	f.Add("settings = off\npark.depth = 3 # frames\ncart.*.every = 7")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSettings(text)
		if err != nil {
			return
		}
		back, err := ParseSettings(s.String())
		if err != nil || back.String() != s.String() {
			t.Errorf("%q became\n%s\nand that\n%s, %v", text, s, back, err)
		}
	})
}

func TestTheFileTellsTheSettings(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	got, err := rd.Settings()
	if err != nil || !got.Known || got.Name != "default" || got.Kinds != DefaultSettings().Kinds || got.CPUTime {
		t.Fatalf("got %+v, %v; want those of default", got, err)
	}
	s, _ := NamedSettings("profile")
	for _, set := range []string{"name=mine", "park.depth=5", "slice.threshold=7ms", "mount.every=3", "unpark.limit=9"} {
		if err := s.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	r.SetSettings(s)
	got, err = rd.Settings()
	if err != nil || got.Name != "mine" || got.Kinds != s.Kinds || !got.CPUTime {
		t.Errorf("got %+v, %v; want %+v", got, err, s)
	}
	if n := countOf(t, rd, EventSettings); n != 2 {
		t.Errorf("got %d events of changed settings, want 2", n)
	}
}

// countOf returns how many events of a kind rings count.
func countOf(t *testing.T, rd *Reader, k Kind) (n uint64) {
	t.Helper()
	rings, err := rd.Rings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rings {
		n += rings[i].Counts[k]
	}
	return n
}

// eventsOf returns the events of a carrier's ring.
func eventsOf(t *testing.T, rd *Reader, c CarrierID) []Event {
	t.Helper()
	evs, _, _, err := rd.Events(ringOfCarrier(t, rd, c).Index, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func TestWhatIsOffIsCountedAndNotRecorded(t *testing.T) {
	for _, sw := range switches {
		t.Run(sw.name, func(t *testing.T) {
			r := newTest(t)
			off, _ := NamedSettings("off")
			r.SetSettings(off)
			g, rd := r.AcquireRing(5, 0, 64), openFile(t, r)
			rec := r.GetRecord()
			rec.Init(StateRunnable, 7, 0, 1, 0, 0, Now())
			rec.Mounted(Now(), 5)
			sw.combined(g, rec, Now())
			if evs := eventsOf(t, rd, 5); len(evs) != 0 {
				t.Errorf("got %+v, want nothing", evs)
			}
			total := uint64(0)
			row := ringOfCarrier(t, rd, 5)
			for _, n := range row.Counts {
				total += n
			}
			if total == 0 {
				t.Error("got no counts")
			}
			if sw.name == "Park" && row.Parks[ReasonLock] != 1 {
				t.Errorf("got parks %v, want one for a lock", row.Parks)
			}
		})
	}
}

func TestOneInSoManyIsRecorded(t *testing.T) {
	r := newTest(t)
	s := DefaultSettings()
	if err := s.Set("mount.every=10"); err != nil {
		t.Fatal(err)
	}
	r.SetSettings(s)
	g, rd := r.AcquireRing(5, 0, 4096), openFile(t, r)
	rec := r.GetRecord()
	rec.Init(StateRunnable, 7, 0, 1, 0, 0, Now())
	for range 1000 {
		g.Mount(rec, 7, Now())
	}
	if n := len(eventsOf(t, rd, 5)); n != 100 {
		t.Errorf("got %d events, want 100", n)
	}
	if n := countOf(t, rd, EventMount); n != 1000 {
		t.Errorf("got a count of %d, want 1000", n)
	}
}

func TestAtMostSoManyAreRecordedInASecond(t *testing.T) {
	r := newTest(t)
	s := DefaultSettings()
	if err := s.Set("mount.limit=7"); err != nil {
		t.Fatal(err)
	}
	r.SetSettings(s)
	g, rd := r.AcquireRing(5, 0, 4096), openFile(t, r)
	at := Now()
	for second := range 3 {
		for i := range 100 {
			g.Emit(at.Add(time.Duration(second)*1100*time.Millisecond+time.Duration(i)), EventMount, 0, 0, 1, 0)
		}
	}
	if n := len(eventsOf(t, rd, 5)); n != 21 {
		t.Errorf("got %d events, want 7 in each of 3 seconds", n)
	}
}

func TestAnEventBeyondTheLimitIsCountedAndNeedNotBeMade(t *testing.T) {
	r := newTest(t)
	s := DefaultSettings()
	if err := s.Set("mount.limit=7"); err != nil {
		t.Fatal(err)
	}
	r.SetSettings(s)
	g, rd := r.AcquireRing(5, 0, 4096), openFile(t, r)
	at := Now()
	made := 0
	for second := range 2 {
		for i := range 100 {
			if now := at.Add(time.Duration(second)*1100*time.Millisecond + time.Duration(i)); !g.Full(now, EventMount) {
				g.Emit(now, EventMount, 0, 0, 1, 0)
				made++
			}
		}
	}
	if made != 14 || len(eventsOf(t, rd, 5)) != 14 {
		t.Errorf("made %d, %d are recorded; want 7 in each of 2 seconds", made, len(eventsOf(t, rd, 5)))
	}
	if n := countOf(t, rd, EventMount); n != 200 {
		t.Errorf("got a count of %d, want 200", n)
	}
	var none *Ring
	if none.Full(at, EventMount) || g.Full(at.Add(time.Hour), EventUnmount) {
		t.Error("full without a limit")
	}
}

func TestThresholdsDecideWhatCounts(t *testing.T) {
	r := newTest(t)
	ms := func(n int) Ticks { return Ticks(0).Add(time.Duration(n) * time.Millisecond) }
	check := func(k Kind, d Ticks, want bool) {
		t.Helper()
		if got := r.Over(k, d); got != want {
			t.Errorf("%s of %v: got %v, want %v", k, d.Sub(0), got, want)
		}
	}
	check(EventSlice, ms(30), true)
	check(EventSlice, ms(10), false)
	check(EventSteal, ms(1000), false)
	s := DefaultSettings()
	if err := s.Set("slice.threshold=5ms"); err != nil {
		t.Fatal(err)
	}
	r.SetSettings(s)
	check(EventSlice, ms(10), true)
	off, _ := NamedSettings("off")
	r.SetSettings(off)
	check(EventSlice, ms(1<<20), false)
	var none *Recorder
	if none.Over(EventSlice, ms(1000)) || none.On(EventMount) {
		t.Error("a recorder that is off records")
	}
}

//go:noinline
func deeper(r *Recorder, n int) StackID {
	if n > 0 {
		return deeper(r, n-1)
	}
	return r.Stack(0)
}

func TestStacksAreAsDeepAsTheSettingsSay(t *testing.T) {
	r := newTest(t)
	rd := openFile(t, r)
	for _, c := range []struct {
		set  string
		want int
		cut  bool
	}{{"park.depth=3", 3, true}, {"park.depth=64", 22, false}, {"park.stack=off", 0, false}} {
		s := DefaultSettings()
		if err := s.Set(c.set); err != nil {
			t.Fatal(err)
		}
		r.SetSettings(s)
		id := deeper(r, 20)
		if c.want == 0 {
			if id != 0 {
				t.Errorf("%s: got stack %d, want none", c.set, id)
			}
			continue
		}
		if st, _ := rd.Stack(id); len(st.PCs) < c.want || c.cut && len(st.PCs) != c.want || st.Truncated != c.cut {
			t.Errorf("%s: got %d frames, truncated %v; want %d, %v", c.set, len(st.PCs), st.Truncated, c.want, c.cut)
		}
	}
}

func TestStacksOfOtherKindsAreCut(t *testing.T) {
	r := newTest(t)
	full := deeper(r, 20)
	s := DefaultSettings()
	for _, set := range []string{"pinned.depth=4", "monopolized.stack=off"} {
		if err := s.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	r.SetSettings(s)
	g, rd := r.AcquireRing(5, 0, 64), openFile(t, r)
	for _, k := range []Kind{EventPinned, EventMonopolized, EventStarved} {
		g.Emit(Now(), k, 0, full, 7, 0)
	}
	evs := eventsOf(t, rd, 5)
	if len(evs) != 3 || evs[1].Stack != 0 || evs[2].Stack != full {
		t.Fatalf("got %+v, want a cut stack, none, and %d", evs, full)
	}
	whole, _ := rd.Stack(full)
	if st, _ := rd.Stack(evs[0].Stack); len(st.PCs) != 4 || !st.Truncated || st.PCs[0] != whole.PCs[0] {
		t.Errorf("got %+v, want the 4 innermost frames", st)
	}
}
