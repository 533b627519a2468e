package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
)

// drill is what flags say of the part of a dump that is wanted.
type drill struct {
	scope  *filter.Filter
	group  string // a key or a place
	thread flight.ThreadID
	waits  bool // whom they wait for
	events bool // of the thread
	locals bool // of the thread
}

// check reports what does not go together.
func (d *drill) check(s *settings) error {
	one := ""
	switch {
	case d.thread != 0 && d.group != "":
		return usageError{"--thread and --group: only one of them", s.call() + " " + s.target + " --thread " + fmt.Sprint(d.thread)}
	case d.thread != 0 && s.command != commandEvents:
		one = "--thread"
	case d.group != "":
		one = "--group"
	}
	switch {
	case d.locals && (d.thread == 0 || s.command != commandThreads):
		return usageError{"--locals needs a process and --thread", "vtdump PID --thread ID --locals"}
	case d.events && d.locals:
		return usageError{"--events and --locals: only one of them", s.call() + " " + s.target + " --thread " + fmt.Sprint(d.thread) + " --locals"}
	case d.waits && (d.thread != 0 || len(s.by) > 0 || s.growth > 0):
		return usageError{"--waits is of a group, a scope or a filter" + map[bool]string{true: "; --thread tells what the thread waits for"}[d.thread != 0], s.call() + " " + s.target + " --group 1 --waits"}
	case d.waits && s.format != "text" && s.format != "json":
		return usageError{"--waits is text or json", s.call() + " " + s.target + " --waits --json"}
	case d.events && d.thread == 0:
		return usageError{"--events needs --thread", "vtdump events " + s.target + ", for those of all"}
	case d.events && s.format == "json":
		return usageError{"--events is text", "vtdump events --json " + s.target + " --thread " + fmt.Sprint(d.thread)}
	case one != "" && s.format == "folded":
		return usageError{"--format folded means nothing to " + one, "--filter, or --scope"}
	case one != "" && s.growth > 0:
		return usageError{"--growth means nothing to " + one, "vtdump diff " + s.target + " --every " + s.growth.String()}
	case s.marks.file != "" && len(s.by) > 0:
		return usageError{"--by means nothing to --marks: marks are of groups by scope and stack", "without --by"}
	case one != "" && len(s.by) > 0:
		return usageError{"--by means nothing to " + one, "--filter, or --scope"}
	}
	return nil
}

// narrow adds --scope to the filter.
func (s *settings) narrow() error {
	if s.drill.scope == nil {
		return nil
	}
	f, err := filter.All(s.drill.scope, s.filter)
	if err != nil {
		return usageError{fmt.Sprintf("--scope and --filter: %v", err), "a shorter --filter"}
	}
	s.filter = f
	return nil
}

func threadID(v string) (flight.ThreadID, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(v, "#"), 10, 64)
	if err != nil || n == 0 {
		return 0, errors.New("want the number of a thread, such as 5123")
	}
	return flight.ThreadID(n), nil
}

// one prints the group or the thread that is wanted of a source, and reports whether one is.
func (s *settings) one(ctx context.Context, w world, r dump.Source) (bool, error) {
	switch {
	case s.drill.waits:
		return true, s.waitsOf(ctx, w, r)
	case s.drill.thread != 0:
		return true, s.oneThread(ctx, w, r)
	case s.drill.group != "":
		return true, s.oneGroup(ctx, w, r)
	}
	return false, nil
}

