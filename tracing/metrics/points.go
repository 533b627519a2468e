package metrics

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// points takes what an instrument tells.
type points struct {
	in       *Instrument
	sums     []scopeSum
	outliers *outliers
	all      []Point
}

// add adds a point with the values of the first labels; the others are absent.
func (to *points) add(value float64, values ...string) {
	to.all = append(to.all, Point{Values: to.values(values), Value: value})
}

func (to *points) values(first []string) []string {
	if len(first) > len(to.in.Labels) {
		panic(fmt.Sprintf("metrics: %s has %d labels, and is given %d values", to.in.Name, len(to.in.Labels), len(first)))
	}
	return append(slices.Clip(first), make([]string, len(to.in.Labels)-len(first))...)
}

func (to *points) count(n uint64) { to.add(float64(n)) }

// The value of labels of what sums the rest.
const otherName = "(other)"

func schedulerValues(s *flight.SchedulerRow) []string {
	if s.ID == overflowID {
		return []string{otherName, "", "true"}
	}
	return []string{s.Name, strconv.Itoa(int(s.ID)), ""}
}

// of adds a value of a scheduler.
func (to *points) of(s *flight.SchedulerRow, v float64) { to.add(v, schedulerValues(s)...) }

// spread adds a histogram of a scheduler.
func (to *points) spread(s *flight.SchedulerRow, h *flight.Histogram, sum float64) {
	d := newDistribution(h, sum)
	d.Exemplars = to.outliers.of(to.in.Outliers, s.ID)
	to.all = append(to.all, Point{Values: to.values(schedulerValues(s)), Spread: d})
}

// byReason adds the sum over the places of pins for each reason.
func (to *points) byReason(p *Process, of func(*flight.PinSite) float64) {
	var sums [flight.ReasonCount]float64
	var seen [flight.ReasonCount]bool
	for i := range p.PinSites {
		s := &p.PinSites[i]
		sums[s.Reason] += of(s)
		seen[s.Reason] = true
	}
	for why, sum := range sums {
		if seen[why] {
			to.add(sum, flight.Reason(why).String())
		}
	}
}

// A scopeSum is what there is of scopes of one name.
type scopeSum struct {
	name            string
	scopes, threads int
	rest            bool // it is of all other names
}

func (to *points) scopes(p *Process, of func(*scopeSum) int) {
	if p.Gone {
		return
	}
	for i := range to.sums {
		s := &to.sums[i]
		over := ""
		if s.rest {
			over = "true"
		}
		to.add(float64(of(s)), s.name, over)
	}
}

// scopeSums sums the scopes of a snapshot by the template of their names. Names that have a series keep it while there are scopes of theirs; of new ones those with
// most threads get one, until there are so many. One more is for the rest.
func (k *kept) scopeSums(s *dump.Snapshot, most int) []scopeSum {
	if s == nil {
		return nil
	}
	at := map[string]int{}
	var all []scopeSum
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		name := dump.Template(sc.Name)
		j, ok := at[name]
		if !ok {
			j = len(all)
			at[name] = j
			all = append(all, scopeSum{name: name})
		}
		all[j].scopes += sc.Count
		all[j].threads += sc.Own
	}
	slices.SortStableFunc(all, func(a, b scopeSum) int {
		if k.scopes[a.name] != k.scopes[b.name] {
			if k.scopes[a.name] {
				return -1
			}
			return 1
		}
		return b.threads - a.threads
	})
	if len(all) > most {
		rest := scopeSum{name: otherName, rest: true}
		for _, x := range all[most:] {
			rest.scopes += x.scopes
			rest.threads += x.threads
		}
		all = append(all[:most], rest)
	}
	clear(k.scopes)
	for _, x := range all {
		if !x.rest {
			k.scopes[x.name] = true
		}
	}
	return all
}
