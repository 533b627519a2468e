package profile

import (
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
)

// Threads are the types of profiles of threads: how many, and how long they have been in their states together. The first is called as Go calls goroutines, so that
// what reads Go's profiles knows it.
var Threads = Types{{Type: "goroutine", Unit: "count"}, {Type: "waited", Unit: "nanoseconds"}}

// Write writes the groups of a snapshot as the samples of a compressed profile: threads, and how long they have waited together, by the median. Labels are
// scope (the path), state, reason, blocker and, if the examples of a group have one, name: what [dump.Template] leaves of it. Threads without a stack have their
// state in its place.
func Write(w io.Writer, s *dump.Snapshot) error { return Of(s).Write(w) }

// Of returns the profile that [Write] writes.
func Of(s *dump.Snapshot) *profile.Profile {
	b := NewBuilder(s.Process.Exe, s.AsOf, Threads, Threads[0].Type)
	b.Note(s.Incomplete...)
	stacks := make([][]*profile.Location, len(s.Stacks))
	var frames []Frame
	for i := range s.Stacks {
		frames = frames[:0]
		for _, f := range s.Stacks[i].Frames {
			frames = append(frames, Frame{f.Func, f.File, f.Line, f.Internal})
		}
		stacks[i] = b.Stack(frames, s.Stacks[i].Truncated)
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		stack := b.Instead(g.State.String())
		if g.Stack >= 0 {
			stack = stacks[g.Stack]
		}
		b.Add(stack, []int64{int64(g.Count), int64(g.Count) * int64(g.Wait.Median)}, map[string]string{
			LabelScope: strings.Join(s.Path(g.Scope), "/"), LabelState: g.State.String(), LabelReason: g.Reason.String(), LabelBlocker: g.Blocker, LabelName: nameOf(g),
		})
	}
	if s.Rest.Threads > 0 {
		b.Add(b.Instead("more groups"), []int64{int64(s.Rest.Threads), 0}, nil)
	}
	return b.Profile()
}

// nameOf returns the name that all examples have, without numbers and ids, of a group that has no other threads; else "".
func nameOf(g *dump.Group) string {
	if g.Count != len(g.Examples) {
		return ""
	}
	name := ""
	for i, e := range g.Examples {
		if t := dump.Template(e.Name); i == 0 {
			name = t
		} else if t != name {
			return ""
		}
	}
	return name
}
