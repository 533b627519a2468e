package goroutines

import (
	"bufio"
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump/roster"
	"github.com/vtscope/vtscope/runtime/flight"
)

// A textReader reads traces line by line, whatever stands between them.
//
//	T1  A trace begins with its header, and ends with an empty line, the next header, or the text.
//	T2  A call is a line and one after it that begins with a tab and has its place. A line without a place is no part of the trace.
//	T3  Lines of a trace in a log have something before them that is as long, and of the same form, as what is before its header.
type textReader struct {
	*reader
	seed maphash.Seed

	bytes int64
	open  bool // in a trace
	head  found
	why   string // the wait reason of head
	words words
	found []found // of this dump
	over  int     // goroutines for which there was no room

	prefix  []byte // of the lines of the trace
	call    []byte // the line before, if it can be a call
	trace   []byte // names and places, a line each
	places  []place
	cut     bool   // frames were left out
	begins  []byte // the function of the outermost frame
	scratch []byte

	hidden int // goroutines whose stack Go could not print
}

// A place is where in trace a frame is.
type place struct{ name, file, end, line int }

var (
	headerBegin = []byte("goroutine ")
	createdBy   = []byte("created by ")
)

// text reads traces, and the text of a profile.
func (r *reader) text(b *bufio.Reader) error {
	t := &textReader{reader: r, seed: maphash.MakeSeed()}
	total := -1
	ended := true // with the end of a line
	for {
		line, err := t.line(b)
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			ended = line[len(line)-1] == '\n'
			line = bytes.TrimRight(line, "\r\n")
			if n, ok := profileTotal(line); ok {
				t.end()
				total = n
				if !isStackCount(b) { // what debug=1 writes
					continue
				}
				t.settle()
				return r.counts(b, n)
			}
			t.take(line)
		}
		if err == io.EOF {
			break
		}
	}
	if t.open {
		switch {
		case t.bytes == cutBySize:
			r.out.Miss("the dump ends within goroutine %d, where Go cuts a text of 64 MiB: the goroutines after it are missing", t.head.id)
		case !ended || len(t.call) > 0:
			r.out.Miss("the dump ends within goroutine %d: what came after is missing", t.head.id)
		}
	}
	t.end()
	t.settle()
	if t.over > 0 {
		r.out.Miss("goroutines beyond the %d of a dump that are read: %d", maxGoroutines, t.over)
	}
	if total > r.out.Len() {
		r.out.Miss("the dump says that there are %d goroutines, and has %d", total, r.out.Len())
	}
	if t.hidden > 0 {
		r.out.Miss("stacks of goroutines that executed on other threads, which Go does not print: %d", t.hidden)
	}
	return nil
}

// line returns the next line with its end, or the begin of it if it is very long.
func (t *textReader) line(b *bufio.Reader) ([]byte, error) {
	line, err := b.ReadSlice('\n')
	t.bytes += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = b.ReadSlice('\n')
			t.bytes += int64(len(more))
		}
		if err == nil {
			line = append(line, '\n')
		}
	}
	return line, err
}

// take takes the next line.
func (t *textReader) take(line []byte) {
	if at := bytes.Index(line, headerBegin); at >= 0 && t.header(line, at) {
		return
	}
	if !t.open {
		return
	}
	if len(t.prefix) > 0 {
		if !sameForm(line, t.prefix) {
			if len(bytes.TrimSpace(line)) == 0 {
				t.end()
			}
			return
		}
		line = line[len(t.prefix):]
	}
	if len(line) == 0 {
		t.end()
		return
	}
	if line[0] == '\t' || len(t.prefix) > 0 && line[0] == ' ' {
		t.place(bytes.TrimLeft(line, "\t "))
		t.call = t.call[:0]
		return
	}
	switch {
	case bytes.HasPrefix(line, []byte("...")) && bytes.Contains(line, []byte("frames elided")):
		t.cut = true
		t.call = t.call[:0]
	case bytes.HasPrefix(line, []byte("goroutine running on other thread")):
		t.hidden++
	default:
		t.call = append(t.call[:0], line...)
	}
}

