package dump

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
)

// FoldedOptions says how [Folded] prints. The zero value is usable.
type FoldedOptions struct {
	Internal bool // show the frames of vtscope's runtime, Go's runtime and package iter too
}

// Folded prints a line for each scope path and stack: names joined by ";", the root first, then the number of
// threads, as flame graph tools read it. States that have no stack stand in brackets instead of frames.
func Folded(w io.Writer, s *Snapshot, o FoldedOptions) error {
	sums := map[string]int{}
	for i := range s.Groups {
		g := &s.Groups[i]
		sums[foldedLine(s, g, o)] += g.Count
	}
	if s.Rest.Threads > 0 {
		sums["root;[more groups]"] += s.Rest.Threads
	}
	paths := make([]string, 0, len(sums))
	for path := range sums {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for _, path := range paths {
		b.WriteString(path)
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(sums[path]))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func foldedLine(s *Snapshot, g *Group, o FoldedOptions) string {
	names := s.Path(g.Scope)
	if g.Stack < 0 {
		names = append(names, "["+g.State.String()+"]")
	} else {
		st := &s.Stacks[g.Stack]
		if st.Truncated {
			names = append(names, "[not recorded]")
		}
		for _, f := range slices.Backward(st.Shown(o.Internal)) {
			names = append(names, f.Func)
		}
	}
	for i, n := range names {
		names[i] = strings.ReplaceAll(Printable(n), ";", ",")
		if n == "" {
			names[i] = "(no name)"
		}
	}
	return strings.Join(names, ";")
}
