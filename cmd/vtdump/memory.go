package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/dump/source"
	"github.com/vtscope/vtscope/runtime/flight"
)

// memoryFlags are what flags say of reading a process from its memory.
type memoryFlags struct {
	read bool // even if there is a flight file
	memory.Options
	exe    string // of a core
	scopes goroutines.ScopeBy
}

func (f *memoryFlags) any() bool { return f.read || f.Stop || f.Mounted }

// inMemory are the commands for which what is in memory will do.
const inMemory = commandThreads | commandScheduler | commandWaits | commandFindings | commandCheck

// fromMemory does a command with the memory of a process, if flags want that, the target is a core file, or there is no flight file.
// done is false if none of that is so.
func (s *settings) fromMemory(ctx context.Context, w world) (done bool, err error) {
	core := memory.IsCore(s.target)
	if s.memory.exe != "" && !core {
		return true, usageError{"--exe is for core files", s.call() + " " + s.target + " without it"}
	}
	if !core && !s.memory.any() {
		return false, nil
	}
	if s.command&inMemory == 0 && (core || s.command != commandTop) {
		return true, usageError{fmt.Sprintf("%s is a core file, and %s needs a process", s.target, formOf(s.command).word), "vtdump " + s.target}
	}
	if s.growth > 0 && (core || s.memory.Stop) {
		return true, usageError{"--growth: all is stopped", "without --growth"}
	}
	var src *memory.Source
	if core {
		if s.memory.any() {
			return true, usageError{s.target + " is a core file: all of it is memory, and nothing runs", "vtdump " + s.target}
		}
		opened, err := s.core()
		if err != nil {
			return true, err
		}
		if all, ok := opened.(*memory.Goroutines); ok {
			defer all.Close()
			return true, s.goroutines(ctx, w, all)
		}
		src = opened.(*memory.Source)
	} else if src, err = s.attach(w); err != nil {
		return true, s.explainMemory(err)
	}
	return true, s.outOf(ctx, w, src)
}

// attach opens the memory of the process that the target names.
func (s *settings) attach(w world) (*memory.Source, error) {
	pid, err := strconv.Atoi(s.target)
	if err != nil {
		r, err := open(s.call(), s.target, w.now())
		if err != nil {
			return nil, err
		}
		p := r.Process()
		r.Close()
		if !p.Status.Live() {
			return nil, hint{fmt.Errorf("%s: the process is gone, and its memory with it", s.target), s.call() + " " + s.target + " without --memory, --stop and --mounted"}
		}
		pid = p.PID
	}
	if err := s.mayStop(pid); err != nil {
		return nil, err
	}
	return memory.Attach(pid, s.memory.Options)
}

// withoutFile does the command in memory when there is no flight file; why says so. It returns why if there is no recorder in memory either.
func (s *settings) withoutFile(ctx context.Context, w world, why error) error {
	if s.command&(inMemory|commandTop) == 0 {
		return why
	}
	pid, why := s.pidOf(why)
	if pid == 0 {
		return why
	}
	src, err := memory.Attach(pid, memory.Options{})
	unreadable := errors.Is(why, flight.ErrPermission)
	switch {
	case errors.Is(err, flight.ErrPermission) && !unreadable:
		return s.explainMemory(err)
	case errors.Is(err, flight.ErrNotVtscope):
		return s.ofGo(ctx, w, pid)
	case err != nil:
		return why
	case unreadable:
		fmt.Fprintf(w.stderr, "vtdump: the flight file of process %d may not be read: read in its memory\n", pid)
	default:
		fmt.Fprintf(w.stderr, "vtdump: process %d has no flight file: read in its memory\n", pid)
	}
	return s.outOf(ctx, w, src)
}

// pidOf returns the process that the target names, as a pid or as a Go program, and that has no flight file, or one that may not be read,
// as why says. Without one it is 0, and err says why.
func (s *settings) pidOf(why error) (pid int, err error) {
	if pid, err := strconv.Atoi(s.target); err == nil {
		if !errors.Is(why, flight.ErrNotVtscope) && !errors.Is(why, flight.ErrPermission) {
			return 0, why
		}
		return pid, why
	}
	if !errors.Is(why, errNoName) {
		return 0, why
	}
	var all []string
	for _, p := range memory.GoProcesses(func(int) bool { return false }) {
		if p.Program == s.target {
			pid = p.PID
			all = append(all, fmt.Sprintf("%s %d   (%s, %s)", s.call(), p.PID, dump.Count(p.Goroutines, "goroutine"), p.GoVersion))
		}
	}
	switch {
	case len(all) > 1:
		return 0, hint{fmt.Errorf("%s: %d processes have this name", s.target, len(all)), strings.Join(all, "\n     ")}
	case pid == 0:
		return 0, why
	}
	return pid, why
}

// goProcess opens the goroutines of a process without a recorder.
func (s *settings) goProcess(pid int) (*memory.Goroutines, error) {
	src, err := memory.AttachGo(pid, s.goroutineOptions())
	if err != nil {
		return nil, s.explainMemory(err)
	}
	return src, nil
}

// ofGo does the command with the goroutines of a process without a recorder.
func (s *settings) ofGo(ctx context.Context, w world, pid int) error {
	src, err := s.goProcess(pid)
	if err != nil {
		return err
	}
	defer src.Close()
	return s.goroutines(ctx, w, src)
}

