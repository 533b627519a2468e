package dump

import (
	"io"
	"strings"
	"time"
)

// TextOptions says how [Text] prints. The zero value is usable.
type TextOptions struct {
	// Top is the number of groups shown, the largest ones; 0 means 20, negative all.
	Top int

	// Depth is the number of frames shown of each stack; 0 means as many as keep the page below 16,000 bytes
	// and at most eight, negative all.
	Depth int

	Used     bool // tell what the threads of each scope that have ended used
	Internal bool // show the frames of vtscope's runtime, Go's runtime and package iter too
	ASCII    bool // use no character beyond ASCII
	Color    bool // colour for a terminal
	Width    int  // columns; longer lines are cut; 0 means 100, less than 40 means 40
}

// The limits of a page that was not asked to be larger.
const (
	defaultTop    = 20
	defaultWidth  = 100
	minWidth      = 40
	pageBytes     = 16_000
	textExamples  = 3
	exampleColumn = 32 // columns of an example's name
)

// A fit is how much of a snapshot goes on a page.
type fit struct {
	depth  int // frames of a stack
	top    int // groups
	scopes int // lines for scopes without a shown group
	levels int // levels of the tree with a line for each scope above a shown group
}

// fits are tried until the page is small enough.
var fits = []fit{
	{8, 20, 30, 12}, {6, 20, 30, 12}, {5, 20, 30, 12}, {4, 20, 30, 10}, {3, 20, 20, 8},
	{2, 20, 20, 6}, {2, 15, 20, 4}, {1, 10, 15, 4}, {1, 5, 10, 3},
}

