package dump

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Mark is what somebody thinks of a group.
type Mark string

// The marks.
const (
	Good       Mark = "good"       // known, and as it should be: hidden
	Suspicious Mark = "suspicious" // to be looked at
)

// NoMark is the word for taking a mark away. No group has it.
const NoMark Mark = "none"

// A MarkedGroup is a line of [Marks].
type MarkedGroup struct {
	Mark        Mark
	Fingerprint string // of the scope's path, without numbers and ids, and the stack: the same in every process
	About       string // what it was, for people: the path and the innermost calls
	Note        string
}

// Marks are what is known of groups: a text with a line for each, which can be committed and merged. The zero value is empty.
//
//	good        9f3a0c1d2e4b5a68  shop/sessions  shop.(*Carts).watch < shop.Run  # heart beat
//
// Lines are in the order of fingerprints, so that those of several people seldom meet. Empty lines and those that begin with # say nothing.
type Marks struct{ rows []MarkedGroup } // by fingerprint

// MaxMarks is how many bytes of marks a file may hold.
const MaxMarks = 1 << 20

const marksHead = "# Marks of vtdump: vtdump mark TARGET GROUP good, suspicious or none; read with --marks.\n"

// ParseMarks reads what String has written. The error names the line.
func ParseMarks(text string) (*Marks, error) {
	m := &Marks{}
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		what, note, _ := strings.Cut(line, " # ")
		word, rest, _ := strings.Cut(what, " ")
		rest = strings.TrimSpace(rest)
		fingerprint, about, _ := strings.Cut(rest, " ")
		g := MarkedGroup{Mark(word), fingerprint, strings.TrimSpace(about), strings.TrimSpace(note)}
		switch {
		case g.Mark != Good && g.Mark != Suspicious:
			return nil, fmt.Errorf("line %d: %q is no mark: want %s or %s", n, word, Good, Suspicious)
		case len(fingerprint) != 16 || strings.Trim(fingerprint, "0123456789abcdef") != "":
			return nil, fmt.Errorf("line %d: %q is no fingerprint: want sixteen hexadecimal digits", n, fingerprint)
		}
		if at, ok := lines[fingerprint]; ok {
			if old, _ := m.Get(fingerprint); old.Mark != g.Mark {
				return nil, fmt.Errorf("lines %d and %d: group %s is %s and %s: one of them has to go", at, n, fingerprint, old.Mark, g.Mark)
			}
			continue
		}
		lines[fingerprint] = n
		m.Set(g)
	}
	return m, nil
}

// String writes the text.
func (m *Marks) String() string {
	var b strings.Builder
	b.WriteString(marksHead)
	for _, g := range m.rows {
		line := fmt.Sprintf("%-10s  %s  %s", g.Mark, g.Fingerprint, g.About)
		if g.Note != "" {
			line += "  # " + g.Note
		}
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// Len returns how many groups are marked.
func (m *Marks) Len() int { return len(m.rows) }

func (m *Marks) find(fingerprint string) (at int, found bool) {
	return slices.BinarySearchFunc(m.rows, fingerprint, func(g MarkedGroup, f string) int { return cmp.Compare(g.Fingerprint, f) })
}

// Get returns the mark of a fingerprint.
func (m *Marks) Get(fingerprint string) (g MarkedGroup, ok bool) {
	at, ok := m.find(fingerprint)
	if ok {
		g = m.rows[at]
	}
	return g, ok
}

// Set marks a group, instead of what it was marked before.
func (m *Marks) Set(g MarkedGroup) {
	g.About, g.Note = oneLine(strings.ReplaceAll(g.About, "#", " ")), oneLine(g.Note) // "#" begins the note
	at, found := m.find(g.Fingerprint)
	if !found {
		m.rows = slices.Insert(m.rows, at, g)
	}
	m.rows[at] = g
}

// oneLine takes away what would end a line, and spaces around.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s))
}

// Remove takes the mark of a fingerprint away, and reports whether there was one.
func (m *Marks) Remove(fingerprint string) bool {
	at, found := m.find(fingerprint)
	if found {
		m.rows = slices.Delete(m.rows, at, at+1)
	}
	return found
}

// MarkOf returns the line that marks a group of s, with all its stack as far as similar looks at it: functions lets it be the same in builds with other lines.
func (s *Snapshot) MarkOf(group int, similar Similarity, mark Mark, note string) MarkedGroup {
	g := &s.Groups[group]
	f := fingerprintsOf(s, similar, true)
	about := ScopeName(f.pathIn(g.Scope, true)) + "  "
	if g.Stack < 0 {
		about += g.State.String()
	} else {
		var calls []string
		for _, frame := range s.Stacks[g.Stack].Shown(false) {
			if calls = append(calls, ShortFunc(frame.Func)); len(calls) == 2 {
				break
			}
		}
		about += strings.Join(calls, " < ")
	}
	return MarkedGroup{mark, f.group(g), Printable(about), note}
}

// Of returns a function that tells the mark of a group of s, and whether it has one.
func (m *Marks) Of(s *Snapshot) func(*Group) (MarkedGroup, bool) {
	if m.Len() == 0 {
		return func(*Group) (MarkedGroup, bool) { return MarkedGroup{}, false }
	}
	var prints [similarityCount]*fingerprints
	for similar := range similarityCount {
		prints[similar] = fingerprintsOf(s, similar, true)
	}
	return func(g *Group) (MarkedGroup, bool) {
		for _, f := range prints {
			if known, ok := m.Get(f.group(g)); ok {
				return known, true
			}
		}
		return MarkedGroup{}, false
	}
}

// Remark marks a group of s instead of what it was marked before, by whatever similarity, or only takes that away: mark is none then. It returns the line of the mark.
func (m *Marks) Remark(s *Snapshot, group int, similar Similarity, mark Mark, note string) MarkedGroup {
	for other := range similarityCount { // a mark of another similarity would still hold
		m.Remove(s.MarkOf(group, other, mark, "").Fingerprint)
	}
	line := s.MarkOf(group, similar, mark, note)
	if mark != NoMark {
		m.Set(line)
	}
	return line
}

// Apply notes in s what is known of its groups: those that are suspicious get their marks, and those that are good are taken away and counted in Known.
func (m *Marks) Apply(s *Snapshot) {
	if m.Len() == 0 {
		return
	}
	of := m.Of(s)
	kept := s.Groups[:0:0]
	for i := range s.Groups {
		g := s.Groups[i]
		if known, ok := of(&g); ok {
			g.Mark, g.Note = known.Mark, known.Note
		}
		if g.Mark == Good {
			s.Known.Groups++
			s.Known.Threads += g.Count
			s.Scopes[g.Scope].Known += g.Count
			continue
		}
		kept = append(kept, g)
	}
	s.Groups = kept
}
