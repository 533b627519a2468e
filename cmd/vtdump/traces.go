package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/internal/plainfile"
)

// fromStdin is the target that is standard input.
const fromStdin = "-"

// isTraces reports whether a target is a dump that somebody else has written: of goroutines, or of the JDK.
func isTraces(target string) bool {
	if target == fromStdin || isPprof(target) {
		return true
	}
	if memory.IsCore(target) {
		return false
	}
	f, err := plainfile.Open(target)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 512)
	n, _ := io.ReadFull(f, b)
	return jdk.IsDump(b[:n]) || !bytes.HasPrefix(bytes.TrimLeft(b[:n], " \t\r\n"), []byte("{")) && goroutines.IsDump(b[:n])
}

// traces prints the threads of a dump that somebody else has written.
func (s *settings) traces(ctx context.Context, w world) error {
	if s.growth > 0 {
		return hint{errors.New("--growth: a dump is of one moment"), "vtdump diff, of two dumps that vtdump --json has written"}
	}
	src, err := s.readTraces(ctx, w)
	if errors.Is(err, goroutines.ErrNone) && s.target != fromStdin { // then it is a program's name, or nothing
		r, err := open(s.call(), s.target, w.now())
		if err != nil {
			return err
		}
		defer r.Close()
		return s.threads(ctx, w, r)
	}
	if err != nil {
		return noTraces(s.target, err)
	}
	return s.threads(ctx, w, src)
}

// ofTraces does a command that is not for threads with a dump that somebody else has written, if it is one. done is false if it is none.
func (s *settings) ofTraces(ctx context.Context, w world) (done bool, err error) {
	if !s.hasTraces(ctx, w) {
		return false, nil
	}
	if s.command != commandCheck {
		return true, s.notOfTraces()
	}
	src, err := s.readTraces(ctx, w)
	if err != nil {
		return true, noTraces(s.target, err)
	}
	return true, s.checkLimits(ctx, w, src)
}

// notOfTraces refuses a command with a dump that somebody else has written.
func (s *settings) notOfTraces() error {
	return usageError{fmt.Sprintf("%s is a dump of stacks, and %s needs a process: who holds what, and since when, is in no such dump", s.target, formOf(s.command).word),
		"vtdump " + s.target + "; or vtdump diff, of two"}
}

// hasTraces reports whether the target is a dump that somebody else has written: a file of text without goroutines may have the name of a program.
func (s *settings) hasTraces(ctx context.Context, w world) bool {
	switch {
	case s.target == fromStdin, isPprof(s.target):
		return true
	case !isTraces(s.target):
		return false
	}
	_, err := s.readTraces(ctx, w)
	return !errors.Is(err, goroutines.ErrNone)
}

// noTraces is the error of a dump that cannot be read.
func noTraces(target string, err error) error {
	if isPprof(target) {
		return err // which says it
	}
	try := "a goroutine dump of Go, such as that of /debug/pprof/goroutine?debug=2, or a thread dump of the JDK, such as that of jcmd PID Thread.dump_to_file"
	if errors.Is(err, jdk.ErrPrinted) {
		try = "jcmd PID Thread.dump_to_file -format=json FILE"
	}
	return hint{fmt.Errorf("%s: %w", target, err), try}
}

func (s *settings) readTraces(ctx context.Context, w world) (dump.Source, error) {
	if isPprof(s.target) {
		return s.readPprof(ctx, w)
	}
	o := goroutines.Options{Name: "standard input", At: w.now()}
	from := w.stdin
	if s.target != fromStdin {
		f, err := plainfile.Open(s.target)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		o.Name, o.File = filepath.Base(s.target), s.target
		if info, err := f.Stat(); err == nil {
			o.At = info.ModTime()
		}
		from = f
	}
	if from == nil {
		return nil, errors.New("there is no standard input")
	}
	b := bufio.NewReaderSize(from, 64<<10)
	begin, err := b.Peek(512)
	if err != nil && err != io.EOF && len(begin) == 0 {
		return nil, err
	}
	if !jdk.IsDump(begin) {
		return goroutines.Read(b, o)
	}
	r, err := jdk.Read(b)
	if err != nil {
		return nil, err
	}
	p, at := r.Process(), r.At()
	if p.Path = o.File; p.Program == "" {
		p.Program = o.Name
	}
	if at.Equal(time.Time{}) {
		at = o.At
	}
	r.Describe(p, at)
	return r, nil
}
