package goroutines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump/profile"
	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// isProfile reports whether a file that begins so is a profile, compressed or not.
func isProfile(begin []byte) bool {
	return bytes.HasPrefix(begin, []byte{0x1f, 0x8b}) || len(begin) > 2 && begin[0] == 0x0a && begin[1] < ' ' && begin[1] != '\n' && bytes.IndexByte(begin, 0) >= 0
}

// mostMemory is how much memory a profile may take when it is read. One of a million goroutines
// that are all different takes 1 GiB.
const mostMemory = 2 << 30

// A bunch is goroutines that are alike, of a profile, which knows no more of them.
type bunch struct {
	count  int
	first  uint64 // the innermost program counter
	stack  flight.StackID
	labels []Label
	reason string // guessed; "": not known
}

// profile reads a goroutine profile.
func (r *reader) profile(b io.Reader) error {
	p, err := profile.Parse(b, mostMemory)
	if err != nil {
		return err
	}
	if len(p.SampleType) == 0 || !strings.HasPrefix(p.SampleType[0].Type, "goroutine") {
		kind := "none that tells its type"
		if len(p.SampleType) > 0 {
			kind = p.SampleType[0].Type
		}
		return fmt.Errorf("a profile, but not of goroutines: %s", kind)
	}
	if p.TimeNanos != 0 {
		process := r.out.Process()
		if len(p.Mapping) > 0 && p.Mapping[0].File != "" {
			process.Exe = p.Mapping[0].File
			process.Program = p.Mapping[0].File[strings.LastIndexAny(p.Mapping[0].File, `/\`)+1:]
		}
		r.out.Describe(process, time.Unix(0, p.TimeNanos))
	}
	var all []bunch
	for _, s := range p.Sample {
		if len(s.Value) == 0 || s.Value[0] <= 0 || len(s.Location) == 0 {
			continue
		}
		var frames []flight.Frame
		for _, l := range s.Location {
			for i, line := range l.Line {
				f := flight.Frame{PC: l.Address, Line: int(line.Line), Inlined: i < len(l.Line)-1}
				if line.Function != nil {
					f.Func, f.File = line.Function.Name, line.Function.Filename
				}
				f.Internal = flight.InternalFunction(f.Func, f.File)
				frames = append(frames, f)
			}
			if len(l.Line) == 0 {
				frames = append(frames, flight.Frame{PC: l.Address})
			}
		}
		g := bunch{count: int(s.Value[0]), first: s.Location[0].Address, stack: r.out.Intern(frames, false), reason: guess(frames)}
		for _, key := range slices.Sorted(maps.Keys(s.Label)) {
			g.labels = append(g.labels, Label{key, strings.Join(s.Label[key], ",")})
		}
		all = append(all, g)
	}
	r.bunches(all)
	return nil
}

// maxGoroutines bounds what the counts of a profile can make a roster hold.
const maxGoroutines = 1 << 23

// bunches adds what a profile tells. Its goroutines have no ids: they are numbered.
func (r *reader) bunches(all []bunch) {
	// Every goroutine that waits has the place in gopark as its innermost program counter. The text does not name it, so it is that of those that surely wait.
	seen := map[uint64]int{}
	for i := range all {
		if w := waitOf(all[i].reason); all[i].reason != "" && w.state != flight.StateMounted && w.state != flight.StatePinned {
			seen[all[i].first] += all[i].count
		}
	}
	parked, most := uint64(0), 0
	for pc, n := range seen {
		if n > most || n == most && pc < parked {
			parked, most = pc, n
		}
	}
	r.dump.numbered = true
	id, over := flight.ThreadID(1), 0
	for i := range all {
		g := &all[i]
		if r.out.Len()+g.count > maxGoroutines {
			over += g.count
			continue
		}
		reason := g.reason
		if reason == "" {
			reason = "not known"
			if most > 0 && g.first != parked {
				reason = "running"
			}
		}
		t := roster.Thread{ID: id, Stack: g.stack, Wait: roster.UnknownWait}
		t.Scope, t.Name = r.place(g.labels)
		r.add(t, reason, false, g.count)
		id += flight.ThreadID(g.count)
	}
	r.out.Miss("a profile has no ids, no states and no times: goroutines are numbered, and states guessed from stacks")
	if over > 0 {
		r.out.Miss("goroutines beyond the %d that are read: %d", maxGoroutines, over)
	}
}

// profileTotal reads the first line of the text of a profile.
func profileTotal(line []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(line, []byte("goroutine"))
	if !ok {
		return 0, false
	}
	_, n, ok := bytes.Cut(rest, []byte(" profile: total ")) // of goroutineleak too
	if !ok && !bytes.HasPrefix(rest, []byte(" profile: total ")) {
		return 0, false
	}
	total, err := strconv.Atoi(string(n))
	return total, err == nil
}

// isStackCount reports whether the next line of b is of debug=1: a count and program counters.
func isStackCount(b *bufio.Reader) bool {
	next, _ := b.Peek(24) // the end is no such line
	digits := 0
	for digits < len(next) && isDigit(next[digits]) {
		digits++
	}
	return digits > 0 && bytes.HasPrefix(next[digits:], []byte(" @"))
}

// counts reads the text of debug=1 after its first line.
func (r *reader) counts(b *bufio.Reader, total int) error {
	t := &textReader{reader: r}
	var all []bunch
	var frames []flight.Frame
	end := func() {
		if n := len(all); n > 0 {
			all[n-1].stack, all[n-1].reason = r.out.Intern(frames, false), guess(frames)
		}
		frames = frames[:0]
	}
	sum, ended := 0, true
	for {
		line, err := t.line(b)
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			ended = line[len(line)-1] == '\n'
		}
		text := strings.TrimRight(string(line), "\r\n")
		head, pcs, ok := strings.Cut(text, " @")
		if n, bad := strconv.Atoi(head); ok && bad == nil && n > 0 {
			end()
			g := bunch{count: min(n, maxGoroutines)}
			if f := strings.Fields(pcs); len(f) > 0 {
				g.first, _ = strconv.ParseUint(f[0], 0, 64) // 0 is none
			}
			sum += g.count
			all = append(all, g)
		} else if labels, ok := strings.CutPrefix(text, "# labels: {"); ok && len(all) > 0 {
			all[len(all)-1].labels = parseLabels(labels, ":", ", ")
		} else if f := strings.Fields(strings.TrimPrefix(text, "#")); strings.HasPrefix(text, "#\t") && len(f) >= 3 && len(all) > 0 {
			if frame, ok := countedFrame(text); ok {
				frames = append(frames, frame)
			}
		}
		if err == io.EOF {
			break
		}
	}
	end()
	r.bunches(all)
	if total > sum || !ended {
		r.out.Miss("the dump is cut: it says that there are %d goroutines, and has %d", total, sum)
	}
	return nil
}

// countedFrame reads a line of debug=1: # 0x4711 main.f+0x1d /src/main.go:12, with tabs.
func countedFrame(line string) (f flight.Frame, ok bool) {
	parts := strings.FieldsFunc(line, func(c rune) bool { return c == '\t' })
	if len(parts) < 4 || parts[0] != "#" {
		return f, false
	}
	pc, err := strconv.ParseUint(parts[1], 0, 64)
	if err != nil {
		return f, false
	}
	f.PC, f.Func = pc, parts[2]
	if plus := strings.LastIndex(f.Func, "+0x"); plus > 0 {
		f.Func = f.Func[:plus]
	}
	f.File = strings.TrimSpace(strings.Join(parts[3:], "\t"))
	if colon := strings.LastIndexByte(f.File, ':'); colon > 0 {
		if n, err := strconv.Atoi(f.File[colon+1:]); err == nil && n >= 0 {
			f.File, f.Line = f.File[:colon], n
		}
	}
	f.Internal = flight.InternalFunction(f.Func, f.File)
	return f, true
}
