package dump

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// A Dimension is something that threads can be grouped by.
type Dimension struct {
	Name  string
	About string

	// of returns a number that is the same for threads of one group.
	of func(t *tabler, fam int32, r *flight.ThreadRow, key *groupKey) uint64
	// text returns what the group is called.
	text func(t *tabler, value uint64) string
}

// Dimensions are the table of what threads can be grouped by, beside label:KEY.
var Dimensions = []Dimension{
	{"scope", "the path of its scope",
		func(_ *tabler, fam int32, _ *flight.ThreadRow, _ *groupKey) uint64 { return uint64(fam) },
		func(t *tabler, v uint64) string { return t.texts.Scope(int(v)) }},
	{"stack", "where it waits",
		func(t *tabler, _ int32, _ *flight.ThreadRow, key *groupKey) uint64 {
			return uint64(t.stacks.shown(key.stack))
		},
		func(t *tabler, v uint64) string { return t.stackText(int(v) - 1) }},
	{"state", "what it is doing",
		func(_ *tabler, _ int32, _ *flight.ThreadRow, key *groupKey) uint64 { return uint64(key.state) },
		func(_ *tabler, v uint64) string { return flight.State(v).String() }},
	{"reason", "why it waits or left its carrier",
		func(_ *tabler, _ int32, _ *flight.ThreadRow, key *groupKey) uint64 { return uint64(key.reason) },
		func(_ *tabler, v uint64) string { return or(flight.Reason(v).String(), "(no reason)") }},
	{"blocker", "what it waits for",
		func(_ *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 { return uint64(r.Blocker) },
		func(t *tabler, v uint64) string { return or(t.texts.Blocker(flight.Blocker(v)), "(nothing known)") }},
	{"name", "its name, without numbers and ids",
		func(t *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 {
			return t.word(Template(t.texts.names(*r)))
		},
		func(t *tabler, v uint64) string { return or(t.words[v], "(no name)") }},
	{"body", "the body of the durable thread that it is",
		func(t *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 {
			t.texts.row = r
			if d := t.texts.Durable(nil); d != nil {
				return t.word(d.Body)
			}
			return t.word("")
		},
		func(t *tabler, v uint64) string { return or(t.words[v], "(no durable thread)") }},
	{"creator", "the thread that made it",
		func(t *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 {
			t.texts.row = r
			return uint64(t.texts.Creator(nil))
		},
		func(_ *tabler, v uint64) string {
			if v == 0 {
				return "(no thread)"
			}
			return "#" + strconv.FormatUint(v, 10)
		}},
	{"scheduler", "its scheduler",
		func(_ *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 { return uint64(r.Scheduler) },
		func(t *tabler, v uint64) string { return or(t.texts.Scheduler(flight.SchedulerID(v)), "(not known)") }},
	{"carrier", "the carrier it is or was last mounted on",
		func(_ *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 { return uint64(r.Carrier) },
		func(_ *tabler, v uint64) string {
			if flight.CarrierID(v) == flight.NoCarrier {
				return "(none)"
			}
			return "carrier " + strconv.FormatUint(v, 10)
		}},
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// maxDimensions is the most that threads can be grouped by at once.
const maxDimensions = 6

// ParseBy reads dimensions as they stand on a command line: "scope,stack", "label:tenant,state".
func ParseBy(text string) ([]Dimension, error) {
	var by []Dimension
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		d, err := dimension(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(by, func(other Dimension) bool { return other.Name == name }) {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		by = append(by, d)
	}
	if len(by) > maxDimensions {
		return nil, fmt.Errorf("%d things to group by: want at most %d", len(by), maxDimensions)
	}
	return by, nil
}

func dimension(name string) (Dimension, error) {
	if i := slices.IndexFunc(Dimensions, func(d Dimension) bool { return d.Name == name }); i >= 0 {
		return Dimensions[i], nil
	}
	if key, ok := strings.CutPrefix(name, "label:"); ok && key != "" {
		return Dimension{name, "a label of the profiler",
			func(t *tabler, _ int32, r *flight.ThreadRow, _ *groupKey) uint64 {
				t.texts.row = r
				v, _ := t.texts.Label(nil, key)
				return t.word(v)
			},
			func(t *tabler, v uint64) string { return or(t.words[v], "(no label)") }}, nil
	}
	var names []string
	for _, d := range Dimensions {
		names = append(names, d.Name)
	}
	return Dimension{}, fmt.Errorf("nothing to group by is called %q: want %s or label:KEY", name, strings.Join(names, ", "))
}
