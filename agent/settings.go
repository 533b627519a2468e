package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// serveSettings tells what a recorder records; of a moment, what it recorded then.
func (a *Agent) serveSettings(w http.ResponseWriter, r *http.Request, q *ask) error {
	f, err := a.named(r)
	if err != nil {
		return err
	}
	if (f.past == nil || f.past.moment != nil) && q.at == "" {
		return a.withReader(w, r, q, "settings", func(_ context.Context, _ *turn, r *flight.Reader) (toJSON, toText func(io.Writer) error, err error) {
			return settingsOf(r, q)
		})
	}
	var d *dump.RecorderSettings
	if f.past != nil {
		d, err = f.past.settings(cmp.Or(q.at, f.at))
	} else {
		d, err = f.settingsThen(q)
	}
	if err != nil {
		return err
	}
	toJSON, toText := written(d, q)
	return document(w, q, toJSON, toText)
}

func written(d *dump.RecorderSettings, q *ask) (toJSON, toText func(io.Writer) error) {
	return func(to io.Writer) error { return dump.SettingsJSON(to, d) }, func(to io.Writer) error { return dump.SettingsText(to, d, time.Now(), q.text) }
}

func settingsOf(r *flight.Reader, q *ask) (toJSON, toText func(io.Writer) error, err error) {
	d, err := dump.TakeSettings(r)
	if errors.Is(err, dump.ErrNoSettings) {
		err = refusal{http.StatusNotFound, err.Error(), "build the program with a newer vtscope"}
	}
	toJSON, toText = written(d, q)
	return toJSON, toText, err
}

// settingsThen tells the settings of the moment that a request asks for.
func (f *follower) settingsThen(q *ask) (*dump.RecorderSettings, error) {
	v, err := f.keptView(q)
	if err != nil {
		return nil, err
	}
	row := &v.rings.recorded.settings
	at := time.UnixMilli(v.moment())
	if !row.Known {
		return dump.NamedSettings(v.process, at, "", dump.ErrNoSettings.Error()), nil
	}
	d := dump.SettingsThen(v.process, at, &row.Settings)
	d.Changed = f.reader.Time(row.Changed)
	return d, nil
}

// settings tells those that the process of a file had at a moment, "" for that of the bundle, or the end. Bundles have all of them, recordings their name.
func (r *past) settings(at string) (*dump.RecorderSettings, error) {
	p := r.process()
	if r.bundle != nil && at == "" {
		text, err := r.bundle.Text("settings")
		if err != nil || text == nil {
			return dump.NamedSettings(p, p.LastSeen, "", "the bundle does not have them"), nil
		}
		s, err := flight.ParseSettings(string(text))
		if err != nil {
			return nil, refusal{http.StatusNotFound, "the settings of the bundle: " + err.Error(), "a vtserve as new as the bundle"}
		}
		return dump.SettingsThen(p, p.LastSeen, &s), nil
	}
	if r.file == nil {
		return dump.NamedSettings(p, p.LastSeen, "", "the bundle has them of its end alone"), nil
	}
	r.reading.Lock()
	then, err := r.file.When(at)
	r.reading.Unlock()
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error(), "at=12s"}
	}
	return dump.NamedSettings(p, r.info.From.Add(then), r.info.Settings, unknownKinds), nil
}

const unknownKinds = "the recording has the name of the settings that it began with, and not what they say of each kind; events of the kind settings tell of changes since"
