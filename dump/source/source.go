package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Options say what a file does not. The zero value is usable.
type Options struct {
	Name   string             // of the program, or of what is read; "": the file's
	At     time.Time          // when it was written; zero: the file's time, or now
	Scopes goroutines.ScopeBy // of goroutines; "": by those who made them
	Exe    string             // of a core file, where it lies elsewhere now; "": where the core says
}

// A Source is a [dump.Source] to be closed.
type Source interface {
	dump.Source
	io.Closer
}

// begin is how much of a file tells what it is.
const begin = 512

// isText reports whether a file that begins so may be what [Read] reads.
func isText(b []byte) bool {
	return jdk.IsDump(b) || !bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) && goroutines.IsDump(b)
}

// Is reports whether a path is that of a file which may be what [Open] opens. Text without a goroutine it
// cannot tell from other text.
func Is(path string) bool { return memory.IsCore(path) || isTextFile(path) }

func isTextFile(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, begin)
	n, _ := io.ReadFull(f, b)
	return isText(b[:n])
}

// Open opens a file. Its error matches [goroutines.ErrNone] if it is text without a goroutine. It blocks
// while it reads text: about a second for 100,000 goroutines.
func Open(path string, o Options) (Source, error) {
	if memory.IsCore(path) {
		return openCore(path, o)
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if o.Name == "" {
		o.Name = filepath.Base(path)
	}
	if info, err := f.Stat(); err == nil && o.At.IsZero() {
		o.At = info.ModTime()
	}
	return read(f, path, o)
}

// openCore opens the threads of a core file, or the goroutines if the program had no recorder.
func openCore(path string, o Options) (Source, error) {
	src, err := memory.OpenCore(path, o.Exe)
	if !errors.Is(err, flight.ErrNotVtscope) {
		if err != nil {
			return nil, err
		}
		return src, nil
	}
	all, goErr := memory.OpenGoCore(path, o.Exe, memory.GoroutineOptions{Scopes: o.Scopes})
	switch {
	case errors.Is(goErr, memory.ErrNotGo) && strings.Contains(err.Error(), "is cut"):
		return nil, err
	case goErr != nil:
		return nil, goErr
	}
	return all, nil
}

// Read reads text, or a profile. Its error matches [goroutines.ErrNone] if there is no goroutine in it, and
// [jdk.ErrPrinted].
func Read(from io.Reader, o Options) (Source, error) { return read(from, "", o) }

func read(from io.Reader, path string, o Options) (Source, error) {
	b := bufio.NewReaderSize(from, 64<<10)
	head, err := b.Peek(begin)
	if err != nil && err != io.EOF && len(head) == 0 {
		return nil, err
	}
	if !jdk.IsDump(head) {
		d, err := goroutines.Read(b, goroutines.Options{Name: o.Name, File: path, At: o.At, Scopes: o.Scopes})
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	r, err := jdk.Read(b)
	if err != nil {
		return nil, fmt.Errorf("a thread dump of the JDK: %w", err)
	}
	p, at := r.Process(), r.At()
	if p.Path = path; p.Program == "" {
		p.Program = o.Name
	}
	if at.IsZero() {
		at = o.At
	}
	r.Describe(p, at)
	return r, nil
}
