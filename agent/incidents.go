package agent

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/vtscope/vtscope/incident"
)

// maxListed is how many bundles the list has, and maxOpened how many of them are shown as processes at a time: each takes memory.
const (
	maxListed = 200
	maxOpened = 8
)

// An IncidentList is the bundles that are kept.
type IncidentList struct {
	Rows   []IncidentRow `json:"rows"` // the newest first
	Rest   int           `json:"rest"` // older ones
	Dir    string        `json:"dir"`  // on the agent's machine
	Opened int           `json:"opened"`
	Most   int           `json:"most"` // that are shown among the processes at a time
}

// An IncidentRow is a bundle.
type IncidentRow struct {
	ID      string   `json:"id"`
	At      int64    `json:"at"`
	Size    int64    `json:"size"`
	PID     int      `json:"pid"`
	Program string   `json:"program"`
	Causes  []string `json:"causes"`  // "rule: what was seen"; without a rule somebody asked for it
	Missing int      `json:"missing"` // parts that it lacks
	Key     string   `json:"key"`     // of the process as which it is shown; "": it is not
	Problem string   `json:"problem"` // why it cannot be opened
}

// bundlesOf returns the store, if what is in it may be shown: bundles of before may tell what is hidden now.
func (a *Agent) store() (*incident.Store, error) {
	switch {
	case a.options.Incidents == nil:
		return nil, refusal{http.StatusNotFound, "vtserve keeps no incidents", "vtserve --incidents DIR"}
	case a.options.Access.Redactor().On():
		return nil, refusal{http.StatusForbidden, "texts are hidden here, and bundles of before may tell them", "vtserve without --redact, or vtdump open where they lie"}
	}
	return a.options.Incidents, nil
}

func (a *Agent) serveIncidents(w http.ResponseWriter, _ *http.Request, _ *ask) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	slices.Reverse(all)
	shown := a.shownFiles()
	list := IncidentList{Rows: []IncidentRow{}, Rest: max(0, len(all)-maxListed), Dir: s.Dir(), Most: maxOpened}
	for _, e := range all[:min(len(all), maxListed)] {
		row := rowOfBundle(e)
		if row.Key = shown[e.Path]; row.Key != "" {
			list.Opened++
		}
		list.Rows = append(list.Rows, row)
	}
	answer(w, http.StatusOK, list)
	return nil
}

func rowOfBundle(e incident.Entry) IncidentRow {
	row := IncidentRow{ID: e.ID, At: e.At.UnixMilli(), Size: e.Size, Causes: []string{}}
	b, err := incident.Open(e.Path)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	defer b.Close()
	m := &b.Manifest
	row.PID, row.Program, row.Missing = m.Process.PID, m.Process.Program, len(m.Missing)
	for _, c := range m.Causes[:min(len(m.Causes), 3)] {
		what := c.What
		if c.Rule != "" {
			what = c.Rule + ": " + what
		}
		row.Causes = append(row.Causes, what)
	}
	if more := len(m.Causes) - len(row.Causes); more > 0 {
		row.Causes = append(row.Causes, fmt.Sprintf("and %d more", more))
	}
	return row
}

// shownFiles are the keys of files that are shown, by path.
func (a *Agent) shownFiles() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	keys := map[string]string{}
	for _, f := range a.mu.followers {
		if f.past != nil {
			keys[f.past.path] = f.key
		}
	}
	return keys
}

// kept returns the bundle that a request names.
func (a *Agent) kept(r *http.Request) (incident.Entry, error) {
	s, err := a.store()
	if err != nil {
		return incident.Entry{}, err
	}
	all, err := s.List() // what it lists has a name that is safe
	if err != nil {
		return incident.Entry{}, err
	}
	id := r.PathValue("incident")
	if i := slices.IndexFunc(all, func(e incident.Entry) bool { return e.ID == id }); i >= 0 {
		return all[i], nil
	}
	return incident.Entry{}, refusal{http.StatusNotFound, fmt.Sprintf("there is no bundle %q", short(id)), "GET /api/v1/incidents"}
}

func (a *Agent) serveBundle(w http.ResponseWriter, r *http.Request, _ *ask) error {
	e, err := a.kept(r)
	if err != nil {
		return err
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	f, err := s.OpenFile(e)
	if err != nil {
		return refusal{http.StatusConflict, err.Error(), "GET /api/v1/incidents"}
	}
	defer f.Close()
	out := begin(w, mediaBinary, e.ID+incident.Ending)
	_, err = f.WriteTo(out)
	return out.end(err)
}

// serveOpen shows a bundle among the processes, from now until the agent ends.
func (a *Agent) serveOpen(w http.ResponseWriter, r *http.Request, _ *ask) error {
	e, err := a.kept(r)
	if err != nil {
		return err
	}
	a.opening.Lock()
	defer a.opening.Unlock()
	shown := a.shownFiles()
	if shown[e.Path] == "" {
		opened := 0
		for path := range shown {
			if !slices.Contains(a.options.Files, path) {
				opened++
			}
		}
		if opened >= maxOpened {
			return refusal{http.StatusConflict, fmt.Sprintf("%d bundles are shown already", opened), "vtserve " + e.ID + incident.Ending + ", for one more"}
		}
		if err := a.addRecorded(e.Path); err != nil {
			return refusal{http.StatusConflict, err.Error(), "another bundle"}
		}
		shown = a.shownFiles()
	}
	f := a.find(shown[e.Path])
	if f == nil {
		return errAgentClosed
	}
	answer(w, http.StatusOK, f.view().row)
	return nil
}
