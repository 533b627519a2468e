package dump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// VerdictFormat names the JSON document of [VerdictJSON] and its version.
const VerdictFormat = "vtscope/verdict/v1"

// Limits are what a program must keep. The zero value has none.
type Limits struct {
	MaxThreads *int     // at most so many threads
	MaxGrowth  *int     // at most so many threads more than at the [Baseline]
	MaxPercent *float64 // at most so many percent of the threads at the baseline more than there
	NoPins     bool     // no thread is pinned, nor was since the baseline; without one, since the process began
	NoDeadlock bool     // no threads wait for each other in a circle; unknown if some wait for what nobody records the holder of
	NoLeaks    []string // no thread is in the scopes of these paths, and no such scope is open whose owner has ended; see [filter.InScope]
}

// Any reports whether there is any limit.
func (l *Limits) Any() bool {
	return l.MaxThreads != nil || l.MaxGrowth != nil || l.MaxPercent != nil || l.NoPins || l.NoDeadlock || len(l.NoLeaks) > 0
}

// Grows reports whether a limit needs a [Baseline].
func (l *Limits) Grows() bool { return l.MaxGrowth != nil || l.MaxPercent != nil }

// A Verdict tells which limits a process keeps.
type Verdict struct {
	Format  string        `json:"format"` // always [VerdictFormat]
	Process Process       `json:"process"`
	Taken   time.Time     `json:"taken"`
	AsOf    time.Time     `json:"as_of"`
	Took    time.Duration `json:"took_ns"`

	Complete   bool     `json:"complete"`
	Incomplete []string `json:"incomplete,omitempty"`

	Filter  string `json:"filter,omitempty"` // what threads the limits are about
	Threads int    `json:"threads"`          // that match

	Limits []Judged `json:"limits"` // in the order of [Limits]
}

// Failed returns how many limits are not kept; those of which it is unknown do not count.
func (v *Verdict) Failed() (n int) {
	for i := range v.Limits {
		if x := &v.Limits[i]; !x.Kept && !x.Unknown {
			n++
		}
	}
	return n
}

// Unknown returns of how many limits it is unknown whether they are kept.
func (v *Verdict) Unknown() (n int) {
	for i := range v.Limits {
		if v.Limits[i].Unknown {
			n++
		}
	}
	return n
}

// Judged is a limit and whether it is kept.
type Judged struct {
	Limit    string     `json:"limit"` // such as: max-threads 1000
	Kept     bool       `json:"kept"`
	Unknown  bool       `json:"unknown,omitempty"`  // nothing was found against it, but not all can be judged; Kept is false
	What     string     `json:"what"`               // what is so, without a full stop
	Evidence []Evidence `json:"evidence,omitempty"` // the most telling first, at most [EvidenceKept]
	More     int        `json:"more,omitempty"`     // evidence that is not told
	Try      string     `json:"try,omitempty"`      // the arguments of vtdump that tell more, with TARGET for the process
}

// EvidenceKept is how much evidence a [Judged] has at most.
const EvidenceKept = 3

// Evidence is threads, or a place, that make a limit fail.
type Evidence struct {
	What     string   `json:"what"`
	Scope    []string `json:"scope,omitempty"`
	Place    *Place   `json:"place,omitempty"` // nil: not known
	Examples []Party  `json:"examples,omitempty"`
}

// ErrUnjudged says that a limit cannot be judged of a source.
var ErrUnjudged = errors.New("cannot be judged")

// A Baseline is what a process was like when it was looked at before.
type Baseline struct {
	Snapshot *Snapshot
	pins     map[pinPlace]uint64 // so often so far
	pinned   bool                // pins is known
}

// A pinPlace is where threads were pinned, and why.
type pinPlace struct {
	Stack  flight.StackID
	Reason flight.Reason
}

// TakeBaseline looks at a process for a later [Judge].
func TakeBaseline(ctx context.Context, r Source, o Options) (*Baseline, error) {
	s, err := Take(ctx, r, o)
	if err != nil {
		return nil, err
	}
	b := &Baseline{Snapshot: s, pins: map[pinPlace]uint64{}, pinned: true}
	if p, ok := r.(pinner); ok {
		rows, _ := p.PinSites() // what cannot be read is read again by Judge, which tells
		for i := range rows {
			b.pins[pinPlace{rows[i].Stack, rows[i].Reason}] += rows[i].Count
		}
	}
	return b, nil
}

// A pinner is a [Source] that knows where threads were pinned.
type pinner interface {
	PinSites() ([]flight.PinSite, error)
}

