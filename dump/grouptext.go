package dump

import (
	"io"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// groupShares is how many names and blockers of a group are shown.
const groupShares = 8

// GroupText prints a report for a person. Its stack has all frames, or the first Depth, internal ones only with Internal.
func GroupText(w io.Writer, g *GroupReport, o TextOptions) error {
	glyphs, lines := o.drawn()
	r := &ThreadReport{Stack: g.Stack}
	if g.Stack != nil {
		r.Stack = &Stack{Frames: g.Stack.Shown(o.Internal), Truncated: g.Stack.Truncated}
	}
	p := &groupPage{threadPage{r, o, glyphs, lines}, g}
	p.print()
	_, err := w.Write(p.b.Bytes())
	return err
}

// A groupPage is a report of a group being printed.
type groupPage struct {
	threadPage
	g *GroupReport
}

func (p *groupPage) print() {
	g := p.g
	p.text(bold, p.process(&g.Process))
	p.text(plain, "  group ")
	p.text(bold, g.Key)
	p.text(plain, "  "+g.Process.Threads(g.Count)+", "+Count(g.Others, "other"))
	p.endLine()
	p.trust(&g.Process, max(g.Taken.Sub(g.AsOf), 0), g.Took, g.Complete)
	p.endLine()
	if g.Filter != "" {
		p.text(plain, "only "+p.clean(g.Filter))
		p.endLine()
	}
	p.missing(g.Incomplete)
	p.endLine()

	state, _ := parseState(g.State)
	p.label("state")
	p.text(stateStyle(state), g.State)
	if g.Wait.Unknown == g.Count && g.Count > 0 {
		if g.Wait.Within > 0 {
			p.text(plain, " for less than "+p.words(g.Wait.Within)+"; since when is unknown")
		} else {
			p.text(plain, ", for how long is unknown")
		}
	} else if g.Wait.Min == g.Wait.Max {
		p.text(plain, " for "+p.words(g.Wait.Max))
	} else {
		p.text(plain, " for "+p.words(g.Wait.Min)+" to "+p.words(g.Wait.Max)+", half of them for more than "+p.words(g.Wait.Median))
	}
	if n := g.Wait.Unknown; n > 0 && n < g.Count {
		p.text(plain, "; of "+Thousands(n)+" it is unknown")
	}
	if g.Reason != "" {
		p.text(plain, "   "+g.Reason)
	}
	if g.Seen > 0 {
		p.text(dim, "   "+SeenAgo(g.Seen))
	}
	p.endLine()
	p.line("scope", p.clean(ScopeName(g.Scope)))
	p.shares("wait for", g.Blockers, "nothing known")
	p.shares("called", g.Names, "(no name)")
	p.histogram()
	p.examples("oldest", g.Oldest)
	if g.Count > len(g.Oldest) {
		p.examples("newest", g.Newest)
		p.examples("random", g.Random)
	}
	p.stack()
}

// shares prints values with their counts, unless nobody has any.
func (p *groupPage) shares(label string, all []Share, none string) {
	if len(all) == 0 || len(all) == 1 && all[0].Value == "" {
		return
	}
	more, threads := 0, 0
	for i, s := range all {
		if i >= groupShares {
			more++
			threads += s.Count
			continue
		}
		value := p.clean(s.Value)
		if value == "" {
			value = none
		}
		p.label(label)
		p.right(plain, Thousands(s.Count), threadLabel+len(Thousands(all[0].Count)))
		p.text(plain, "  "+value)
		p.endLine()
		label = ""
	}
	if more > 0 {
		p.line("", p.ellipsis+" "+Count(more, "other")+" of "+Count(threads, "thread"))
	}
}

// histogram prints how many wait how long, a bar for two doublings.
func (p *groupPage) histogram() {
	var counts []uint64
	for i, n := range p.g.Waits {
		bar := (p.g.First + i + bucketsPerBar - 1) / bucketsPerBar
		for len(counts) <= bar {
			counts = append(counts, 0)
		}
		counts[bar] += n
	}
	most, shown := uint64(0), 0
	for _, n := range counts {
		if n > 0 {
			shown++
			most = max(most, n)
		}
	}
	if shown < 2 {
		return
	}
	label := "waits"
	for i, n := range counts {
		if n == 0 {
			continue
		}
		p.label(label)
		label = ""
		p.right(dim, "<"+p.span(flight.BucketEnd(i*bucketsPerBar)), threadLabel+7)
		p.right(plain, Thousands(n), threadLabel+7+2+len(Thousands(most)))
		p.text(plain, " ")
		room := max(min(p.width-p.at(), 50), 1)
		long := int(float64(n)/float64(most)*float64(room) + 0.5)
		bar := strings.Repeat(p.bar, long)
		if long == 0 {
			bar = "."
		}
		p.text(stateStyle(flight.StateRunnable), bar)
		p.endLine()
	}
}

func (p *groupPage) examples(label string, all []Example) {
	for _, e := range all {
		p.label(label)
		p.text(plain, p.party(&Party{Thread: e.ID, Name: cut(e.Name, exampleColumn, p.ellipsis)})+stepsText(&e))
		if e.Unknown && e.Within > 0 {
			p.text(dim, "   <"+p.span(e.Within))
		} else if e.Unknown {
			p.text(dim, "   "+unknown)
		} else {
			p.text(dim, "   "+p.span(e.Wait))
		}
		p.endLine()
		label = ""
	}
}
