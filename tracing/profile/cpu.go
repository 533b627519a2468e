package profile

import (
	"bytes"
	"fmt"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	threads "github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// The labels that threads have in Go's own profiles, as package sched sets them.
const (
	goThread = "vtscope.thread"
	goScope  = "vtscope.scope"
)

// Relabel gives the samples of a profile that Go made of a process the labels of ours: scope and name. A thread has the name of its scope there, not the path;
// where scopes of one path have the name it becomes that. Other labels stay.
func Relabel(data []byte, scopes []flight.ScopeRow) (*pprof.Profile, error) {
	p, err := threads.Parse(bytes.NewReader(data), threads.MostMemory)
	if err != nil {
		return nil, fmt.Errorf("profile: the process answered with no profile: %w", err)
	}
	paths := pathsOf(scopes)
	for _, s := range p.Sample {
		if name, ok := one(s, goScope); ok {
			t := dump.Template(name)
			if path := paths[t]; path != "" {
				t = path
			}
			s.Label[threads.LabelScope] = []string{t}
			delete(s.Label, goScope)
		}
		if name, ok := one(s, goThread); ok {
			s.Label[threads.LabelName] = []string{dump.Template(name)}
			delete(s.Label, goThread)
		}
	}
	return p, nil
}

func one(s *pprof.Sample, label string) (string, bool) {
	if v := s.Label[label]; len(v) > 0 {
		return v[0], true
	}
	return "", false
}

// pathsOf returns the paths of scopes by their last name, of names that have one path alone.
func pathsOf(rows []flight.ScopeRow) map[string]string {
	byIndex := make(map[flight.ScopeIndex]*flight.ScopeRow, len(rows))
	for i := range rows {
		if rows[i].State != flight.ScopeFree {
			byIndex[rows[i].Index] = &rows[i]
		}
	}
	paths := map[string]string{}
	many := map[string]bool{}
	for i := range rows {
		if rows[i].State == flight.ScopeFree {
			continue
		}
		var names []string
		for at := rows[i].Index; at != 0 && len(names) < deepest; {
			r := byIndex[at]
			if r == nil {
				break
			}
			names = append(names, dump.Template(r.Name))
			at = r.Parent
		}
		if len(names) == 0 {
			continue
		}
		var b strings.Builder
		b.WriteString("root")
		for j := len(names) - 1; j >= 0; j-- {
			b.WriteString("/" + names[j])
		}
		last, path := names[0], b.String()
		if was, ok := paths[last]; ok && was != path {
			many[last] = true
		}
		paths[last] = path
	}
	for name := range many {
		delete(paths, name)
	}
	return paths
}
