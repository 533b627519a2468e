package dump

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// recently is how far back checks look at what was held at a place.
const recently = time.Minute

// A recentSite is a place where something was held recently: the sites of a flight file whose stacks lead there, as one.
type recentSite struct {
	kind   flight.RecentKind
	reason flight.Reason
	place  *Place
	path   []Frame // the program's own functions that called that of place, innermost first
	meant  bool    // all of it is within blockingCall: the program says so, and a carrier was idle

	count   uint64
	total   time.Duration
	waiting uint64        // threads that waited, in sum
	steps   int           // steps of ten seconds in which there were some holds
	busy    int           // those in which some waited
	since   time.Duration // since the first of those that are counted

	// Of the longest hold of each step, the longest first.
	longest []recentHold
}

// A recentHold is the longest of a step.
type recentHold struct {
	held    time.Duration
	waiting int
	thing   Thing // the lock
	holder  Party
}

// A recentTaker reads recent sites, and the records of the threads that held.
type recentTaker struct {
	r     *flight.Reader
	now   flight.Ticks
	rows  []flight.RecentSite
	asked idBits
	found map[flight.ThreadID]flight.ThreadRow // of those that are asked for; ID is 0 where there is none
	err   error
}

// beginRecent reads what must be read before the threads.
func beginRecent(r *flight.Reader) *recentTaker {
	t := &recentTaker{r: r, now: r.Now(), found: map[flight.ThreadID]flight.ThreadRow{}}
	t.rows, t.err = r.Recent()
	for i := range t.rows {
		for k := range t.rows[i].Steps {
			if id := t.rows[i].Steps[k].Thread; id != 0 {
				t.asked.add(id)
				t.found[id] = flight.ThreadRow{}
			}
		}
	}
	return t
}

func (t *recentTaker) threads(rows []flight.ThreadRow) {
	for i := range rows {
		if id := rows[i].ID; t.asked.has(id) {
			if _, ok := t.found[id]; ok {
				t.found[id] = rows[i]
			}
		}
	}
}

// finish returns the sites, those where the longest holds were first.
func (t *recentTaker) finish() []recentSite {
	type key struct {
		kind flight.RecentKind
		at   heldAt
	}
	at := map[key]int{}
	all := []recentSite{}
	scopes := t.paths()
	for i := range t.rows {
		row := &t.rows[i]
		place := readPlace(t.r, row.Stack, row.Reason)
		own, meant := t.path(row.Stack, place)
		k := key{row.Kind, heldAtOf(place, row.Reason)}
		n, ok := at[k]
		if !ok {
			n = len(all)
			at[k] = n
			all = append(all, recentSite{kind: row.Kind, reason: row.Reason, place: place, path: own, meant: true})
		}
		all[n].meant = all[n].meant && meant
		t.add(&all[n], row.Steps, scopes)
	}
	all = slices.DeleteFunc(all, func(s recentSite) bool { return s.count == 0 })
	for i := range all {
		slices.SortStableFunc(all[i].longest, func(a, b recentHold) int { return cmp.Compare(b.held, a.held) })
	}
	slices.SortStableFunc(all, func(a, b recentSite) int { return cmp.Compare(b.longest[0].held, a.longest[0].held) })
	return all
}

func (t *recentTaker) add(to *recentSite, steps []flight.RecentStep, scopes map[flight.ScopeIndex][]string) {
	counted, waited := 0, 0
	for i := range steps {
		s := &steps[i]
		ago := max(t.r.Between(s.Began, t.now), 0)
		if ago > recently {
			continue
		}
		counted++
		to.count += uint64(s.Count)
		to.total += s.Total
		to.waiting += s.Waiting
		to.since = max(to.since, ago)
		if s.Waiting > 0 {
			waited++
		}
		h := recentHold{held: s.Longest, waiting: int(s.Crowd), holder: Party{Thread: s.Thread}}
		if s.Blocker != 0 {
			h.thing = Thing{Kind: kindName(s.Blocker), ID: idText(s.Blocker), Name: s.Name, Count: 1}
		}
		if row := t.found[s.Thread]; row.ID != 0 {
			h.holder.Name, h.holder.Scope = t.r.ThreadName(row), scopes[row.Scope]
		}
		to.longest = append(to.longest, h)
	}
	to.steps, to.busy = max(to.steps, counted), max(to.busy, waited)
}

// paths returns the names from below the root's of the scopes of the threads that were found.
func (t *recentTaker) paths() map[flight.ScopeIndex][]string {
	if len(t.found) == 0 {
		return nil
	}
	rows, err := t.r.Scopes()
	if t.err == nil {
		t.err = err
	}
	by := make(map[flight.ScopeIndex]*flight.ScopeRow, len(rows))
	for i := range rows {
		by[rows[i].Index] = &rows[i]
	}
	paths := map[flight.ScopeIndex][]string{}
	for _, row := range t.found {
		var path []string
		for s := by[row.Scope]; s != nil && s.Index != 0 && len(path) < len(rows); s = by[s.Parent] {
			path = append(path, s.Name)
		}
		slices.Reverse(path)
		paths[row.Scope] = path
	}
	return paths
}

// maxPath is how many callers of a place are told.
const maxPath = 3

// blockingCall is the function by which a program says that it blocks.
const blockingCall = "github.com/vtscope/vtscope/runtime/vthread.Blocking"

// path returns the program's own functions of a stack that called that of place, at most maxPath, and whether blockingCall is in the stack.
func (t *recentTaker) path(id flight.StackID, place *Place) (own []Frame, meant bool) {
	if place == nil {
		return nil, false
	}
	st, err := t.r.Stack(id)
	if err != nil {
		return nil, false
	}
	met := false
	for i := range st.Frames {
		f := &st.Frames[i]
		g := Frame{f.Func, f.File, f.Line, f.Inlined, f.Internal}
		switch {
		case f.Func == blockingCall:
			meant = true
		case !met:
			met = g == place.Frame
		case !f.Internal && !standard(f) && len(own) < maxPath:
			own = append(own, g)
		}
	}
	return own, meant
}

// pathWords writes "called by main.a a.go:1, main.b b.go:2", "" if there is nobody.
func pathWords(path []Frame) string {
	var all []string
	for i := range path {
		all = append(all, placeWords(&Place{Frame: path[i]}))
	}
	if all == nil {
		return ""
	}
	return "called by " + strings.Join(all, ", ")
}