// Judge looks at a process, and tells which limits the threads that match o.Filter keep. MaxGrowth and MaxPercent need a baseline, and NoDeadlock a flight file; from nil is
// none. The error is that of [Take], or says which limit cannot be judged.
func Judge(ctx context.Context, r Source, l Limits, from *Baseline, o Options) (*Verdict, error) {
	began := time.Now()
	s, err := Take(ctx, r, o)
	if err != nil {
		return nil, err
	}
	j := &judge{r: r, s: s, from: from, o: o, out: &Verdict{
		Format: VerdictFormat, Process: s.Process, Taken: s.Taken, AsOf: s.AsOf, Incomplete: slices.Clone(s.Incomplete),
		Filter: s.Filter, Threads: s.Threads, Limits: []Judged{},
	}}
	if l.MaxThreads != nil {
		j.maxThreads(*l.MaxThreads)
	}
	if l.Grows() && from == nil {
		return nil, fmt.Errorf("max-growth: nothing is known of before: %w", ErrUnjudged)
	}
	if l.MaxGrowth != nil {
		j.maxGrowth(strconv.Itoa(*l.MaxGrowth), float64(*l.MaxGrowth))
	}
	if p := l.MaxPercent; p != nil {
		j.maxGrowth(strconv.FormatFloat(*p, 'f', -1, 64)+"%", *p/100*float64(from.Snapshot.Threads))
	}
	if l.NoPins {
		if err := j.noPins(ctx); err != nil {
			return nil, err
		}
	}
	if l.NoDeadlock || len(l.NoLeaks) > 0 {
		if err := j.waitsOf(ctx, l.NoDeadlock); err != nil {
			return nil, err
		}
	}
	if l.NoDeadlock {
		if err := j.noDeadlock(ctx); err != nil {
			return nil, err
		}
	}
	for _, path := range l.NoLeaks {
		if err := j.noLeaks(ctx, path); err != nil {
			return nil, err
		}
	}
	j.out.Complete = len(j.out.Incomplete) == 0
	j.out.Took = time.Since(began)
	return j.out, nil
}

// VerdictJSON writes v as one document; the package comment describes it.
func VerdictJSON(w io.Writer, v *Verdict) error { return writeDocument(w, v) }

// A judge puts a verdict together.
type judge struct {
	r     Source
	s     *Snapshot
	from  *Baseline
	o     Options
	waits *Waits // nil: not known
	out   *Verdict
}

// add notes a limit; try and evidence are told if it is not kept.
func (j *judge) add(limit string, kept bool, what, try string, evidence []Evidence) {
	x := Judged{Limit: limit, Kept: kept, What: what}
	if !x.Kept {
		x.Try = try
		x.More = max(len(evidence)-EvidenceKept, 0)
		x.Evidence = evidence[:len(evidence)-x.More]
	}
	j.out.Limits = append(j.out.Limits, x)
}

func (j *judge) missed(more []string) {
	for _, why := range more {
		if !slices.Contains(j.out.Incomplete, why) {
			j.out.Incomplete = append(j.out.Incomplete, why)
		}
	}
}

// filtered writes arguments with those of the filter.
func filtered(arguments string, f *filter.Filter) string {
	if f.Empty() {
		return arguments
	}
	return arguments + " --filter '" + f.String() + "'"
}

func (s *Snapshot) evidence(g *Group) Evidence {
	path := s.Path(g.Scope)[1:]
	gap := " "
	if g.Count > 1 {
		gap = ", "
	}
	what := Count(g.Count, "thread") + gap + g.State.String() + g.Wait.upTo(g.Count, words)
	return Evidence{What: what, Scope: path, Place: placeOfStack(s.Stacks, g.Stack), Examples: parties(path, g.Examples[:min(len(g.Examples), textExamples)])}
}

func (s *Snapshot) allEvidence() (all []Evidence) {
	for i := range s.Groups {
		all = append(all, s.evidence(&s.Groups[i]))
	}
	if n := s.Rest.Threads; n > 0 {
		all = append(all, Evidence{What: Count(n, "thread") + " in groups that are only counted"})
	}
	return all
}

func (j *judge) maxThreads(most int) {
	j.add(fmt.Sprintf("max-threads %d", most), j.s.Threads <= most, "there "+verb(j.s.Threads, "is ", "are ")+j.s.Process.Threads(j.s.Threads), filtered("TARGET", j.o.Filter), j.s.allEvidence())
}

