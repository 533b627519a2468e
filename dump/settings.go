package dump

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// SettingsFormat names the JSON document of the settings of a recorder.
const SettingsFormat = "vtscope/settings/v1"

// A RecorderSettings is what the recorder of a process records.
type RecorderSettings struct {
	Format  string       `json:"format"`
	PID     int          `json:"pid"`
	Program string       `json:"program"`
	Status  Status       `json:"status"`
	AsOf    time.Time    `json:"as_of"` // the moment that they are of
	Name    string       `json:"name"`
	Changed time.Time    `json:"changed,omitzero"` // when they were made so; zero: not known
	CPUTime bool         `json:"cpu_time"`
	Kinds   []SettingRow `json:"kinds"` // in the order of [flight.Kinds], then the program's own; none: their name alone is known

	Incomplete []string `json:"incomplete,omitempty"`
}

// A SettingRow is what is recorded of one kind of events.
type SettingRow struct {
	Name      string          `json:"name"`
	Category  flight.Category `json:"category"`
	On        bool            `json:"on"`
	Threshold *time.Duration  `json:"threshold_ns,omitempty"` // nil: events of this kind have no duration
	Stack     *bool           `json:"stack,omitempty"`        // nil: nor a stack
	Depth     int             `json:"depth,omitempty"`
	Every     uint32          `json:"every"`                // one in so many is recorded
	Limit     uint32          `json:"per_second,omitempty"` // 0: none

	setting, base flight.Setting
}

// ErrNoSettings says that a flight file does not tell the settings of its recorder.
var ErrNoSettings = errors.New("its flight file does not tell the settings")

// TakeSettings reads the settings of a recorder.
func TakeSettings(r *flight.Reader) (*RecorderSettings, error) {
	now, err := r.Settings()
	switch {
	case err != nil && !errors.Is(err, flight.ErrIncomplete):
		return nil, err
	case !now.Known:
		return nil, ErrNoSettings
	}
	d := SettingsOf(r, &now)
	if err != nil {
		d.Incomplete = append(d.Incomplete, err.Error())
	}
	return d, nil
}

// SettingsOf makes the document of settings that were read, or that the process says it has.
func SettingsOf(r *flight.Reader, now *flight.SettingsRow) *RecorderSettings {
	p := r.Process()
	d := SettingsThen(p, time.Now(), &now.Settings)
	d.Status, d.Changed = Status(p.Status.String()), r.Time(now.Changed)
	if p.Status == flight.StatusEnded || p.Status == flight.StatusGone {
		d.AsOf = p.LastSeen
	}
	return d
}

// NamedSettings makes the document of settings of which the name alone is known; "": not even that. why says so, in a sentence.
func NamedSettings(p flight.Process, at time.Time, name, why string) *RecorderSettings {
	return &RecorderSettings{
		Format: SettingsFormat, PID: p.PID, Program: p.Program, Status: StatusRecorded, AsOf: at, Name: name, Kinds: []SettingRow{}, Incomplete: []string{why},
	}
}

// SettingsThen makes the document of settings that a process had at a moment.
func SettingsThen(p flight.Process, at time.Time, now *flight.Settings) *RecorderSettings {
	d := &RecorderSettings{
		Format: SettingsFormat, PID: p.PID, Program: p.Program, Status: StatusRecorded, AsOf: at, Name: now.Name, CPUTime: now.CPUTime,
	}
	base := flight.DefaultSettings()
	for k := range now.Kinds {
		if _, ok := flight.KindByName(flight.Kind(k).String()); ok {
			info := &flight.Kinds[k]
			d.Kinds = append(d.Kinds, makeSettingRow(info.Name, info, now.Kinds[k], base.Kinds[k]))
		}
	}
	for _, u := range now.User {
		info := flight.Kinds[flight.EventSpanEnd]
		info.Fields = append(slices.Clone(info.Fields), flight.Field{Use: flight.FieldStack})
		d.Kinds = append(d.Kinds, makeSettingRow(u.Name, &info, u.Setting, base.Kinds[flight.EventSpanEnd]))
	}
	return d
}

func makeSettingRow(name string, info *flight.KindInfo, s, base flight.Setting) SettingRow {
	row := SettingRow{Name: name, Category: info.Category, On: s.On, Every: max(s.Every, 1), Limit: s.PerSecond, setting: s, base: base}
	if info.Span {
		row.Threshold = &s.Threshold
	}
	if slices.ContainsFunc(info.Fields, func(f flight.Field) bool { return f.Use == flight.FieldStack }) {
		row.Stack, row.Depth = &s.Stack, s.Depth
	}
	return row
}

