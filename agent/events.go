package agent

import (
	"github.com/vtscope/vtscope/runtime/flight"
)

// kindTerms is flight's table of kinds of events.
func kindTerms() (terms []KindTerm) {
	for _, k := range flight.Kinds {
		t := KindTerm{Name: k.Name, About: k.About, Category: string(k.Category), Cost: k.Cost.String(), Fields: []FieldTerm{}}
		for _, f := range k.Fields {
			use := flight.FieldUses[f.Use]
			t.Fields = append(t.Fields, FieldTerm{f.Name, use.Name, use.Type, use.Unit})
		}
		terms = append(terms, t)
	}
	return terms
}

// recorded is what a process records, and how it came to be so.
type recorded struct {
	settings flight.SettingsRow
	rates    [flight.KindCount]float64
}

// events tells how many events of each kind there were, and what of them is recorded.
func (v *view) events() *Events {
	s := &v.rings.recorded.settings
	out := &Events{Known: s.Known, Settings: s.Name, Rows: []EventRow{}, Program: []ProgramRow{}}
	if s.Changed != 0 {
		out.Changed = v.from.reader.Time(s.Changed).UnixMilli()
	}
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		if k == flight.EventMore {
			continue
		}
		row := EventRow{Kind: int(k), Count: v.rings.kinds[k], On: true}
		if v.row.Gone == 0 {
			row.Rate = round(v.rings.recorded.rates[k])
		}
		if s.Known {
			row.On, row.Setting = s.Kinds[k].On, s.Kinds[k].String()
		}
		out.Rows = append(out.Rows, row)
	}
	for i := range s.User {
		if len(out.Program) == limits.Events {
			out.Rest = len(s.User) - i
			break
		}
		u := &s.User[i]
		out.Program = append(out.Program, ProgramRow{u.Name, u.On, u.Setting.String()})
	}
	return out
}