func (s *settings) oneThread(ctx context.Context, w world, r dump.Source) error {
	report, err := dump.TakeThread(ctx, r, s.drill.thread)
	live := dump.FlightReader(r) != nil
	if errors.As(err, new(dump.NoThreadError)) {
		if s.drill.events && live {
			return s.eventsOf(ctx, w, r, true)
		}
		return hint{fmt.Errorf("%s: %w", s.target, err), s.call() + " " + s.target + " --filter 'name~...', or vtdump events " + s.target + " --thread " +
			fmt.Sprint(s.drill.thread) + ", for what it did"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	if s.drill.locals {
		return s.printLocals(ctx, w, r, report)
	}
	if s.format == "json" {
		return written(0, dump.ThreadJSON(w.stdout, report))
	}
	if err := written(0, dump.ThreadText(w.stdout, report, s.textOptions(w))); err != nil {
		return err
	}
	if !s.drill.events {
		return nil
	}
	if err := written(fmt.Fprintln(w.stdout)); err != nil {
		return err
	}
	if live {
		return s.eventsOf(ctx, w, r, false)
	}
	return s.printEvents(ctx, w)
}

// eventsOf prints what is still known of what the thread did. If the thread has ended, it is an error that nothing is.
func (s *settings) eventsOf(ctx context.Context, w world, r dump.Source, ended bool) error {
	most := dump.UsualEvents
	switch s.top {
	case unset:
	case 0:
		most = math.MaxInt32
	default:
		most = s.top
	}
	all, err := dump.TakeThreadEvents(ctx, r, s.drill.thread, most)
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	if ended && len(all.Events) == 0 {
		return hint{fmt.Errorf("%s: there is no thread #%d, and no event of one is still known: it ended long ago, or there never was one", s.target, s.drill.thread),
			s.call() + " " + s.target + " --filter 'name~...'"}
	}
	return written(0, dump.ThreadEventsText(w.stdout, all, s.textOptions(w)))
}

// waitsOf prints whom the threads wait for that are wanted. It returns errFound if they are in a deadlock, or wait for one.
func (s *settings) waitsOf(ctx context.Context, w world, r dump.Source) error {
	if !dump.KnowsWaits(r) {
		return hint{fmt.Errorf("%s: --waits: %w", s.target, dump.ErrNoWaits), "vtdump PID --waits, of a process or a core file; or --thread ID, for what one thread waits for"}
	}
	key := ""
	if s.drill.group != "" {
		snap, err := dump.Take(ctx, r, s.takeOptions())
		if err != nil {
			return fmt.Errorf("%s: %w", s.target, err)
		}
		if key, err = snap.GroupKey(s.drill.group); err != nil {
			return s.noGroup(err, snap)
		}
	}
	all, err := dump.TakeWaitsOf(ctx, r, key, s.takeOptions())
	if errors.As(err, new(dump.NoGroupError)) {
		return hint{fmt.Errorf("%s: --group: %w", s.target, err), s.call() + " " + s.target + " --waits"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	return s.printWaits(w, all)
}

func (s *settings) oneGroup(ctx context.Context, w world, r dump.Source) error {
	snap, err := dump.Take(ctx, r, s.takeOptions())
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	key, err := snap.GroupKey(s.drill.group)
	if err != nil {
		return s.noGroup(err, snap)
	}
	report, err := dump.TakeGroup(ctx, r, key, s.takeOptions())
	if errors.As(err, new(dump.NoGroupError)) {
		report, err = dump.GroupOf(snap, key) // its threads have moved on in between
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	return s.printGroup(w, report)
}

// groupInFile prints a group of a snapshot whose threads are known by their groups alone.
func (s *settings) groupInFile(w world, snap *dump.Snapshot) error {
	key, err := snap.GroupKey(s.drill.group)
	if err != nil {
		return s.noGroup(err, snap)
	}
	report, err := dump.GroupOf(snap, key)
	if err != nil {
		return err
	}
	return s.printGroup(w, report)
}

func (s *settings) printGroup(w world, report *dump.GroupReport) error {
	if s.format == "json" {
		return written(0, dump.GroupJSON(w.stdout, report))
	}
	return written(0, dump.GroupText(w.stdout, report, s.textOptions(w)))
}

// noGroup adds the groups that may be meant.
func (s *settings) noGroup(err error, snap *dump.Snapshot) error {
	var no dump.NoGroupError
	try := s.call() + " " + s.target + ", where each group has its key; or --group 1, the largest"
	if errors.As(err, &no) && len(no.Keys) > 0 {
		var tries []string
		for _, key := range no.Keys[:min(len(no.Keys), 5)] {
			tries = append(tries, "--group "+key)
		}
		try = strings.Join(tries, "\n")
	}
	return hint{fmt.Errorf("%s: --group: %w", s.target, err), try}
}
