package dump

import (
	"fmt"
	"io"
	"strings"
)

// MarkdownOptions says how [Markdown] prints. The zero value is usable.
type MarkdownOptions struct {
	Top      int  // groups to show; 0 means 10, negative all
	Internal bool // show the frames of vtscope's runtime, Go's runtime and package iter too
}

// Markdown prints the snapshot for an issue: what it is of, the scopes as a table, and the largest groups, whose stacks unfold.
func Markdown(w io.Writer, s *Snapshot, o MarkdownOptions) error {
	top := o.Top
	if top == 0 {
		top = 10
	}
	if top < 0 || top > len(s.Groups) {
		top = len(s.Groups)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s in %s\n\n", markdown(s.Process.Program), s.Process.Threads(s.Threads), Count(s.ScopeCount, "scope"))
	fmt.Fprintf(&b, "pid %d, %s, %s", s.Process.PID, markdown(s.Process.GoVersion), s.AsOf.UTC().Format("2006-01-02 15:04:05 UTC"))
	for _, st := range stateOrder {
		if n := s.States[st]; n > 0 {
			fmt.Fprintf(&b, ", %s %s", Thousands(n), st)
		}
	}
	b.WriteString("\n")
	if s.Filter != "" {
		fmt.Fprintf(&b, "\nonly `%s`; %s\n", strings.ReplaceAll(Printable(s.Filter), "`", "'"), Count(s.Filtered, "other thread"))
	}
	for _, why := range s.Incomplete {
		fmt.Fprintf(&b, "\n> **incomplete:** %s\n", markdown(why))
	}
	const scopes = 20
	b.WriteString("\n| scope | threads | own |\n|---|--:|--:|\n")
	for i := range s.Scopes[:min(len(s.Scopes), scopes)] {
		sc := &s.Scopes[i]
		name := strings.Repeat("&nbsp;&nbsp;", min(sc.Depth, 20)) + markdown(sc.Name)
		if sc.Count > 1 {
			name += " ×" + Thousands(sc.Count)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, Thousands(sc.Total), Thousands(sc.Own))
	}
	if n := len(s.Scopes) - scopes; n > 0 {
		fmt.Fprintf(&b, "| … %s | | |\n", Count(n, "more scope"))
	}
	for i := range s.Groups[:top] {
		s.markdownGroup(&b, &s.Groups[i], o)
	}
	rest := s.Rest.Threads
	for i := top; i < len(s.Groups); i++ {
		rest += s.Groups[i].Count
	}
	if n := len(s.Groups) - top + s.Rest.Groups; rest > 0 {
		fmt.Fprintf(&b, "\n… %s with %s\n", Count(max(n, 1), "more group"), s.Process.Threads(rest))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Snapshot) markdownGroup(b *strings.Builder, g *Group, o MarkdownOptions) {
	fmt.Fprintf(b, "\n<details><summary><b>%s</b> %s", Thousands(g.Count), g.State)
	if g.Reason != 0 {
		fmt.Fprintf(b, " %s", g.Reason)
	}
	if g.Seen > 0 {
		fmt.Fprintf(b, " (%s)", SeenAgo(g.Seen))
	}
	fmt.Fprintf(b, " %s in %s", g.Wait.Text(g.Count, Span), markdown(strings.Join(s.Path(g.Scope), "/")))
	if g.Blocker != "" {
		fmt.Fprintf(b, ", waiting for %s", markdown(g.Blocker))
	}
	var frames []Frame
	if g.Stack >= 0 {
		frames = s.Stacks[g.Stack].Shown(o.Internal)
	}
	if len(frames) > 0 {
		fmt.Fprintf(b, ": <code>%s</code>", markdown(ShortFunc(frames[0].Func)))
	}
	b.WriteString("</summary>\n\n```\n")
	for _, f := range frames {
		b.WriteString(strings.ReplaceAll(Printable(f.Func), "```", "'''"))
		if f.File != "" {
			fmt.Fprintf(b, "  %s:%d", strings.ReplaceAll(Printable(baseName(f.File)), "```", "'''"), f.Line)
		}
		b.WriteByte('\n')
	}
	if len(frames) == 0 {
		b.WriteString(noStack(g) + "\n")
	} else if s.Stacks[g.Stack].Truncated {
		b.WriteString("… outer frames are not recorded\n")
	}
	b.WriteString("```\n</details>\n")
}

// markdown returns s so that it is text in Markdown, also in a table.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range Printable(s) {
		switch {
		case strings.ContainsRune("&<>", r):
			b.WriteString(map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;"}[r])
		case strings.ContainsRune("\\`*_[]|#~@", r):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