// cells are what stands in the columns of a row; what does not apply to a kind is empty.
func (row *SettingRow) cells() []string {
	cells := []string{row.Name, "off", "", "", "", "", ""}
	if row.On {
		cells[1] = "on"
		if row.Threshold != nil && *row.Threshold > 0 {
			cells[2] = "from " + row.Threshold.String()
		}
	}
	if row.Stack != nil {
		cells[3] = "off"
		if *row.Stack {
			cells[3] = fmt.Sprintf("%d frames", max(row.Depth, 0))
		}
	}
	if row.On && row.Every > 1 {
		cells[4] = "1 in " + Thousands(int(row.Every))
	}
	if row.On && row.Limit > 0 {
		cells[5] = Thousands(int(row.Limit)) + "/s"
	}
	if !alike(row.setting, row.base) {
		cells[6] = "default: " + row.base.String()
	}
	return cells
}

// alike reports whether two settings mean the same.
func alike(a, b flight.Setting) bool {
	for _, s := range []*flight.Setting{&a, &b} {
		s.Every = max(s.Every, 1)
		if !s.Stack {
			s.Depth = 0
		}
	}
	return a == b
}

// MisspeltError is about a change that looks like one of a property which there is not: it would be taken for a kind of the program's own.
type MisspeltError struct{ Kind, Property string }

func (e MisspeltError) Error() string {
	return fmt.Sprintf("%s has no property %q, and %s.%s is no kind of the program's own", e.Kind, e.Property, e.Kind, e.Property)
}

// Misspelt returns a [MisspeltError] if changed settings have a kind of the program's own that it has not registered so far and that is named like a property of one of ours.
func Misspelt(now, changed flight.Settings) error {
	for _, u := range changed.User {
		before, property, _ := strings.Cut(u.Name, ".")
		_, ours := flight.KindByName(before)
		if ours && !slices.ContainsFunc(now.User, func(k flight.UserSetting) bool { return k.Name == u.Name }) {
			return MisspeltError{before, property}
		}
	}
	return nil
}

// SettingsJSON writes d as one document; the package comment describes it.
func SettingsJSON(w io.Writer, d *RecorderSettings) error { return writeDocument(w, d) }

// SettingsText prints d for a person, who is told how long before now, or of the past before its moment, the settings were made. Of o it takes ASCII.
func SettingsText(w io.Writer, d *RecorderSettings, now time.Time, o TextOptions) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (pid %d), %s\n", Printable(d.Program), d.PID, d.Status)
	if d.Status == StatusRecorded {
		now = d.AsOf
		fmt.Fprintf(&b, "as of %s\n", d.AsOf.Local().Format("2006-01-02 15:04:05"))
	}
	if d.Name == "" {
		b.WriteString("settings not known")
	} else {
		fmt.Fprintf(&b, "settings %q", Printable(d.Name))
	}
	if !d.Changed.IsZero() {
		fmt.Fprintf(&b, ", for %s", Span(max(now.Sub(d.Changed), 0)))
	}
	if len(d.Kinds) > 0 {
		fmt.Fprintf(&b, "; processor time of threads is %s", map[bool]string{true: "measured", false: "not measured"}[d.CPUTime])
	}
	b.WriteString("\n")
	for _, why := range d.Incomplete {
		fmt.Fprintf(&b, "incomplete: %s\n", Printable(why))
	}
	if len(d.Kinds) == 0 {
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("\n")
	rows := [][]string{{"KIND", "RECORDED", "DURATION", "STACK", "SAMPLED", "AT MOST", ""}}
	for i := range d.Kinds {
		rows = append(rows, d.Kinds[i].cells())
	}
	b.WriteString(aligned(rows, o.ASCII))
	b.WriteString("\nwhat is off is not recorded; counters and the states of threads are exact all the same\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// aligned writes rows of columns without the empty ones.
func aligned(rows [][]string, ascii bool) string {
	widths := make([]int, len(rows[0]))
	for i, row := range rows {
		for j := range row {
			row[j] = Printable(row[j])
			if ascii {
				row[j] = ASCII(row[j])
			}
			if i > 0 && row[j] != "" || j == 0 {
				widths[j] = max(widths[j], Columns(row[j]), Columns(rows[0][j]))
			}
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for j, cell := range row {
			if widths[j] > 0 {
				line += cell + strings.Repeat(" ", max(0, widths[j]-Columns(cell))+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
