package flight

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Command is something that a process does when another process of its user asks through the control socket. docs/settings.md describes the
// protocol. The table of commands is what [Commands] returns; [RegisterCommand] adds a row.
type Command struct {
	Name  string // lower-case words joined by "-"
	About string // one sentence, no full stop
	// Long tells that Do may take longer than a moment: then others are served meanwhile, but no second long one.
	Long bool
	// Do returns the answer. It is called on a goroutine of the recorder's. A long one returns soon after stop is closed.
	Do func(r *Recorder, stop <-chan struct{}, body []byte) ([]byte, error)
}

// Limits of the protocol.
const (
	ControlVersion = 1
	MaxControlBody = 64 << 10 // bytes of what is asked
	MaxAnswer      = 64 << 20 // bytes of an answer

	maxControlLine = 128
	controlMagic   = "vtscope-control"
	socketSuffix   = ".sock"
)

// The first words of answers. A body says more.
const (
	AnswerOK      = "ok"      // done: the body is the answer
	AnswerFailed  = "failed"  // the body says why
	AnswerUnknown = "unknown" // no such command or version: the body says which there are
	AnswerBusy    = "busy"    // another long command is executed
)

var commands struct {
	sync.Mutex
	rows []Command
}

func init() {
	commands.rows = []Command{
		{Name: "hello", About: "tell who it is and what it can be asked", Do: hello},
	}
}

// RegisterCommand adds a row to the table of commands. It is an error if its name is in use or is none. Packages call it from init.
func RegisterCommand(c Command) error {
	if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz-") != "" || c.Name == "" || len(c.Name) > 32 || c.Do == nil {
		return fmt.Errorf("flight: register command %q: want lower-case words and a function", c.Name)
	}
	commands.Lock()
	defer commands.Unlock()
	if slices.ContainsFunc(commands.rows, func(k Command) bool { return k.Name == c.Name }) {
		return fmt.Errorf("flight: register command %q: there is one", c.Name)
	}
	commands.rows = append(commands.rows, c)
	return nil
}

// Commands returns what the process can be asked.
func Commands() []Command {
	commands.Lock()
	defer commands.Unlock()
	return slices.Clone(commands.rows)
}

func hello(r *Recorder, _ <-chan struct{}, _ []byte) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pid %d\nprogram %s\nflight %d\n", r.header.PID, safeText(r.options.Program), FormatVersion)
	for _, c := range Commands() {
		fmt.Fprintf(&b, "command %s: %s\n", c.Name, c.About)
	}
	return b.Bytes(), nil
}

// WriteControl writes one side of an exchange: "vtscope-control VERSION WORD LENGTH", a line feed, and the body.
func WriteControl(to io.Writer, word string, body []byte) error {
	b := fmt.Appendf(nil, "%s %d %s %d\n", controlMagic, ControlVersion, word, len(body))
	if len(body) <= MaxControlBody {
		b, body = append(b, body...), nil // one write
	}
	if _, err := to.Write(b); err != nil || len(body) == 0 {
		return err
	}
	_, err := to.Write(body)
	return err
}

// ReadControl reads what [WriteControl] wrote. A body of more than most bytes is a [LargeError].
// Memory grows with what comes, to half more than the body while it is read. Of another version it
// returns the word and an error that matches [ErrControlVersion].
func ReadControl(from io.Reader, most int) (word string, body []byte, err error) {
	// Byte by byte: what follows the line is not ours to read ahead.
	line := make([]byte, 0, maxControlLine)
	for {
		var c [1]byte
		if _, err := io.ReadFull(from, c[:]); err != nil {
			return "", nil, err
		}
		if c[0] == '\n' {
			break
		}
		if len(line) == maxControlLine {
			return "", nil, errNoControl
		}
		line = append(line, c[0])
	}
	words := strings.Split(string(line), " ")
	if len(words) < 3 || words[0] != controlMagic {
		return "", nil, errNoControl
	}
	if words[1] != strconv.Itoa(ControlVersion) {
		return words[2], nil, fmt.Errorf("version %q: %w %d", words[1], ErrControlVersion, ControlVersion)
	}
	n, err := strconv.ParseUint(words[len(words)-1], 10, 31)
	if len(words) != 4 || err != nil {
		return "", nil, errNoControl
	}
	if int(n) > most {
		return words[2], nil, &LargeError{int(n), most}
	}
	for len(body) < int(n) {
		if len(body) == cap(body) {
			body = slices.Grow(body, min(int(n)-len(body), max(len(body), 4<<10)))
		}
		got, err := from.Read(body[len(body):min(int(n), cap(body))])
		body = body[:len(body)+got]
		switch {
		case len(body) == int(n):
		case err == io.EOF:
			return words[2], nil, io.ErrUnexpectedEOF
		case err != nil:
			return words[2], nil, err
		}
	}
	return words[2], body, nil
}

// A LargeError is that of a body which [ReadControl] does not read.
type LargeError struct{ Bytes, Most int }

func (e *LargeError) Error() string { return fmt.Sprintf("%d bytes: at most %d", e.Bytes, e.Most) }

// ErrControlVersion is what the error of [ReadControl] matches for other versions than [ControlVersion].
var ErrControlVersion = errors.New("the version is")

var errNoControl = errors.New("not what is spoken here")

// SocketPath returns the path of the control socket that belongs to a flight file, "" if path is none's.
func SocketPath(path string) string {
	base, ok := strings.CutSuffix(path, ".flight")
	if !ok {
		return ""
	}
	return base + socketSuffix
}

func findCommand(name string) *Command {
	all := Commands()
	if i := slices.IndexFunc(all, func(c Command) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// do calls Do. A panic of it is an answer: it must not end the program.
func (c *Command) do(r *Recorder, stop <-chan struct{}, body []byte) (word string, answer []byte) {
	defer func() {
		if v := recover(); v != nil {
			word, answer = AnswerFailed, fmt.Appendf(nil, "%s: panic: %v", c.Name, v)
		}
	}()
	answer, err := c.Do(r, stop, body)
	switch {
	case err != nil:
		return AnswerFailed, []byte(err.Error())
	case len(answer) > MaxAnswer:
		return AnswerFailed, fmt.Appendf(nil, "an answer of %d bytes: at most %d", len(answer), MaxAnswer)
	}
	return AnswerOK, answer
}
