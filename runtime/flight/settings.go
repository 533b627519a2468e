package flight

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings tell what a recorder records. Its counters, and the state of threads, stay exact whatever they say.
type Settings struct {
	Name    string // "default", "profile", "off", or as the user says
	Kinds   [KindCount]Setting
	User    []UserSetting // of kinds of a program's own: the last that fits counts; without one they are as EventSpanEnd says
	CPUTime bool          // whether the time that threads spend on a processor is measured at each switch, which costs system calls
}

// A UserSetting is the setting of some kinds of a program's own.
type UserSetting struct {
	Name string // of the kind; with "*" at the end all whose names begin so
	Setting
}

func (u *UserSetting) fits(name string) bool {
	prefix, all := strings.CutSuffix(u.Name, "*")
	return u.Name == name || all && strings.HasPrefix(name, prefix)
}

// SettingsNames are the settings that [NamedSettings] knows.
var SettingsNames = []string{"default", "profile", "off"}

// NamedSettings returns the settings of a name in [SettingsNames].
func NamedSettings(name string) (Settings, error) {
	s := Settings{Name: name, CPUTime: name == "profile"}
	if !slices.Contains(SettingsNames, name) {
		return s, fmt.Errorf("no settings %q: want %s", name, strings.Join(SettingsNames, ", "))
	}
	for k := range s.Kinds {
		s.Kinds[k] = Kinds[k].Default
		switch name {
		case "profile":
			s.Kinds[k] = Kinds[k].Profile
		case "off":
			s.Kinds[k].On = Kind(k) == EventSettings // stacks stay: the records of threads have them too
		}
	}
	return s, nil
}

// DefaultSettings returns those of the name "default".
func DefaultSettings() Settings {
	s, _ := NamedSettings("default")
	return s
}

// Of returns the setting of a program's own kind of that name.
func (s *Settings) Of(name string) Setting {
	for i := len(s.User) - 1; i >= 0; i-- {
		if s.User[i].fits(name) {
			return s.User[i].Setting
		}
	}
	return s.Kinds[EventSpanEnd]
}

// ParseSettings reads settings from a text: a line for each assignment, such as
//
//	settings = profile        # the first line may name what the others change; else it is default
//	name = mine
//	park.stack = off
//	slice.threshold = 5ms
//	steal = on
//	cpu-time = off
//	cart.Checkout.every = 100 # of the program's own kinds
//
// as [Settings.Set] takes them. What follows a "#" is a comment. An error names the line.
func ParseSettings(text string) (Settings, error) {
	s := DefaultSettings()
	first := true
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		var err error
		if strings.TrimSpace(key) != "settings" {
			err = s.Set(line)
		} else if !first {
			err = errors.New("settings must come first")
		} else {
			s, err = NamedSettings(strings.TrimSpace(value))
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %w", i+1, err)
		}
		first = false
	}
	return s, nil
}

// Set changes one thing: KIND=on or off, KIND.PROPERTY=VALUE with a property of [SettingProperties], cpu-time=on or off, or name=NAME. A kind that is
// not in [Kinds] is the program's own.
func (s *Settings) Set(assignment string) error {
	key, value, ok := strings.Cut(assignment, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || key == "" || value == "" {
		return fmt.Errorf("%q: want KIND=on, KIND=off or KIND.PROPERTY=VALUE", assignment)
	}
	switch key {
	case "name":
		if len(value) > MaxText {
			return fmt.Errorf("name of %d bytes: want at most %d", len(value), MaxText)
		}
		s.Name = value
		return nil
	case "cpu-time":
		return setSwitch(&s.CPUTime, key, value)
	}
	name, property := key, ""
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		if isSettingProperty(key[i+1:]) {
			name, property = key[:i], key[i+1:]
		}
	}
	to, kind, err := s.target(name)
	if err != nil {
		return err
	}
	changed := *to
	if property == "" {
		err = setSwitch(&changed.On, key, value)
	} else {
		err = settingProperties[property].set(&changed, key, value)
	}
	if err == nil {
		err = changed.check(kind, property)
	}
	if err != nil {
		return err
	}
	*to = changed
	return nil
}

// target returns the setting of the kind with that name, and the kind, KindCount for the program's own.
func (s *Settings) target(name string) (*Setting, Kind, error) {
	if k, ok := KindByName(name); ok {
		return &s.Kinds[k], k, nil
	}
	if !strings.ContainsAny(name, ".*") {
		return nil, 0, fmt.Errorf("no kind of events %q: vtdump events lists them; those of programs have a dot in their names", name)
	}
	if err := checkUserName(strings.TrimSuffix(name, "*")); err != nil && name != "*" {
		return nil, 0, err
	}
	for i := range s.User {
		if s.User[i].Name == name {
			return &s.User[i].Setting, KindCount, nil
		}
	}
	if len(s.User) == maxUserKinds {
		return nil, 0, fmt.Errorf("settings of more than %d kinds of the program's own", maxUserKinds)
	}
	s.User = append(s.User, UserSetting{name, s.Of(name)})
	return &s.User[len(s.User)-1].Setting, KindCount, nil
}