// Text prints a snapshot for a person: the scopes as a tree with counts, below each the groups of its
// threads, largest first. It is one Write unless it is large.
func Text(w io.Writer, s *Snapshot, o TextOptions) error {
	all := len(s.Groups)
	var p *page
	keys := s.ShortKeys()
	for i, f := range fits {
		fixed := o.Depth != 0 || o.Top != 0
		switch {
		case o.Depth > 0:
			f.depth = o.Depth
		case o.Depth < 0:
			f.depth = 1 << 30
		}
		switch {
		case o.Top > 0:
			f.top = o.Top
		case o.Top < 0:
			f.top, f.scopes, f.levels = all, len(s.Scopes), len(s.Scopes)
		}
		p = newPage(s, o, f)
		p.keys = keys
		p.print()
		if fixed || p.b.Len() <= pageBytes || i == len(fits)-1 {
			break
		}
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// A page is a snapshot being printed.
type page struct {
	s *Snapshot
	o TextOptions
	f fit
	glyphs
	lines

	keys      []string    // by group, as short as they are clear
	nodes     []node      // by scope
	groups    [][]int     // by scope: the shown groups
	uses      []int       // by stack: how many shown groups have it
	numbers   map[int]int // of stacks, as far as printed, that several groups have
	countCol  int         // where the counts of the scopes end
	ownCol    int
	fileCol   int // where files stand in the scope being printed
	more      int // groups not shown
	moreCount int // their threads
}

// A node is a scope's place on the page.
type node struct {
	shown    bool
	gap      bool  // scopes between this one and the one it is printed below are not shown
	children []int // shown scopes printed below it
	rest     Scope // Count and Own sum the scopes below it that are not shown
	lead     string
	under    string
}

func newPage(s *Snapshot, o TextOptions, f fit) *page {
	glyphs, lines := o.drawn()
	p := &page{s: s, o: o, f: f, glyphs: glyphs, lines: lines, nodes: make([]node, len(s.Scopes)), groups: make([][]int, len(s.Scopes)),
		uses: make([]int, len(s.Stacks)), numbers: map[int]int{}}
	p.choose()
	p.place()
	return p
}

// choose picks the groups and scopes to show.
func (p *page) choose() {
	s := p.s
	p.more, p.moreCount = s.Rest.Groups, s.Rest.Threads
	for i := range s.Groups {
		g := &s.Groups[i]
		if i >= p.f.top {
			p.more++
			p.moreCount += g.Count
			continue
		}
		if g.Stack >= 0 {
			p.uses[g.Stack]++
		}
		p.groups[g.Scope] = append(p.groups[g.Scope], i)
		p.nodes[g.Scope].shown = true
		for at := g.Scope; at >= 0; at = s.Scopes[at].Parent {
			if s.Scopes[at].Depth <= p.f.levels {
				p.nodes[at].shown = true
			}
		}
	}
	if len(s.Scopes) > 0 {
		p.nodes[0].shown = true
	}
	// Then the largest others. A parent is at least as large as its children and stands before them.
	for _, i := range largestScopes(s.Scopes, p.f.scopes, p.f.levels) {
		p.nodes[i].shown = true
	}
	above := make([]int, len(s.Scopes)) // nearest shown scope, itself included
	for i := range s.Scopes {
		parent := s.Scopes[i].Parent
		up := 0
		if parent >= 0 {
			up = above[parent]
		}
		if !p.nodes[i].shown {
			above[i] = up
			p.nodes[up].rest.Count += s.Scopes[i].Count
			p.nodes[up].rest.Own += s.Scopes[i].Own
			continue
		}
		above[i] = i
		if i > 0 {
			p.nodes[up].children = append(p.nodes[up].children, i)
			p.nodes[i].gap = up != parent
		}
	}
}

// place gives every shown scope its indentation and finds the columns.
func (p *page) place() {
	names := 0
	var walk func(i int)
	walk = func(i int) {
		n := &p.nodes[i]
		names = max(names, Columns(n.lead)+Columns(p.scopeName(i)))
		for at, c := range n.children {
			fork, line := p.fork, p.line
			if at == len(n.children)-1 && n.rest.Count == 0 {
				fork, line = p.corner, p.blank
			}
			child := &p.nodes[c]
			if Columns(n.under) > p.o.Width/3 {
				line = ""
			}
			child.lead, child.under = n.under+fork, n.under+line
			walk(c)
		}
	}
	if len(p.nodes) > 0 {
		walk(0)
	}
	total := len(p.s.Process.noun() + "s")
	if len(p.s.Scopes) > 0 {
		total = max(total, len(Thousands(p.s.Scopes[0].Total)))
	}
	// Room for the counts, and some for what follows them.
	names = max(min(max(names, 24), 52, p.o.Width-2*total-24), 12)
	p.countCol = names + 2 + total
	p.ownCol = p.countCol + 2 + total
}

// funcWidth returns where the longest function name of the groups of a scope ends.
func (p *page) funcWidth(scope int) int {
	w := 0
	for _, g := range p.groups[scope] {
		frames, _, _ := p.frames(&p.s.Groups[g])
		for _, f := range frames {
			w = max(w, Columns(p.guide(scope))+frameIndent+Columns(p.clean(ShortFunc(f.Func))))
		}
	}
	return w
}

const (
	groupIndent = 2
	frameIndent = 4
)

func (p *page) print() {
	p.header()
	if len(p.s.Scopes) == 0 {
		return
	}
	p.endLine()
	p.text(dim, "scope")
	p.right(dim, p.s.Process.noun()+"s", p.countCol)
	p.right(dim, "own", p.ownCol)
	p.endLine()
	var walk func(i int)
	walk = func(i int) {
		p.scope(i)
		p.fileCol = min(p.funcWidth(i), p.o.Width*2/3)
		for _, g := range p.groups[i] {
			p.group(i, g)
		}
		n := &p.nodes[i]
		for _, c := range n.children {
			walk(c)
		}
		if n.rest.Count > 0 && !p.bare(i) {
			p.text(plain, n.under+p.corner)
			p.text(dim, p.ellipsis+" "+Count(n.rest.Count, "more scope"))
			p.right(dim, Thousands(n.rest.Own), p.countCol)
			p.endLine()
		}
	}
	walk(0)
	if p.more > 0 || p.moreCount > 0 {
		p.endLine()
		p.text(dim, p.ellipsis+" "+Count(p.more, "more group")+" with "+p.s.Process.Threads(p.moreCount))
		if p.more > p.s.Rest.Groups {
			p.text(dim, "   (--top "+number(p.f.top+p.more-p.s.Rest.Groups)+" shows them)")
		}
		p.endLine()
	}
}

// bare reports that nothing is printed below the line of a scope but, if there are any, the sum of the scopes below
// it, which then has its place on that line.
func (p *page) bare(scope int) bool {
	return len(p.groups[scope]) == 0 && len(p.nodes[scope].children) == 0
}

// header prints who this is, how many threads, and how far to trust it.
func (p *page) header() {
	s := p.s
	title := p.process(&s.Process)
	sizes := "  " + s.Process.Threads(s.Threads) + " in " + Count(s.ScopeCount, "scope")
	p.text(bold, title)
	p.text(plain, sizes)
	var states []lineItem
	for _, st := range stateOrder {
		if n := s.States[st]; n > 0 {
			states = append(states, lineItem{stateStyle(st), st.String(), " " + Thousands(n)})
		}
	}
	p.wrapped(states)

	p.trust(&s.Process, max(s.Taken.Sub(s.AsOf), 0), s.Took, s.Complete)
	if s.ChangeOver > 0 {
		p.text(plain, "; "+p.grew+p.shrank+" since "+words(s.ChangeOver)+" ago")
	}
	p.endLine()
	p.unseen(&s.Process)
	if s.Filter != "" {
		p.text(plain, "only "+p.clean(s.Filter)+": "+Count(s.Filtered, "other thread"))
		p.endLine()
	}
	if k := s.Known; k.Groups > 0 {
		p.text(plain, "known good, hidden: "+Count(k.Groups, "group")+" with "+s.Process.Threads(k.Threads))
		p.endLine()
	}
	p.missing(s.Incomplete)
}

// trust begins a line that says how the data was come by.
func (l *lines) trust(p *Process, age, took time.Duration, complete bool) {
	switch status := p.Status; {
	case p.Held == "stopped":
		l.text(plain, "taken in "+l.words(took)+"; the process was stopped for it")
	case p.Held == "mounted":
		l.text(plain, "taken in "+l.words(took)+"; running threads were stopped one at a time")
	case status == StatusRunning:
		l.text(plain, "taken in "+l.words(took)+", no pause")
	case status == StatusStopped:
		l.text(warn, "process is stopped (SIGSTOP or a debugger)")
		l.text(plain, "; taken in "+l.words(took))
	case status == StatusEnded:
		l.text(warn, "process has ended; data is "+l.words(age)+" old")
		l.text(plain, "; read in "+l.words(took))
	case status == StatusGone:
		ending := "how it ended is not known"
		if p.Ending != "" {
			ending = p.Ending
		}
		l.text(warn, "process is gone ("+ending+"); data is "+l.words(age)+" old")
		l.text(plain, "; read in "+l.words(took))
	case status == StatusRecorded:
		l.text(warn, "a moment of a recording, "+l.words(age)+" ago")
		l.text(plain, "; read in "+l.words(took))
	case status == StatusDump && age < time.Second:
		l.text(warn, "a dump")
		l.text(plain, "; read in "+l.words(took))
	case status == StatusDump:
		l.text(warn, "a dump, made "+l.words(age)+" ago")
		l.text(plain, "; read in "+l.words(took))
	default:
		l.text(warn, "process is in an unknown state")
		l.text(plain, "; read in "+l.words(took))
	}
	if p.Unseen != "" {
		l.text(warn, "; no thread is seen")
	} else if complete {
		l.text(plain, "; complete")
	} else {
		l.text(warn, "; incomplete")
	}
}

// missing prints what is missing, a paragraph each.
func (l *lines) missing(all []string) {
	for _, why := range all {
		l.text(warn, "  ! ")
		l.paragraph(warn, l.clean(why), 4)
	}
}

// words is the function of this name, in the characters of the page.
func (l *lines) words(d time.Duration) string {
	if s := words(d); !l.ascii {
		return s
	} else {
		return ASCII(s)
	}
}

// words writes d with a space before its unit, as sentences have it.
func words(d time.Duration) string {
	s := Span(d)
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i > 0 {
		if !strings.ContainsAny(s[i:], "0123456789") {
			return s[:i] + " " + s[i:]
		}
	}
	return s
}
