package html

import (
	_ "embed" // page.html
	"encoding/json"
	"html"
	"io"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

//go:embed page.html
var page string

const (
	// MaxBytes is the most that [Write] writes.
	MaxBytes = 1 << 20

	dataBytes = MaxBytes - 64<<10
	maxText   = 300 // bytes of a name
)

// What the page shows. Names are short: they come by the thousand.
type (
	data struct {
		Program, Go, Status, Took, Filter string
		PID, Threads, Scopes, Filtered    int
		At                                time.Time
		States                            map[string]int
		Missing                           []string
		Rest                              [2]int // groups and threads that are not in it
		S                                 []scope
		G                                 []group
		K                                 [][]int // stacks, as positions in F
		Cut                               []int   // of them those that lack outer frames
		F                                 []frame
		T                                 []string // functions and files
	}
	scope struct {
		Up          int `json:"u"`
		N           string
		Count       int `json:"c,omitempty"`
		Own, Total  int
		Owner, Rule string `json:",omitempty"`
	}
	group struct {
		Scope   int    `json:"s"`
		Stack   int    `json:"k"`
		State   string `json:"t"`
		Reason  string `json:"r,omitempty"`
		Count   int    `json:"n"`
		Seen    string `json:"a,omitempty"`
		Wait    [3]string
		Blocker string   `json:"b,omitempty"`
		Some    []string `json:"e,omitempty"`
	}
	frame [4]int // function, file, line, internal
)

// Write writes the page: the largest groups that fit, with the scopes that they are in. What does not fit is summed, and said.
func Write(w io.Writer, s *dump.Snapshot) error {
	b := builder{s: s, scopes: map[int]int{}, stacks: map[int]int{}, texts: map[string]int{}, frames: map[frame]int{}}
	b.d = data{
		Program: text(s.Process.Program), Go: text(s.Process.GoVersion), Status: string(s.Process.Status), Took: dump.Span(s.Took), Filter: text(s.Filter),
		PID: s.Process.PID, Threads: s.Threads, Scopes: s.ScopeCount, Filtered: s.Filtered, At: s.AsOf.UTC(), States: map[string]int{},
		S: []scope{}, G: []group{}, K: [][]int{}, F: []frame{}, T: []string{},
		Rest: [2]int{s.Rest.Groups, s.Rest.Threads},
	}
	for i := range s.Incomplete[:min(len(s.Incomplete), 100)] {
		b.d.Missing = append(b.d.Missing, text(s.Incomplete[i]))
		b.size += maxText * 2
	}
	for state, n := range s.States {
		if n > 0 {
			b.d.States[flight.State(state).String()] = n
		}
	}
	if len(s.Scopes) > 0 {
		b.scope(0)
	}
	for i := range s.Groups {
		if b.size > dataBytes-64<<10 { // one group may have that much: 64 frames of long names
			b.d.Rest[0]++
			b.d.Rest[1] += s.Groups[i].Count
			continue
		}
		b.group(&s.Groups[i])
	}
	doc, err := json.Marshal(b.d) // with < as \u003c: nothing in it ends the script
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer("{{title}}", html.EscapeString(b.d.Program+" "+b.d.At.Format("2006-01-02 15:04:05")), "{{data}}", string(doc)).WriteString(w, page)
	return err
}

// A builder collects what fits. size is about what it takes as JSON.
type builder struct {
	s      *dump.Snapshot
	d      data
	size   int
	scopes map[int]int // position in the snapshot -> in the page
	stacks map[int]int
	texts  map[string]int
	frames map[frame]int
}

// text keeps names from being long or changing the page.
func text(s string) string {
	s = dump.Printable(s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// cost is at most what a text takes as JSON: escapes such as \u003c make it longer.
func cost(s string) int {
	n := len(s) + 3
	for i := range len(s) {
		if c := s[i]; c < ' ' || strings.IndexByte(`<>&"\`, c) >= 0 || c == 0xe2 {
			n += 5
		}
	}
	return n
}

func (b *builder) text(s string) int {
	s = text(s)
	at, ok := b.texts[s]
	if !ok {
		at = len(b.d.T)
		b.texts[s] = at
		b.d.T = append(b.d.T, s)
		b.size += cost(s)
	}
	return at
}

func (b *builder) scope(i int) int {
	at, ok := b.scopes[i]
	if ok {
		return at
	}
	sc := &b.s.Scopes[i]
	up := -1
	if sc.Parent >= 0 {
		up = b.scope(sc.Parent)
	}
	at = len(b.d.S)
	b.scopes[i] = at
	out := scope{Up: up, N: text(sc.Name), Own: sc.Own, Total: sc.Total, Owner: text(sc.OwnerName), Rule: text(sc.Policy)}
	if sc.Count > 1 {
		out.Count = sc.Count
	}
	b.d.S = append(b.d.S, out)
	b.size += 60 + cost(out.N) + cost(out.Owner) + cost(out.Rule)
	return at
}

func (b *builder) stack(i int) int {
	if i < 0 {
		return -1
	}
	at, ok := b.stacks[i]
	if ok {
		return at
	}
	st := &b.s.Stacks[i]
	calls := []int{}
	const most = 200
	for _, f := range st.Frames[:min(len(st.Frames), most)] {
		fr := frame{b.text(f.Func), b.text(f.File), f.Line, 0}
		if f.Internal {
			fr[3] = 1
		}
		n, ok := b.frames[fr]
		if !ok {
			n = len(b.d.F)
			b.frames[fr] = n
			b.d.F = append(b.d.F, fr)
			b.size += 24
		}
		calls = append(calls, n)
		b.size += 6
	}
	at = len(b.d.K)
	b.stacks[i] = at
	b.d.K = append(b.d.K, calls)
	if st.Truncated || len(st.Frames) > most {
		b.d.Cut = append(b.d.Cut, at)
	}
	return at
}

// waitWords writes the least, the middle and the longest wait of a group.
func waitWords(g *dump.Group) [3]string {
	w := g.Wait
	if w.Unknown > 0 && w.Unknown >= g.Count {
		return [3]string{"?", "?", "?"}
	}
	out := [3]string{dump.Span(w.Min), dump.Span(w.Median), dump.Span(w.Max)}
	if w.Unknown > 0 {
		out[2] += " or ?"
	}
	return out
}

func (b *builder) group(g *dump.Group) {
	out := group{
		Scope: b.scope(g.Scope), Stack: b.stack(g.Stack), State: g.State.String(), Reason: g.Reason.String(), Count: g.Count,
		Seen: dump.SeenAgo(g.Seen), Wait: waitWords(g), Blocker: text(g.Blocker),
	}
	for _, e := range g.Examples {
		name := "#" + dump.Thousands(uint64(e.ID))
		if e.Name != "" {
			name += " " + text(e.Name)
		}
		if e.Steps > 0 {
			name += " (" + dump.Count(e.Steps, "step") + ")"
		}
		out.Some = append(out.Some, name)
		b.size += cost(name)
	}
	b.d.G = append(b.d.G, out)
	b.size += 120 + cost(out.Blocker)
}
