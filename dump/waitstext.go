package dump

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// WaitsText prints w for a person: deadlocks first, each thread with what it holds and wants; then what waits for what, who holds that, and where. Of o it
// takes Top (the groups to print: 0 means 10, negative all), ASCII, Color and Width.
func WaitsText(to io.Writer, w *Waits, o TextOptions) error {
	glyphs, lines := o.drawn()
	p := &waitsPage{w: w, rows: o.Top, glyphs: glyphs, lines: lines}
	switch {
	case o.Top == 0:
		p.rows = defaultRows
	case o.Top < 0:
		p.rows = len(w.Groups)
	}
	p.print()
	_, err := io.WriteString(to, p.b.String())
	return err
}

// A waitsPage is [Waits] being printed.
type waitsPage struct {
	w    *Waits
	rows int // groups
	glyphs
	lines
}

const deadlockStyle style = "1;31"

func (p *waitsPage) print() {
	w := p.w
	p.text(bold, p.process(&w.Process))
	p.text(plain, "  "+w.Process.Threads(w.Threads)+"  "+Thousands(w.Waiting)+" wait for others")
	if w.Goroutines > 0 {
		p.text(plain, ", "+Count(w.Goroutines, "goroutine")+" among them")
	}
	p.text(plain, "  ")
	switch n := len(w.Deadlocks); {
	case n > 0:
		p.text(deadlockStyle, Count(n, "deadlock"))
	case len(w.Unjudged) > 0 || !w.Complete || w.Process.Unseen != "":
		p.text(plain, "no deadlock found")
	default:
		p.text(plain, "no deadlock")
	}
	p.endLine()
	p.trust(&w.Process, max(w.Taken.Sub(w.AsOf), 0), w.Took, w.Complete)
	p.endLine()
	p.unseen(&w.Process)
	if w.Group != "" {
		p.text(plain, "only group "+w.Group)
		p.endLine()
	}
	if w.Filter != "" {
		p.text(plain, "only "+p.clean(w.Filter))
		p.endLine()
	}
	p.missing(w.Incomplete)
	if known := w.JudgedWords(); known != "" {
		p.text(warn, "deadlocks: ")
		p.paragraph(plain, known, 4)
	}
	for i := range w.Deadlocks {
		p.deadlock(i)
	}
	more, threads := w.Rest.Groups, w.Rest.Threads
	for i := range w.Groups {
		if i >= p.rows {
			more++
			threads += w.Groups[i].Count
			continue
		}
		p.group(&w.Groups[i])
	}
	if more > 0 {
		p.endLine()
		p.text(dim, p.ellipsis+" "+Count(more, "more group")+" with "+Thousands(threads))
		p.endLine()
	}
	p.others()
}

// others says what the threads do that are in no group.
func (p *waitsPage) others() {
	var items []string
	for r, n := range p.w.Others {
		if n > 0 {
			items = append(items, reasonName(flight.Reason(r))+" "+Thousands(n))
		}
	}
	if len(items) == 0 {
		return
	}
	p.endLine()
	p.text(dim, "others: ")
	p.paragraph(plain, strings.Join(items, "  "), 8)
}

func (p *waitsPage) deadlock(i int) {
	d := &p.w.Deadlocks[i]
	p.endLine()
	p.text(deadlockStyle, "deadlock "+strconv.Itoa(i+1))
	p.text(plain, "   ")
	what := p.deadlockWords(d)
	if d.Victims > 0 {
		what += "; " + Thousands(d.Victims) + " more cannot go on because of them"
	}
	p.paragraph(plain, what, 4)
	shown := min(len(d.Members), textMembers)
	for k := range d.Members[:shown] {
		p.member(&d.Members[k])
	}
	if more := d.Threads + d.Goroutines - shown; more > 0 {
		p.text(dim, "  "+p.ellipsis+" "+Thousands(more)+" more until the circle closes")
		p.endLine()
	}
}

// textMembers is how many members of a deadlock are printed.
const textMembers = 12

// deadlockWords writes "2 threads wait for each other, for 2 min".
func (p *waitsPage) deadlockWords(d *Deadlock) string {
	var who []string
	if d.Threads > 0 {
		who = append(who, Count(d.Threads, "thread"))
	}
	if d.Goroutines > 0 {
		who = append(who, Count(d.Goroutines, "goroutine"))
	}
	if d.Threads+d.Goroutines == 1 {
		return who[0] + " waits for itself, for " + p.words(d.For)
	}
	return strings.Join(who, " and ") + " wait for each other, for " + p.words(d.For)
}