// sameForm reports whether a line begins as a prefix does, but for the digits.
func sameForm(line, prefix []byte) bool {
	if len(line) < len(prefix) {
		return false
	}
	for i, c := range prefix {
		d := line[i]
		if c != d && !(isDigit(c) && isDigit(d)) && !(isLetter(c) && isLetter(d)) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// header takes a line such as
//
//	goroutine 18 gp=0xc000002380 m=nil [chan receive, 5 minutes, locked to thread, labels:{"k": "v"}]:
//
// that begins at a position, and reports whether it is one.
func (t *textReader) header(line []byte, at int) bool {
	rest := line[at+len(headerBegin):]
	n := 0
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	id, err := strconv.ParseUint(string(rest[:n]), 10, 64)
	if err != nil || !bytes.HasSuffix(rest, []byte("]:")) {
		return false
	}
	rest = rest[n:]
	begin := bytes.Index(rest, []byte(" ["))
	if begin < 0 {
		return false
	}
	for _, word := range bytes.Fields(rest[:begin]) { // of level 2
		if !bytes.Contains(word, []byte("=")) {
			return false
		}
	}
	t.end()
	if t.again(id) {
		t.settle()
		t.next()
	}
	t.open = true
	t.prefix = append(t.prefix[:0], line[:at]...)
	what := string(rest[begin+2 : len(rest)-2])
	t.head = found{id: id, wait: roster.UnknownWait}
	t.why, t.begins = "", t.begins[:0]
	if id == 0 {
		t.head.name = t.words.of([]byte("g0"))
	}
	var labels []Label
	if i := strings.Index(what, " labels:{"); i >= 0 {
		labels = parseLabels(what[i+len(" labels:{"):], ": ", ", ")
		what = strings.TrimSuffix(what[:i], ",")
	}
	t.head.vtscope = slices.ContainsFunc(labels, func(l Label) bool { return l.Key == "scope" })
	if len(labels) > 0 && (t.head.vtscope || t.scopes == ByLabels) {
		t.head.labelled, _ = t.reader.place(labels)
	}
	for _, l := range labels {
		if l.Key == "vthread" {
			t.head.name = t.words.of([]byte(l.Value))
		}
	}
	for i, part := range strings.Split(what, ", ") {
		switch minutes, ok := strings.CutSuffix(part, " minutes"); {
		case i == 0:
			t.why = part
		case part == "locked to thread":
			t.head.locked = true
		case ok:
			if m, err := strconv.Atoi(minutes); err == nil && m >= 0 && m < 1<<26 {
				t.head.wait = time.Duration(m) * time.Minute
			}
		}
	}
	for _, aside := range []string{" (scan)", " (leaked)", " (durable)"} {
		t.why = strings.TrimSuffix(t.why, aside)
	}
	return true
}

// parseLabels reads quoted keys and values.
func parseLabels(s, colon, comma string) (all []Label) {
	for {
		key, err := strconv.QuotedPrefix(s)
		if err != nil || !strings.HasPrefix(s[len(key):], colon) {
			return all
		}
		s = s[len(key)+len(colon):]
		value, err := strconv.QuotedPrefix(s)
		if err != nil {
			return all
		}
		s = s[len(value):]
		k, _ := strconv.Unquote(key) // they were looked at
		v, _ := strconv.Unquote(value)
		all = append(all, Label{k, v})
		if !strings.HasPrefix(s, comma) {
			return all
		}
		s = s[len(comma):]
	}
}

// place takes the line of the place of the call in the line before: /src/main.go:12 +0x1d fp=… sp=… pc=…
func (t *textReader) place(line []byte) {
	const most = 1 << 12 // of a stack; Go prints 100 frames
	if len(t.call) == 0 || len(t.places) >= most {
		return
	}
	if at := bytes.Index(line, []byte(" +0x")); at >= 0 {
		line = line[:at]
	}
	colon := bytes.LastIndexByte(line, ':')
	if colon <= 0 {
		return
	}
	number := line[colon+1:]
	if space := bytes.IndexByte(number, ' '); space >= 0 {
		number = number[:space]
	}
	n, err := strconv.ParseUint(string(number), 10, 31)
	if err != nil {
		return
	}
	name := t.call
	if made, ok := bytes.CutPrefix(name, createdBy); ok {
		if at := bytes.LastIndex(made, []byte(" in goroutine ")); at >= 0 {
			by, err := strconv.ParseUint(string(made[at+len(" in goroutine "):]), 10, 64)
			if err == nil {
				t.head.parent, made = by, made[:at]
				name = name[:len(createdBy)+at]
			}
		}
		at := append(append(t.scratch[:0], made...), ' ')
		at = append(at, line[bytes.LastIndexByte(line[:colon], '/')+1:colon]...)
		at = strconv.AppendUint(append(at, ':'), n, 10)
		t.head.statement, t.scratch = t.words.of(at), at
	} else {
		paren := bytes.LastIndexByte(name, '(')
		if paren <= 0 || name[len(name)-1] != ')' {
			return // T2
		}
		if t.head.on == 0 && len(t.places) < nearTop {
			t.head.on = waitsOn(t.why, name[:paren], name[paren+1:len(name)-1])
		}
		name = name[:paren]
		if t.scopes == ByPackage && string(name) != "runtime.goexit" { // below which everybody begins
			t.begins = append(t.begins[:0], name...)
		}
	}
	p := place{name: len(t.trace), line: int(n)}
	t.trace = append(t.trace, name...)
	p.file = len(t.trace)
	t.trace = append(t.trace, line[:colon]...)
	p.end = len(t.trace)
	t.trace = append(t.trace, '\n')
	t.trace = strconv.AppendUint(t.trace, n, 10)
	t.trace = append(t.trace, '\n')
	t.places = append(t.places, p)
}

// end ends the trace, if there is one.
func (t *textReader) end() {
	if !t.open {
		return
	}
	t.open = false
	if len(t.places) > 0 {
		if t.cut {
			t.trace = append(t.trace, '.')
		}
		t.head.stack = t.out.InternSum(maphash.Bytes(t.seed, t.trace), t.frames)
		if t.scopes == ByPackage {
			t.head.begins = t.words.of([]byte(PackageOf(string(t.begins))))
		}
	}
	t.head.why = t.words.of([]byte(t.why))
	if len(t.found) == maxGoroutines {
		t.over++
	} else {
		t.found = append(t.found, t.head)
	}
	t.places, t.trace, t.call, t.cut = t.places[:0], t.trace[:0], t.call[:0], false
}

func (t *textReader) frames() (frames []flight.Frame, truncated bool) {
	for _, p := range t.places {
		f := flight.Frame{Func: string(t.trace[p.name:p.file]), File: string(t.trace[p.file:p.end]), Line: p.line}
		f.Internal = flight.InternalFunction(f.Func, f.File)
		frames = append(frames, f)
	}
	return frames, t.cut
}