// maxGrowth judges the limit that is called so, of so many threads.
func (j *judge) maxGrowth(limit string, most float64) {
	before := j.from.Snapshot.Threads
	d := DiffOf(j.from.Snapshot, j.s, DiffOptions{Similar: j.o.Similar})
	grown := j.s.Threads - before
	what := fmt.Sprintf("there %s %s more than %s before", verb(grown, "is", "are"), j.s.Process.Threads(max(grown, 0)), words(d.Over))
	if strings.HasSuffix(limit, "%") {
		what += ", when there " + verb(before, "was ", "were ") + Thousands(before)
	}
	var evidence []Evidence
	for i := range d.Groups {
		c := &d.Groups[i]
		if c.After <= c.Before {
			break
		}
		evidence = append(evidence, Evidence{
			What: fmt.Sprintf("%s more, %s before", Count(c.After-c.Before, "thread"), Thousands(c.Before)), Scope: c.Path, Place: placeOfStack(d.Stacks, c.Stack),
			Examples: parties(c.Path, c.Examples[:min(len(c.Examples), textExamples)]),
		})
	}
	j.add("max-growth "+limit, float64(grown) <= most, what, filtered("diff TARGET --every 5s", j.o.Filter), evidence)
}

func (j *judge) noPins(ctx context.Context) error {
	var evidence []Evidence
	n := uint64(0)
	// Threads that are pinned now are in no place that is counted yet.
	now := j.s.States[flight.StatePinned]
	for i := range j.s.Groups {
		if g := &j.s.Groups[i]; g.State == flight.StatePinned {
			evidence = append(evidence, j.s.evidence(g))
		}
	}
	try := filtered("scheduler TARGET", nil)
	p, ok := j.r.(pinner)
	switch {
	case !j.o.Filter.Empty(), !ok:
		// Places are of all threads: of those that are chosen, and live, it is known how often.
		some, err := filter.Parse("pins>0 -state=pinned")
		if err != nil {
			return err
		}
		if some, err = filter.All(some, j.o.Filter); err != nil {
			return err
		}
		o := j.o
		o.Filter = some
		s, err := Take(ctx, j.r, o)
		if err != nil {
			return err
		}
		for i := range s.Groups {
			e := s.evidence(&s.Groups[i])
			e.What = Count(s.Groups[i].Count, "thread") + " that " + verb(s.Groups[i].Count, "was", "were") + " pinned before, and " + verb(s.Groups[i].Count, "is", "are") + " here now"
			evidence = append(evidence, e)
			n += uint64(s.Groups[i].Count)
		}
		try = "TARGET --filter '" + some.String() + "'"
	default:
		rows, err := p.PinSites()
		if err != nil {
			j.missed([]string{err.Error()})
		}
		for i := range rows {
			site := &rows[i]
			times := site.Count
			if j.from != nil && j.from.pinned {
				times -= min(times, j.from.pins[pinPlace{site.Stack, site.Reason}])
			}
			if times == 0 {
				continue
			}
			n += times
			what := fmt.Sprintf("pinned %s, for up to %s, because of %s", Count(times, "time"), words(site.Longest), site.Reason)
			if site.Victims > 0 {
				what += fmt.Sprintf("; %s waited for a carrier meanwhile", Count(site.Victims, "other"))
			}
			evidence = append(evidence, Evidence{What: what, Place: j.place(site.Stack)})
		}
	}
	what := "no thread is or was pinned"
	if now > 0 || n > 0 {
		what = fmt.Sprintf("%s pinned now, %s before", Count(now, "thread"), Count(n, "time"))
		if !j.o.Filter.Empty() || !ok {
			what = fmt.Sprintf("%s pinned now, %s before", Count(now, "thread"), Count(n, "other"))
		}
	}
	j.add("no-pins", len(evidence) == 0, what, try, evidence)
	return nil
}

func (j *judge) place(id flight.StackID) *Place {
	if id == 0 {
		return nil
	}
	s, err := j.r.Stack(id)
	if err != nil {
		return nil
	}
	return placeOf(s.Frames)
}

// waitsOf reads who waits for whom, if the source tells that.
func (j *judge) waitsOf(ctx context.Context, needed bool) error {
	if waitsSource(j.r) == nil {
		if needed {
			return fmt.Errorf("no-deadlock: who holds what is in no recording, and vtscope does not read it in dumps of the JDK: %w", ErrUnjudged)
		}
		return nil
	}
	w, err := TakeWaits(ctx, j.r)
	if err != nil {
		return err
	}
	j.waits = w
	j.missed(w.Incomplete)
	return nil
}