const waitLabel = 14 // columns of the labels below a line

func (p *waitsPage) label(s string) {
	p.text(plain, "    ")
	p.text(dim, s)
	p.pad(waitLabel)
}

func (p *waitsPage) member(m *Member) {
	p.text(plain, "  ")
	p.text(bold, p.who(&m.Party))
	if m.Goroutine == "" {
		p.text(plain, " in "+p.clean(ScopeName(m.Scope)))
		p.text(plain, ", ")
		p.text(plain, m.State)
	}
	if m.Count > 1 {
		p.text(plain, ", and "+Thousands(m.Count-1)+" of its scope alike")
	}
	p.endLine()
	// That a thread is what the one before it waits for need not be said twice.
	if m.Role != "is" || m.Keeps.Kind != "thread" {
		label, what := m.Role, p.thing(&m.Keeps)
		switch {
		case m.Role == "holds one of":
			label = "holds"
		case m.Keeps.Kind == "scope":
			what = strings.TrimPrefix(what, "the threads of ")
		}
		p.label(label)
		p.text(plain, what)
		if m.Held > 0 {
			p.text(plain, ", for "+p.words(m.Held))
		}
		p.made(&m.Keeps)
		p.endLine()
	}
	p.label("wants")
	p.text(plain, p.thing(&m.Wants)+", for "+p.words(m.For))
	p.endLine()
	p.where(m.Stack)
}

// where prints the innermost frames of a stack.
func (p *waitsPage) where(stack int) {
	if stack < 0 || stack >= len(p.w.Stacks) {
		return
	}
	frames := p.w.Stacks[stack].Shown(false)
	for i, f := range frames[:min(len(frames), 2)] {
		label := "at"
		if i > 0 {
			label = ""
		}
		p.label(label)
		p.frame(&f)
		p.endLine()
	}
}

func (p *waitsPage) frame(f *Frame) {
	p.text(plain, p.clean(ShortFunc(f.Func)))
	if f.File != "" {
		p.text(dim, " "+p.clean(baseName(f.File))+":"+strconv.Itoa(f.Line))
	}
}

func (p *waitsPage) made(x *Thing) {
	if x.Made != nil {
		p.text(dim, ", made at ")
		p.frame(&x.Made.Frame)
	}
}

func (p *waitsPage) who(x *Party) string {
	switch {
	case x.Thread != 0 && x.Name != "":
		return "#" + number(uint64(x.Thread)) + " " + p.quote(x.Name)
	case x.Thread != 0:
		return "#" + number(uint64(x.Thread))
	case x.Goroutine != "":
		return "goroutine " + p.clean(x.Goroutine)
	}
	return "somebody"
}

// thing writes `semaphore "db"`, "mutex 0xc000010000", "3 futures", "the end of #12".
func (p *waitsPage) thing(x *Thing) string {
	name := ""
	if x.Name != "" {
		name = " " + p.quote(x.Name)
	}
	switch {
	case x.Kind == "thread" && x.Count > 1:
		return "the end of " + Count(x.Count, "thread")
	case x.Kind == "thread":
		return "the end of #" + x.ID + name
	case x.Kind == "carriers":
		return "a carrier of scheduler " + x.ID + name
	case x.Kind == "scope" && x.Count <= 1:
		return "the threads of scope " + x.ID + name
	case x.Kind == "scope":
		return "the threads of " + Count(x.Count, "scope") + name
	case x.Count > 1:
		return Thousands(x.Count) + " " + plural(x.Kind) + name
	case name != "":
		return x.Kind + name
	}
	return x.Kind + " " + x.ID
}

func plural(kind string) string {
	switch kind {
	case "mutex", "rwmutex", "latch":
		return kind + "es"
	case "once":
		return "onces"
	}
	return kind + "s"
}

