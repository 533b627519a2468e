package dump

import (
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Used is what threads that have ended used. Each moment of their lives counts as one of the three times.
type Used struct {
	Ended  uint64        `json:"ended"` // threads of the scopes, and of scopes in them that are closed
	Mounts uint64        `json:"mounts"`
	Pins   uint64        `json:"pins"`
	Run    time.Duration `json:"run_ns"`           // mounted and not pinned
	Ready  time.Duration `json:"ready_ns"`         // runnable
	Park   time.Duration `json:"park_ns"`          // parked, pinned or not started
	CPU    time.Duration `json:"cpu_ns,omitempty"` // on a processor; only while the settings have cpu-time on
}

// A totaler is a [Source] that knows what threads that have ended used.
type totaler interface {
	Totals() ([]flight.TotalsRow, error)
}

func (u *Used) add(row *flight.TotalsRow) {
	u.Ended += row.Ended
	u.Mounts += row.Mounts
	u.Pins += row.Pins
	u.Run += row.Run
	u.Ready += row.Ready
	u.Park += row.Park
	u.CPU += row.CPU
}

// used adds the sums of scopes to their families.
func (s *Snapshot) used(t *tree, r Source) {
	from, ok := r.(totaler)
	if !ok {
		return
	}
	rows, err := from.Totals()
	if err != nil {
		s.missed(err)
	}
	for i := range rows {
		f := t.family(rows[i].Scope)
		if f < 0 {
			f = 0 // it was opened or closed meanwhile
		}
		family := &t.families[f]
		if family.used == nil {
			family.used = new(Used)
		}
		family.used.add(&rows[i])
	}
}

// text says, for example, "1,204 ended, ran 3.2s".
func (u *Used) text() string {
	s := Thousands(u.Ended) + " ended, ran " + Span(u.Run)
	if u.CPU > 0 {
		s += " (" + Span(u.CPU) + " on a processor)"
	}
	return s + ", were ready " + Span(u.Ready) + ", parked " + Span(u.Park)
}

// A settler is a [Source] that knows what its process records.
type settler interface {
	Settings() (flight.SettingsRow, error)
}

// offs says what is missing because the settings leave it out.
func (s *Snapshot) offs(r Source) {
	from, ok := r.(settler)
	if !ok {
		return
	}
	set, err := from.Settings()
	if err != nil {
		s.missed(err)
	}
	if set.Known && !set.Kinds[flight.EventPark].Stack {
		s.miss("stacks are off in the settings %q: threads that have parked since show none", set.Name)
	}
}

// kindsOff returns those of kinds that the settings leave out, and those that they record in part, such as "events park, unpark are off".
func kindsOff(set *flight.SettingsRow, kinds ...flight.Kind) (why []string) {
	var off, inPart []string
	for _, k := range kinds {
		switch one := set.Kinds[k]; {
		case !set.Known:
		case !one.On:
			off = append(off, k.String())
		case one.Every > 1 || one.PerSecond > 0:
			inPart = append(inPart, k.String())
		}
	}
	if len(off) > 0 {
		why = append(why, "events "+strings.Join(off, ", ")+" are off")
	}
	if len(inPart) > 0 {
		why = append(why, "events "+strings.Join(inPart, ", ")+" are recorded in part")
	}
	return why
}
