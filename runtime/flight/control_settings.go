package flight

import (
	"errors"
	"slices"
	"strings"
)

func init() {
	commands.rows = append(commands.rows,
		Command{Name: "settings", About: "tell the settings; with lines such as park.stack=off, or a whole file of settings, change them first", Do: controlSettings})
}

// changedSuffix follows the name of settings of which single ones were changed.
const changedSuffix = ", changed"

// controlSettings changes the settings as body says, all of it or nothing, and returns them as they are then. A body whose first line is "settings = NAME"
// replaces them; others change what they name.
func controlSettings(r *Recorder, _ <-chan struct{}, body []byte) ([]byte, error) {
	if r == nil {
		return nil, errors.New("the recorder is off")
	}
	if strings.TrimSpace(string(body)) == "" {
		return []byte(r.Settings().String()), nil
	}
	s, err := ChangeSettings(r.Settings(), string(body))
	if err != nil {
		return nil, err
	}
	r.SetSettings(s)
	return []byte(s.String()), nil
}

// ChangeSettings returns s with the changes of a text of [ParseSettings]; if that begins with "settings = NAME", it says everything. Named settings that are
// changed are named so. It does not change s.
func ChangeSettings(s Settings, text string) (Settings, error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	lines = slices.DeleteFunc(lines, func(l string) bool {
		l, _, _ = strings.Cut(l, "#")
		return strings.TrimSpace(l) == ""
	})
	key := ""
	if len(lines) > 0 {
		key, _, _ = strings.Cut(lines[0], "=")
	}
	if strings.TrimSpace(key) == "settings" {
		all, err := ParseSettings(text)
		return named(all), err
	}
	out := s
	out.User = slices.Clone(s.User)
	for _, l := range lines {
		l, _, _ = strings.Cut(l, "#")
		if err := out.Set(strings.TrimSpace(l)); err != nil {
			return s, err
		}
	}
	return named(out), nil
}

// named gives settings the name of the named ones that they are, or were before they were changed.
func named(s Settings) Settings {
	base := strings.TrimSuffix(s.Name, changedSuffix)
	known, err := NamedSettings(base)
	if err != nil {
		return s // of the user's own
	}
	s.Name = base
	if s.Kinds != known.Kinds || s.CPUTime != known.CPUTime || len(s.User) > 0 {
		s.Name += changedSuffix
	}
	return s
}