func (p *waitsPage) group(g *WaitGroup) {
	p.endLine()
	p.text(bold, Thousands(g.Count))
	switch {
	case g.Goroutines == g.Count:
		p.text(plain, " "+strings.TrimPrefix(Count(g.Count, "goroutine"), Thousands(g.Count)+" "))
	case g.Goroutines > 0:
		p.text(plain, " in "+p.clean(ScopeName(g.Scope))+" ("+Count(g.Goroutines, "goroutine")+" among them)")
	default:
		p.text(plain, " in "+p.clean(ScopeName(g.Scope)))
	}
	verb := " wait for "
	if g.Count == 1 {
		verb = " waits for "
	}
	p.text(plain, verb)
	p.text(bold, p.thing(&g.For))
	if n := int64(g.Capacity); n > 0 && g.For.Count <= 1 {
		p.text(plain, " ("+capacityWords(g)+")")
	}
	long, short := p.words(g.Longest), p.words(g.Shortest)
	switch {
	case g.Longest == 0: // it is not known
	case long == short || g.Count == 1:
		p.text(plain, ", for "+long)
	default:
		p.text(plain, ", for "+p.span(g.Shortest)+".."+p.span(g.Longest))
	}
	if g.Timed > 0 {
		p.text(plain, ", "+Thousands(g.Timed)+" with a time limit")
	}
	if g.Deadlock > 0 {
		p.text(deadlockStyle, "   deadlock "+strconv.Itoa(g.Deadlock))
	}
	p.endLine()
	p.where(g.Stack)
	if g.Count > 1 || g.Example.Name != "" {
		label := "e.g."
		if g.Count == 1 {
			label = "it is"
		}
		p.label(label)
		p.text(plain, p.who(&g.Example))
		p.endLine()
	}
	if g.For.Made != nil {
		p.label("made at")
		p.frame(&g.For.Made.Frame)
		p.endLine()
	}
	p.keepers(g)
}

// capacityWords writes "64 permits, none free".
func capacityWords(g *WaitGroup) string {
	units := map[string]string{"semaphore": "permit", "queue": "place", "barrier": "party", "latch": "count"}
	unit := units[g.For.Kind]
	if unit == "" {
		unit = "place"
	}
	s := Count(g.Capacity, unit)
	if unit == "party" && g.Capacity != 1 {
		s = Thousands(g.Capacity) + " parties"
	}
	switch {
	case g.For.Kind == "semaphore" && g.Available > 0:
		return s + ", " + Thousands(int(g.Available)) + " free"
	case g.For.Kind == "queue":
		return s + ", " + Thousands(int(g.Available)) + " in it"
	case (g.For.Kind == "barrier" || g.For.Kind == "latch") && g.Available > 0:
		return s + ", " + Thousands(int(g.Available)) + " missing"
	}
	return s
}

// keepers prints who holds what a group waits for.
func (p *waitsPage) keepers(g *WaitGroup) {
	switch {
	case g.For.Kind == "scope":
		return
	case g.For.Kind == "thread":
		k := &g.Holders[0]
		label := "it"
		if g.For.Count > 1 {
			label = "one"
		}
		p.label(label)
		p.text(plain, p.who(&k.Party)+p.state(k))
		p.endLine()
		p.where(k.Stack)
		return
	case g.Held == 0:
		return
	}
	p.label("held by")
	p.text(plain, p.heldBy(g))
	p.endLine()
	if len(g.Holders) > 0 {
		p.where(g.Holders[0].Stack)
	}
}

// heldBy writes "64 threads of export, e.g. #12 "x", parked for 2m, since 3m".
func (p *waitsPage) heldBy(g *WaitGroup) string {
	if len(g.Holders) == 0 {
		return Thousands(g.Held) + ", not known who"
	}
	first := &g.Holders[0]
	if g.Held == 1 {
		return p.who(&first.Party) + p.in(first) + p.state(first) + p.held(first)
	}
	alike := !slices.ContainsFunc(g.Holders, func(k Keeper) bool {
		return k.Thread == 0 || k.State == endedState || ScopeName(k.Scope) != ScopeName(first.Scope)
	})
	s := Thousands(g.Held)
	switch {
	case alike && len(g.Holders) == g.Held:
		s += " threads of " + p.clean(ScopeName(first.Scope))
	case alike:
		s += ", of whom the " + Thousands(len(g.Holders)) + " known are threads of " + p.clean(ScopeName(first.Scope))
	case len(g.Holders) < g.Held:
		s += ", of whom " + Thousands(len(g.Holders)) + " are known"
	}
	s += "; " + p.who(&first.Party)
	if !alike {
		s += p.in(first)
	}
	return s + p.state(first) + p.held(first)
}

func (p *waitsPage) in(k *Keeper) string {
	if k.Thread == 0 || k.State == endedState {
		return ""
	}
	return " of " + p.clean(ScopeName(k.Scope))
}

func (p *waitsPage) state(k *Keeper) string {
	switch k.State {
	case "":
		return ""
	case endedState:
		return ", which has ended"
	}
	return ", " + k.State + " for " + p.words(k.For)
}

func (p *waitsPage) held(k *Keeper) string {
	if k.Held <= 0 {
		return ""
	}
	return ", holds it for " + p.words(max(k.Held, time.Nanosecond))
}
