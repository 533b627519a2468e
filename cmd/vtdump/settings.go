package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// recorded prints the settings of a recorder, and changes them first if there are arguments that say so.
func (s *settings) recorded(ctx context.Context, w world, r *flight.Reader) error {
	now, err := r.Settings()
	switch {
	case err != nil && !errors.Is(err, flight.ErrIncomplete):
		return fmt.Errorf("%s: %w", s.target, err)
	case !now.Known:
		return hint{fmt.Errorf("%s: %w", s.target, dump.ErrNoSettings), "build the program with a newer vtscope"}
	case err != nil:
		fmt.Fprintf(w.stderr, "vtdump: %v\n", err)
	}
	if len(s.more) > 0 {
		if now.Settings, err = s.change(ctx, r, now.Settings); err != nil {
			return err
		}
		if again, err := r.Settings(); err == nil {
			now.Changed = again.Changed
			now.User = again.User // with all kinds that there are
		}
	}
	doc := dump.SettingsOf(r, &now)
	if s.format == "json" {
		return written(0, dump.SettingsJSON(w.stdout, doc))
	}
	return written(0, dump.SettingsText(w.stdout, doc, w.now(), s.textOptions(w)))
}

// change has the process change its settings, and returns them as they are then.
func (s *settings) change(ctx context.Context, r *flight.Reader, now flight.Settings) (flight.Settings, error) {
	text, err := changesOf(s.more)
	if err != nil {
		return now, err
	}
	to, err := flight.ChangeSettings(now, text) // as the process will say
	if err != nil {
		return now, usageError{"settings: " + err.Error(), settingsTry(s.more)}
	}
	if err := dump.Misspelt(now, to); err != nil {
		return now, usageError{"settings: " + err.Error(), settingsTry(s.more)}
	}
	p := r.Process()
	answer, err := control.Ask(ctx, p.Path, "settings", []byte(text))
	if err != nil {
		return now, hint{fmt.Errorf("%s: %w", s.target, err), askTry(p, err)}
	}
	changed, err := flight.ParseSettings(string(answer))
	if err != nil {
		return now, fmt.Errorf("%s: the settings that it says it has: %w", s.target, err)
	}
	return changed, nil
}

// changesOf makes the text of settings that arguments stand for: the name of settings, a file of them, and single changes.
func changesOf(args []string) (string, error) {
	var lines []string
	for i, arg := range args {
		switch {
		case strings.Contains(arg, "="):
			lines = append(lines, arg)
		case i > 0:
			return "", usageError{fmt.Sprintf("settings: %q is no change", arg), "KIND=off or KIND.PROPERTY=VALUE; the name or file of settings comes first"}
		case slices.Contains(flight.SettingsNames, arg):
			lines = append(lines, "settings = "+arg)
		default:
			text, err := settingsFile(arg)
			if err != nil {
				return "", err
			}
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// settingsFile returns the text of the settings in a file, named after it unless they have a name.
func settingsFile(path string) (string, error) {
	names := strings.Join(flight.SettingsNames, ", ")
	if near := nearest(path, flight.SettingsNames); near != "" {
		names = near
	}
	text, err := plainfile.Read(path, flight.MaxControlBody)
	if errors.Is(err, os.ErrNotExist) {
		return "", usageError{fmt.Sprintf("settings: no settings and no file %q", path), names + ", a file, or KIND.PROPERTY=VALUE"}
	}
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	s, err := flight.ParseSettings(string(text))
	if err != nil {
		return "", usageError{fmt.Sprintf("settings: %s: %v", path, err), "docs/settings.md"}
	}
	if known, err := flight.NamedSettings(s.Name); err == nil && (s.Kinds != known.Kinds || s.CPUTime != known.CPUTime || len(s.User) > 0) {
		s.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return s.String(), nil
}

// settingsTry names the kind or property that was meant, or what there is.
func settingsTry(args []string) string {
	var names, properties []string
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		if _, ok := flight.KindByName(k.String()); ok {
			names = append(names, k.String())
		}
	}
	for _, p := range flight.SettingProperties {
		properties = append(properties, p.Name)
	}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		name, property, dotted := strings.Cut(key, ".")
		if _, ok := flight.KindByName(name); !ok && name != "name" && name != "cpu-time" {
			if near := nearest(name, names); near != "" {
				return near + strings.TrimPrefix(arg, name)
			}
			return "KIND=on, KIND=off or KIND.PROPERTY=VALUE; the kinds are " + strings.Join(names, ", ")
		}
		if dotted && !slices.Contains(properties, property) {
			if near := nearest(property, properties); near != "" {
				return name + "." + near + "=" + value
			}
			return "one of " + name + "." + strings.Join(properties, ", "+name+".")
		}
	}
	return "docs/settings.md"
}

// askTry is the next step when a process was not asked.
func askTry(p flight.Process, err error) string {
	switch {
	case !p.Status.Live():
		return "vtdump settings without changes: the process is " + p.Status.String()
	case errors.Is(err, control.ErrPermission):
		return "as the user who runs the program"
	case errors.Is(err, control.ErrSilent) && p.Status == flight.StatusStopped:
		return fmt.Sprintf("kill -CONT %d; it may do later what it was asked", p.PID)
	case errors.Is(err, control.ErrSilent):
		return fmt.Sprintf("vtdump settings %d, in a moment: it may do later what it was asked", p.PID)
	case errors.Is(err, control.ErrLarge):
		return fmt.Sprintf("vtdump settings %d, which reads them from its flight file", p.PID)
	case errors.Is(err, control.ErrNone):
		return "build the program with a newer vtscope, or set VTSCOPE_DIR as it has it"
	}
	return ""
}