func (j *judge) noDeadlock(ctx context.Context) error {
	chosen := func(*Deadlock) bool { return true }
	if !j.o.Filter.Empty() && len(j.waits.Deadlocks) > 0 {
		l, err := List(ctx, j.r, j.o)
		if err != nil {
			return err
		}
		matched := map[flight.ThreadID]bool{}
		for i := range j.waits.Deadlocks {
			for k := range j.waits.Deadlocks[i].Members {
				matched[j.waits.Deadlocks[i].Members[k].Thread] = false
			}
		}
		if err := l.Each(ctx, func(t *Thread) error {
			if _, ok := matched[t.ID]; ok {
				matched[t.ID] = true
			}
			return nil
		}); err != nil {
			return err
		}
		chosen = func(d *Deadlock) bool {
			return slices.ContainsFunc(d.Members, func(m Member) bool { return m.Thread != 0 && matched[m.Thread] })
		}
	}
	var evidence []Evidence
	for i := range j.waits.Deadlocks {
		d := &j.waits.Deadlocks[i]
		if !chosen(d) || len(d.Members) == 0 {
			continue
		}
		m := &d.Members[0]
		who := Count(d.Threads, "thread")
		if d.Goroutines > 0 {
			who += " and " + Count(d.Goroutines, "goroutine")
		}
		e := Evidence{
			What:  fmt.Sprintf("%s wait for each other, for %s: here for %s", who, words(d.For), thingWords(&m.Wants)),
			Scope: m.Scope, Place: placeOfStack(j.waits.Stacks, m.Stack),
		}
		for k := range d.Members[:min(len(d.Members), textExamples)] {
			e.Examples = append(e.Examples, d.Members[k].Party)
		}
		evidence = append(evidence, e)
	}
	what := "no threads wait for each other in a circle"
	if n := len(evidence); n > 0 {
		what = Count(n, "deadlock")
	}
	j.add("no-deadlock", len(evidence) == 0, what, "waits TARGET", evidence)
	if len(evidence) == 0 {
		return j.deadlockUnknown(ctx)
	}
	return nil
}

// deadlockUnknown marks the last limit, that there is no deadlock, as unknown if some of the threads wait for what cannot be judged, or some threads are not known.
func (j *judge) deadlockUnknown(ctx context.Context) error {
	some := *j.waits
	if !j.o.Filter.Empty() {
		w, err := TakeWaitsOf(ctx, j.r, "", j.o)
		if err != nil {
			return err
		}
		some = *w
	}
	some.Deadlocks = nil // those are of threads that do not match
	x := &j.out.Limits[len(j.out.Limits)-1]
	switch why := some.JudgedWords(); {
	case why != "":
		x.What = why
	case j.waits.Process.Unseen != "" && j.o.Filter.Empty():
		x.What = "there are no threads, and goroutines are not seen"
	case !j.waits.Complete:
		x.What = "none found, but not all was read"
	default:
		return nil
	}
	x.Kept, x.Unknown, x.Try = false, true, filtered("waits TARGET", j.o.Filter)
	return nil
}

func (j *judge) noLeaks(ctx context.Context, path string) error {
	in, err := filter.InScope(path)
	if err != nil {
		return fmt.Errorf("no-leaks: %w", err)
	}
	o := j.o
	if o.Filter, err = filter.All(in, j.o.Filter); err != nil {
		return fmt.Errorf("no-leaks: %w", err)
	}
	s, err := Take(ctx, j.r, o)
	if err != nil {
		return err
	}
	evidence := s.allEvidence()
	orphans := 0
	if j.waits != nil && j.o.Filter.Empty() {
		for _, x := range j.waits.Orphans {
			if inPath(path, x.Scope) {
				orphans++
				evidence = append(evidence, Evidence{
					What: fmt.Sprintf("scope %d, open for %s, whose owner has ended", x.ID, words(x.Open)), Scope: x.Scope, Examples: []Party{{Thread: x.Owner}},
				})
			}
		}
	}
	what := fmt.Sprintf("%s in %s", Count(s.Threads, "thread"), path)
	if orphans > 0 {
		what += ", and " + Count(orphans, "scope") + " whose owner has ended"
	}
	j.add("no-leaks "+path, s.Threads+orphans == 0, what, filtered("TARGET --scope '"+path+"'", j.o.Filter), evidence)
	return nil
}

// inPath reports whether the scope of a path is one of those that [filter.InScope] is about.
func inPath(pattern string, path []string) bool {
	f, err := filter.InScope(pattern)
	if err != nil {
		return false
	}
	return f.Matcher(scopeTexts{scope: "root/" + ScopeName(path)}).Match(&filter.Row{})
}

// scopeTexts are the texts of a thread of which the scope alone matters.
type scopeTexts struct {
	filter.Texts
	scope string
}

func (t scopeTexts) Scope(int) string { return t.scope }