// orGoroutines returns the goroutines of a process that lives and has no thread, or else r.
func (s *settings) orGoroutines(ctx context.Context, w world, r *flight.Reader) source.Source {
	p := r.Process()
	if p.Threads > 0 || !p.Status.Live() {
		return r
	}
	n := 0 // of which the counts of events need not tell
	if _, err := r.Threads(ctx, func(rows []flight.ThreadRow) { n += len(rows) }); n > 0 || err != nil {
		return r
	}
	src, err := memory.AttachGo(p.PID, s.goroutineOptions())
	if err != nil {
		return r // which says that they are not seen
	}
	fmt.Fprintf(w.stderr, "vtdump: process %d has no thread of vtscope: these are its goroutines\n", p.PID)
	r.Close()
	return src
}

// core opens the core file that the target names: its threads, or the goroutines if the program had no recorder.
func (s *settings) core() (source.Source, error) {
	src, err := source.Open(s.target, source.Options{Exe: s.memory.exe, Scopes: s.memory.scopes})
	if err != nil {
		return nil, s.explainMemory(err)
	}
	return src, nil
}

func (s *settings) goroutineOptions() memory.GoroutineOptions {
	return memory.GoroutineOptions{Scopes: s.memory.scopes}
}

// goroutines does the command with goroutines, if they are enough for it.
func (s *settings) goroutines(ctx context.Context, w world, src *memory.Goroutines) error {
	if s.command&(commandThreads|commandCheck|commandTop|commandWaits|commandFindings) != 0 {
		return s.report(ctx, w, src)
	}
	return hint{fmt.Errorf("%s: a Go program without vtscope: %s needs what its recorder knows", s.target, formOf(s.command).word), "vtdump " + s.target + ", vtdump waits " + s.target + ", vtdump findings " + s.target + ", vtdump top " + s.target + ", or vtdump check " + s.target}
}

// withGoroutines returns r with what is in memory of the process's threads on goroutines, where those waits are that they cannot record; or r if there are none, or
// the memory cannot be read, which it says.
func (s *settings) withGoroutines(ctx context.Context, w world, r *flight.Reader) source.Source {
	p := r.Process()
	if !p.Status.Live() {
		return r
	}
	n := 0
	if _, err := r.Threads(ctx, func(rows []flight.ThreadRow) {
		for i := range rows {
			if rows[i].OnGoroutine() {
				n++
			}
		}
	}); n == 0 || err != nil && !errors.Is(err, flight.ErrIncomplete) {
		return r
	}
	src, err := memory.Beside(r)
	if err != nil {
		fmt.Fprintf(w.stderr, "vtdump: %s on goroutines shown as mounted may wait in Go: %v\n", dump.Count(n, "thread"), err)
		return r
	}
	return src
}

// opened opens what the target names: a core file, a flight file, or a process that has none.
func (s *settings) opened(w world) (source.Source, error) {
	if memory.IsCore(s.target) {
		return s.core()
	}
	r, err := open(s.call(), s.target, w.now())
	if err == nil {
		return r, nil
	}
	pid, err := s.pidOf(err)
	if pid == 0 {
		return nil, err
	}
	src, attachErr := memory.Attach(pid, memory.Options{})
	if errors.Is(attachErr, flight.ErrNotVtscope) {
		all, err := s.goProcess(pid)
		if err != nil {
			return nil, err
		}
		return all, nil
	}
	if attachErr != nil {
		return nil, err
	}
	return src, nil
}

// outOf prints what the command says of a source, and closes it.
func (s *settings) outOf(ctx context.Context, w world, src *memory.Source) error {
	out := w.stdout
	var page bytes.Buffer
	if s.memory.Stop { // until the process goes on nobody is waited for
		w.stdout = &page
	}
	var err error
	switch s.command {
	case commandScheduler:
		err = s.schedulers(ctx, w, src.Reader)
	default:
		err = s.report(ctx, w, src)
	}
	closed := src.Close()
	if cost := src.Cost(); cost != "" {
		fmt.Fprintf(w.stderr, "vtdump: %s\n", cost)
	}
	if _, wErr := page.WriteTo(out); wErr != nil && (err == nil || err == errFound) {
		return written(0, wErr)
	}
	if err == nil {
		err = closed
	}
	return err
}

// explainMemory adds the next step to an error of opening memory.
func (s *settings) explainMemory(err error) error {
	var denied *memory.Denied
	switch {
	case errors.As(err, new(hint)), errors.As(err, new(usageError)):
		return err
	case errors.As(err, &denied):
		return hint{named(s.target, err), denied.Try}
	case errors.Is(err, memory.ErrNoCore):
		return hint{named(s.target, err), "a core file of the kernel, of gcore, or of dlv's dump"}
	case memory.IsCore(s.target) && strings.Contains(err.Error(), "is cut"):
		return hint{named(s.target, err), "the whole core file: " + s.target + " ends before its segments do; was there room on the disk, and no limit (ulimit -c)?"}
	case errors.Is(err, memory.ErrNotGo):
		return hint{named(s.target, err), "vtdump, for a list; of a Go program that serves package net/http/pprof:\n" +
			"     vtdump http://HOST:PORT/debug/pprof/"}
	case errors.Is(err, flight.ErrNotVtscope):
		return hint{named(s.target, err), "vtdump, for a list; in memory a program is found from 0.1 s after its start on, unless it runs with VTSCOPE=off"}
	case memory.IsCore(s.target) && errors.Is(err, flight.ErrFormat):
		return hint{named(s.target, err), "its flight file, PID-STARTTIME.flight, beside the core; for the next time: the kernel leaves shared memory out of\n" +
			"     cores unless bit 3 of coredump_filter is set, which the recorder sets where it may"}
	}
	return explain(s.call(), s.target, err)
}

var _ dump.Source = (*memory.Source)(nil)