func isSettingProperty(name string) bool {
	_, is := settingProperties[name]
	return is
}

// KindByName returns the kind with that name, if it can be set: that settings were changed is always recorded.
func KindByName(name string) (Kind, bool) {
	for k := EventNone + 1; k < KindCount; k++ {
		if Kinds[k].Name == name && k != EventMore && k != EventSettings {
			return k, true
		}
	}
	return 0, false
}

// check reports what makes no sense for the kind.
func (s *Setting) check(k Kind, property string) error {
	if k == KindCount {
		return nil
	}
	info := &Kinds[k]
	switch property {
	case "threshold":
		if !info.Span {
			return fmt.Errorf("%s.threshold: events of this kind have no duration", info.Name)
		}
	case "stack", "depth":
		if !info.hasStack() {
			return fmt.Errorf("%s.%s: events of this kind have no stack", info.Name, property)
		}
	}
	return nil
}

func (i *KindInfo) hasStack() bool {
	return slices.ContainsFunc(i.Fields, func(f Field) bool { return f.Use == FieldStack })
}

// SettingProperties are what [Settings.Set] can change of a kind, with what they mean.
var SettingProperties = []struct{ Name, About string }{
	{"threshold", "a duration such as 5ms: shorter ones are left out"},
	{"stack", "on or off"},
	{"depth", "how many frames of the stack, 1 to 64"},
	{"every", "one event in so many is recorded"},
	{"limit", "the most events in a second of each carrier; 0: no limit"},
}

var settingProperties = map[string]struct {
	set func(s *Setting, key, value string) error
}{
	"threshold": {func(s *Setting, key, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < 0 || d > maxHeld {
			return fmt.Errorf("%s=%s: want a duration such as 5ms", key, value)
		}
		s.Threshold = d
		return nil
	}},
	"stack": {func(s *Setting, key, value string) error {
		if value == "on" && s.Depth == 0 {
			s.Depth = maxStackDepth
		}
		return setSwitch(&s.Stack, key, value)
	}},
	"depth": {func(s *Setting, key, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxStackDepth {
			return fmt.Errorf("%s=%s: want 1 to %d", key, value, maxStackDepth)
		}
		s.Depth = n
		return nil
	}},
	"every": {func(s *Setting, key, value string) error { return setNumber(&s.Every, key, value) }},
	"limit": {func(s *Setting, key, value string) error { return setNumber(&s.PerSecond, key, value) }},
}

func setSwitch(to *bool, key, value string) error {
	if value != "on" && value != "off" {
		return fmt.Errorf("%s=%s: want on or off", key, value)
	}
	*to = value == "on"
	return nil
}

func setNumber(to *uint32, key, value string) error {
	n, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return fmt.Errorf("%s=%s: want a number", key, value)
	}
	*to = uint32(n)
	return nil
}

// String returns the text that [ParseSettings] reads: what differs from one of the named settings.
func (s Settings) String() string {
	base := DefaultSettings()
	if named, err := NamedSettings(s.Name); err == nil {
		base = named
	}
	var b strings.Builder
	fmt.Fprintf(&b, "settings = %s\n", base.Name)
	if s.Name != base.Name {
		fmt.Fprintf(&b, "name = %s\n", s.Name)
	}
	for k := range s.Kinds {
		writeSetting(&b, Kinds[k].Name, base.Kinds[k], s.Kinds[k])
	}
	for i := range s.User {
		is := s.User[i].Setting
		other := Setting{On: !is.On, Threshold: -1, Stack: !is.Stack, Depth: -1, Every: is.Every + 1, PerSecond: is.PerSecond + 1}
		writeSetting(&b, s.User[i].Name, other, is)
	}
	if s.CPUTime != base.CPUTime {
		fmt.Fprintf(&b, "cpu-time = %s\n", onOff(s.CPUTime))
	}
	return b.String()
}

func writeSetting(b *strings.Builder, name string, was, is Setting) {
	if is.On != was.On {
		fmt.Fprintf(b, "%s = %s\n", name, onOff(is.On))
	}
	if is.Threshold != was.Threshold {
		fmt.Fprintf(b, "%s.threshold = %s\n", name, is.Threshold)
	}
	if is.Depth != was.Depth && is.Depth > 0 {
		fmt.Fprintf(b, "%s.depth = %d\n", name, is.Depth)
	}
	if is.Stack != was.Stack {
		fmt.Fprintf(b, "%s.stack = %s\n", name, onOff(is.Stack))
	}
	if is.Every != was.Every {
		fmt.Fprintf(b, "%s.every = %d\n", name, is.Every)
	}
	if is.PerSecond != was.PerSecond {
		fmt.Fprintf(b, "%s.limit = %d\n", name, is.PerSecond)
	}
}

func onOff(v bool) string {
	if v {
		return "on"
	}
	return "off"
}
