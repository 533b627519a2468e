package jdk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump"
)

// ErrPrinted is the error of a dump in the form of jstack, jcmd Thread.print and SIGQUIT, which lists platform threads alone.
var ErrPrinted = errors.New("a dump of jstack, Thread.print or SIGQUIT has no virtual threads")

var (
	// A process, a time, and a version begin a dump in the plain form.
	plainBegin = regexp.MustCompile(`^[0-9]+\r?\n[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z\r?\n`)
	// A time begins a dump of a virtual machine, and jcmd puts the process before it.
	printedBegin = regexp.MustCompile(`^(?:[0-9]+:\r?\n)?[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+\r?\nFull thread dump `)
	// A number, a name, and, since JDK 25, a state and a time begin a thread. A name may have quotes and ends of lines.
	plainThread = regexp.MustCompile(`(?s)^#([0-9]+) "(.*)"( virtual)?(?: ([A-Z_]+) \S+)?$`)
	// An object of a thread, after the frame that has to do with it.
	plainObject = regexp.MustCompile(`^- (parking to wait for|waiting to lock|waiting on|locked) <(.*)>(?:, owner #([0-9]+))?$`)
)

// maxLine is the longest line of a dump in the plain form.
const maxLine = 1 << 20

// readPlain reads a dump in the plain form, of JDK 21 or later.
func (r *reader) readPlain(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	next := func() string { lines.Scan(); return lines.Text() }
	r.process.PID, _ = strconv.Atoi(next())
	r.at.UnmarshalText([]byte(next())) // plainBegin has seen both
	r.process.GoVersion = next()
	open, virtual, unread := false, false, 0
	begun := "" // of a thread whose name has more than one line
	for lines.Scan() {
		line := begun + lines.Text()
		begun = ""
		m := plainThread.FindStringSubmatch(line)
		switch {
		case lines.Text() == "":
			if open {
				r.add(0)
			}
			open = false
		case open:
			r.plainLine(strings.TrimSpace(line))
		case m != nil:
			r.begin()
			r.now.tid, _ = strconv.ParseUint(m[1], 10, 64)
			r.now.name, r.now.virtual, r.now.state = m[2], m[3] != "", m[4]
			open, virtual = true, virtual || r.now.virtual
		case strings.HasPrefix(line, "#") && len(line) < maxLine:
			begun = line + "\n"
		default:
			unread++
		}
	}
	if open {
		r.add(0)
		r.out.Miss("the dump ends within thread %d", r.now.tid)
	}
	if err := lines.Err(); err != nil {
		r.out.Miss("the dump cannot be read to its end: %v", err)
	}
	if unread > 0 {
		r.out.Miss("%s of no thread", dump.Count(unread, "line"))
	}
	if virtual {
		r.out.Miss("the plain form has no scopes and no carriers: virtual threads that are runnable may execute, and parked ones may be pinned; jcmd PID Thread.dump_to_file -format=json tells")
	}
	r.settle()
}

// plainLine reads a frame of a thread, or one of its objects.
func (r *reader) plainLine(line string) {
	j := r.now
	m := plainObject.FindStringSubmatch(line)
	switch {
	case m == nil && strings.HasPrefix(line, "- "): // lock is eliminated, say
	case m == nil:
		frame := strings.TrimPrefix(line, "at ")
		j.stack = append(append(j.stack, frame...), '\n')
		j.stackWords = append(j.stackWords, frame)
	case m[1] == "parking to wait for":
		j.park = m[2]
		j.owner, _ = strconv.ParseUint(m[3], 10, 64)
	case m[1] == "waiting to lock":
		j.blockedOn = m[2]
	case m[1] == "waiting on":
		j.waitingOn = m[2]
	default:
		j.owned = append(j.owned, m[2])
	}
}

// isPlain reports whether a file that begins so is a dump in the plain form.
func isPlain(begin []byte) bool { return plainBegin.Match(begin) }

// isPrinted reports whether a file that begins so is a dump of platform threads.
func isPrinted(begin []byte) bool { return printedBegin.Match(bytes.TrimLeft(begin, " \t\r\n")) }

// beginOf looks at the begin of what a reader reads.
func beginOf(from io.Reader) (*bufio.Reader, []byte, error) {
	b := bufio.NewReaderSize(from, 64<<10)
	begin, err := b.Peek(512)
	if err != nil && err != io.EOF {
		return nil, nil, fmt.Errorf("read thread dump of the JDK: %w", err)
	}
	return b, begin, nil
}
