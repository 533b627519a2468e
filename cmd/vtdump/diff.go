package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/memory"
)

// diffFlags are what flags of vtdump diff ask for.
type diffFlags struct {
	failOn []dump.Change
	least  int
}

// diff prints what changed from one target to another, or of one every so often. It returns errFound if something changed in a way that --fail-on names.
func (s *settings) diff(ctx context.Context, w world) error {
	switch {
	case len(s.more) > 1:
		return usageError{fmt.Sprintf("diff compares two, not %d", 1+len(s.more)), "vtdump diff " + s.target + " " + s.more[0]}
	case len(s.more) == 1 && s.every > 0:
		return usageError{"--every: two targets are compared once", "vtdump diff " + s.target + " " + s.more[0]}
	case len(s.more) == 0 && s.every == 0:
		return usageError{"diff needs two targets, or --every", "vtdump diff " + s.target + " --every 5s; or vtdump --json " + s.target + " > before.json, and\n" +
			"later vtdump diff before.json " + s.target}
	case len(s.more) == 0:
		if isAddress(s.target) {
			return usageError{s.target + " is an address, and diff --every needs a process of this machine", diffFiles(s.target)}
		}
		return s.diffEvery(ctx, w)
	}
	old, err := s.snapshotOf(ctx, w, s.target)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(ctx, w, s.more[0])
	if err != nil {
		return err
	}
	return s.printDiff(w, old, snap)
}

// diffEvery compares a process with itself so long before, until Ctrl-C, its end, --times, or a change that --fail-on names.
func (s *settings) diffEvery(ctx context.Context, w world) error {
	if isDump(s.target) || memory.IsCore(s.target) || s.hasTraces(ctx, w) || isRecording(s.target) || isBundle(s.target) {
		return usageError{"--every: " + s.target + " does not change", "vtdump diff " + s.target + " ANOTHER"}
	}
	r, err := s.opened(w)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var old *dump.Snapshot
	for n := 0; ; n++ {
		snap, err := dump.Take(ctx, r, s.takeOptions())
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.target, err)
		}
		if old != nil {
			if n > 1 && s.format != "json" {
				if err := written(fmt.Fprintln(w.stdout)); err != nil {
					return err
				}
			}
			if err := s.printDiff(w, old, snap); err != nil {
				return err
			}
			if n == s.times {
				return nil
			}
		}
		if snap.Process.Status.Gone() {
			return hint{fmt.Errorf("%s: the process is %s", s.target, snap.Process.Status), "vtdump " + s.target + ", for its last threads"}
		}
		old = snap
		if pause(ctx, s.every) != nil {
			return nil
		}
	}
}

// diffFiles tells how two moments of an agent's process are compared.
func diffFiles(target string) string {
	return "vtdump --json " + target + " > before.json, later the same > after.json, and\nthen vtdump diff before.json after.json"
}

func (s *settings) printDiff(w world, old, snap *dump.Snapshot) error {
	s.marks.known.Apply(old)
	s.marks.known.Apply(snap)
	d := dump.DiffOf(old, snap, dump.DiffOptions{Similar: s.similar, Templates: s.templates, Least: s.diffs.least})
	found := d.Found(s.diffs.failOn)
	if s.format == "json" {
		if s.top > 0 {
			d.KeepTop(s.top)
		}
		if err := written(0, dump.DiffJSON(w.stdout, d)); err != nil {
			return err
		}
	} else if err := written(0, dump.DiffText(w.stdout, d, s.textOptions(w))); err != nil {
		return err
	}
	if found == 0 {
		return nil
	}
	var words []string
	for _, c := range s.diffs.failOn {
		if n := d.ScopeCounts[c] + d.GroupCounts[c]; n > 0 {
			words = append(words, fmt.Sprintf("%s %s", dump.Thousands(n), c))
		}
	}
	fmt.Fprintf(w.stderr, "vtdump: --fail-on: %s\n", strings.Join(words, ", "))
	return errFound
}
