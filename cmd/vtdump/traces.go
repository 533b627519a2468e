package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/dump/source"
)

// ofTraces are the commands for which a dump that somebody else has written will do.
const ofTraces = commandThreads | commandCheck | commandWaits | commandFindings

// fromStdin is the target that is standard input.
const fromStdin = "-"

// isTraces reports whether a target is a dump that somebody else has written: of goroutines, or of the JDK.
func isTraces(target string) bool {
	if target == fromStdin || isPprof(target) {
		return true
	}
	return !memory.IsCore(target) && source.Is(target)
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

// withTraces does a command that is not for threads with a dump that somebody else has written, if it is one. done is false if it is none.
func (s *settings) withTraces(ctx context.Context, w world) (done bool, err error) {
	if s.command&ofTraces == 0 {
		if !s.hasTraces(ctx, w) {
			return false, nil
		}
		return true, s.notOfTraces()
	}
	src, err := s.readTraces(ctx, w)
	switch {
	case errors.Is(err, goroutines.ErrNone) && s.target != fromStdin: // it is a program's name, or nothing
		return false, nil
	case err != nil:
		return true, noTraces(s.target, err)
	}
	return true, s.report(ctx, w, src)
}

// notOfTraces refuses a command with a dump that somebody else has written.
func (s *settings) notOfTraces() error {
	return usageError{fmt.Sprintf("%s is a dump of stacks, and %s needs a process", s.target, formOf(s.command).word),
		"vtdump " + s.target + ", vtdump waits " + s.target + ", vtdump findings " + s.target + "; or vtdump diff, of two"}
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
	o := source.Options{Scopes: s.memory.scopes}
	if s.target != fromStdin {
		return source.Open(s.target, o)
	}
	if w.stdin == nil {
		return nil, errors.New("there is no standard input")
	}
	o.Name, o.At = "standard input", w.now()
	return source.Read(w.stdin, o)
}
