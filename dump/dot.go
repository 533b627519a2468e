package dump

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// DotOptions says how [Dot] prints. The zero value is usable.
type DotOptions struct {
	Internal bool // show the frames of vtscope's runtime, Go's runtime and package iter too
	Nodes    int  // calls to show, those that most threads are in; 0 means 150, negative all
}

// A dotNode is a call path: all stacks that have it in common.
type dotNode struct {
	name  string
	up    int
	count int
	here  int // threads whose innermost call it is
}

// Dot prints the call paths of all threads, merged from the outermost call on, as a graph of Graphviz: each call with the threads that are in it.
func Dot(w io.Writer, s *Snapshot, o DotOptions) error {
	most := o.Nodes
	if most == 0 {
		most = 150
	}
	nodes := []dotNode{{name: s.Process.Program, up: -1, count: s.Threads}}
	type step struct {
		up   int
		name string
	}
	known := map[step]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		at := 0
		into := func(name string) {
			n, ok := known[step{at, name}]
			if !ok {
				n = len(nodes)
				known[step{at, name}] = n
				nodes = append(nodes, dotNode{name: name, up: at})
			}
			nodes[n].count += g.Count
			at = n
		}
		if g.Stack < 0 {
			into("[" + g.State.String() + "]")
		} else {
			for _, f := range slices.Backward(s.Stacks[g.Stack].Shown(o.Internal)) {
				into(ShortFunc(f.Func))
			}
		}
		nodes[at].here += g.Count
	}
	if s.Rest.Threads > 0 {
		nodes = append(nodes, dotNode{name: "[more groups]", count: s.Rest.Threads, here: s.Rest.Threads})
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(nodes[b].count, nodes[a].count) }) // a caller stands before what it calls
	left := 0
	if most >= 0 && len(order) > most {
		left = len(order) - most
		order = order[:most]
	}
	var b strings.Builder
	b.WriteString("digraph threads {\n\tnode [shape=box, style=filled, fillcolor=\"#eef3fb\", color=\"#7f93b2\", fontname=\"sans-serif\", fontsize=11];\n" +
		"\tedge [color=\"#7f93b2\", fontname=\"sans-serif\", fontsize=10];\n")
	if left > 0 {
		fmt.Fprintf(&b, "\tlabel=%s;\n", dotQuote(Count(left, "smaller call path")+" not shown"))
	}
	for _, i := range order {
		n := &nodes[i]
		label := Printable(n.name) + "\n" + Thousands(n.count)
		if n.here > 0 && n.here < n.count {
			label += ", " + Thousands(n.here) + " here"
		}
		fill := ""
		if n.here > 0 {
			fill = ", fillcolor=\"#ffe3c2\""
		}
		fmt.Fprintf(&b, "\tn%d [label=%s%s];\n", i, dotQuote(label), fill)
	}
	for _, i := range order {
		if n := &nodes[i]; i > 0 {
			fmt.Fprintf(&b, "\tn%d -> n%d [label=%s, penwidth=%.1f];\n", n.up, i, dotQuote(Thousands(n.count)), 1+4*float64(n.count)/float64(max(s.Threads, 1)))
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
