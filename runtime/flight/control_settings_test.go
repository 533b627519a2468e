package flight

import (
	"strings"
	"testing"
)

func TestChangesOfSettingsAreAllMadeOrNone(t *testing.T) {
	start := DefaultSettings()
	if err := start.Set("cart.Checkout.every=3"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, name string
		check      func(s *Settings) bool
	}{
		{"steal=on", "default, changed", func(s *Settings) bool { return s.Kinds[EventSteal].On && s.Of("cart.Checkout").Every == 3 }},
		{"# more\n\nsteal=on # of queues\ncart.Checkout.every=5", "default, changed", func(s *Settings) bool { return s.Kinds[EventSteal].On && s.Of("cart.Checkout").Every == 5 }},
		{"settings = profile", "profile", func(s *Settings) bool { return s.CPUTime && len(s.User) == 0 }},
		{"settings = profile\nsteal=off", "profile, changed", func(s *Settings) bool { return s.CPUTime && !s.Kinds[EventSteal].On }},
		{"settings = off\nname = quiet\npark = on", "quiet", func(s *Settings) bool { return s.Kinds[EventPark].On && !s.Kinds[EventMount].On }},
	} {
		got, err := ChangeSettings(start, c.text)
		if err != nil || got.Name != c.name || !c.check(&got) {
			t.Errorf("%q: got %v and\n%s", c.text, err, got)
		}
		again, err := ParseSettings(got.String())
		if err != nil || again.Name != got.Name || again.Kinds != got.Kinds {
			t.Errorf("%q: its text is read as %v\n%s", c.text, err, again)
		}
		if start.Of("cart.Checkout").Every != 3 || start.Kinds[EventSteal].On {
			t.Fatalf("%q changed the settings it began with", c.text)
		}
	}
	back, err := ChangeSettings(DefaultSettings(), "steal=on")
	if err == nil {
		back, err = ChangeSettings(back, "steal=off")
	}
	if err != nil || back.Name != "default" {
		t.Errorf("changed back: got %q, %v; want default", back.Name, err)
	}
	for _, bad := range []string{"steal=on\nnothing=off", "steal=on\nsettings = profile", "yield.threshold=1ms", "steal"} {
		if got, err := ChangeSettings(start, bad); err == nil {
			t.Errorf("%q: got\n%s, want an error", bad, got)
		}
	}
}

func TestSettingsAreChangedThroughTheControlSocket(t *testing.T) {
	r, err := New(Options{Mode: ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ask := func(text string) string {
		word, answer := findCommand("settings").do(r, nil, []byte(text))
		return word + " " + string(answer)
	}
	if got := ask(""); got != "ok settings = default\n" {
		t.Errorf("got %q", got)
	}
	if got := ask("park.stack=off"); !strings.Contains(got, "name = default, changed\npark.stack = off\n") || r.Settings().Kinds[EventPark].Stack {
		t.Errorf("got %q", got)
	}
	if got := ask("steal=on\npark.nothing=1"); !strings.HasPrefix(got, "failed ") || r.Settings().Kinds[EventSteal].On {
		t.Errorf("got %q, and steal is %v; want a failure and nothing changed", got, r.Settings().Kinds[EventSteal])
	}
	rd, err := r.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	if row, err := rd.Settings(); err != nil || row.Name != "default, changed" || row.Kinds[EventPark].Stack {
		t.Errorf("a reader sees %q, %v and %v", row.Name, err, row.Kinds[EventPark])
	}
}
