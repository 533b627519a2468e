package profile

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// The keys of labels that samples have, the same in all profiles of vtscope.
const (
	LabelScope   = "scope"   // the path of scopes
	LabelState   = "state"   // what the threads do
	LabelReason  = "reason"  // why they wait
	LabelBlocker = "blocker" // what they wait for
	LabelName    = "name"    // their name
)

// A Frame is a call in a stack.
type Frame struct {
	Func, File string
	Line       int
	Internal   bool // of vtscope's runtime, Go's runtime or package iter
}

// NotRecorded is the outermost call of stacks whose outer calls are not known.
const NotRecorded = "[not recorded]"

// Types are the types of the values of samples, the first of which is also that of the period.
type Types []profile.ValueType

// A Builder makes a profile of samples. Stacks are merged by function and line.
type Builder struct {
	p         profile.Profile
	functions map[[2]string]*profile.Function
	locations map[place]*profile.Location
}

type place struct {
	f    *profile.Function
	line int
}

// NewBuilder returns a builder of a profile of the program exe. At is when the profile was taken, or when what it is about ended; usual is the value that readers show first.
func NewBuilder(exe string, at time.Time, types Types, usual string) *Builder {
	b := &Builder{functions: map[[2]string]*profile.Function{}, locations: map[place]*profile.Location{}}
	for i := range types {
		b.p.SampleType = append(b.p.SampleType, &types[i])
	}
	b.p.PeriodType, b.p.Period = &types[0], 1
	b.p.DefaultSampleType, b.p.TimeNanos = usual, at.UnixNano()
	b.p.Mapping = []*profile.Mapping{{ID: 1, File: exe, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}}
	return b
}

// Note adds comments, which "go tool pprof -comments" prints.
func (b *Builder) Note(comments ...string) { b.p.Comments = append(b.p.Comments, comments...) }

// Over tells that the values are those of so long.
func (b *Builder) Over(d time.Duration) { b.p.DurationNanos = int64(d) }

// Stack returns the locations of calls, innermost first. Calls inside of Go's runtime and of ours at either end are left out, but for the innermost one that
// others have called: so a stack begins with what the program called, such as a lock, and ends with its own body.
func (b *Builder) Stack(frames []Frame, truncated bool) []*profile.Location {
	from, to := 0, len(frames)
	for from < to && frames[from].Internal {
		from++
	}
	if from == to { // nothing but that: all of it
		from = 0
	} else {
		from = max(from-1, 0)
		for frames[to-1].Internal && to-1 > from {
			to--
		}
	}
	all := make([]*profile.Location, 0, to-from+1)
	for _, f := range frames[from:to] {
		all = append(all, b.location(f.Func, f.File, f.Line))
	}
	if truncated {
		all = append(all, b.location(NotRecorded, "", 0))
	}
	return all
}

// Instead returns the stack of threads whose stack is not known: a word in brackets.
func (b *Builder) Instead(word string) []*profile.Location {
	return []*profile.Location{b.location("["+word+"]", "", 0)}
}

func (b *Builder) location(name, file string, line int) *profile.Location {
	key := [2]string{name, file}
	f := b.functions[key]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name, Filename: file}
		b.p.Function = append(b.p.Function, f)
		b.functions[key] = f
	}
	at := place{f, line}
	l := b.locations[at]
	if l == nil {
		l = &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Line: []profile.Line{{Function: f, Line: int64(line)}}}
		b.p.Location = append(b.p.Location, l)
		b.locations[at] = l
	}
	return l
}

// Add adds a sample. Labels that are empty are left out.
func (b *Builder) Add(stack []*profile.Location, values []int64, labels map[string]string) *profile.Sample {
	s := &profile.Sample{Value: values, Location: stack}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if v := labels[k]; v != "" {
			if s.Label == nil {
				s.Label = map[string][]string{}
			}
			s.Label[k] = []string{v}
		}
	}
	b.p.Sample = append(b.p.Sample, s)
	return s
}

// Profile returns the profile. It is the builder's no more.
func (b *Builder) Profile() *profile.Profile { return &b.p }

// Write writes the profile, compressed.
func (b *Builder) Write(w io.Writer) error { return b.p.Write(w) }
