package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/goroutines"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/internal/plainfile"
)

// snapshotOf takes the snapshot of any target: a process, a moment of a recording, what a bundle has, what vtdump --json has written, or a dump of others.
func (s *settings) snapshotOf(ctx context.Context, w world, target string) (*dump.Snapshot, error) {
	t := *s
	t.target = target
	path, at := splitMoment(target)
	switch {
	case isRemote(target):
		return t.snapshotOverNetwork(ctx)
	case isTraces(target):
		src, err := t.readTraces(ctx, w)
		if errors.Is(err, goroutines.ErrNone) && target != fromStdin {
			break
		}
		if err != nil {
			return nil, noTraces(target, err)
		}
		return dump.Take(ctx, src, t.takeOptions())
	case isDump(target):
		return t.snapshotInFile()
	case isRecording(target), at != "" && isBundle(path):
		f, at, err := t.openRecording()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		when, err := moment(at, f)
		if err != nil {
			return nil, err
		}
		return t.snapshotAt(ctx, f, when)
	case isBundle(target):
		b, err := incident.Open(target)
		if err != nil {
			return nil, hint{err, "vtdump incident PID, which makes one"}
		}
		defer b.Close()
		return t.snapshotInBundle(b)
	}
	r, err := t.opened(w)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	snap, err := dump.Take(ctx, r, t.takeOptions())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	return snap, nil
}

// isDump reports whether a target is a file that looks like JSON.
func isDump(target string) bool {
	f, err := plainfile.Open(target)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [16]byte
	n, _ := io.ReadFull(f, b[:])
	return bytes.HasPrefix(bytes.TrimLeft(b[:n], " \t\r\n"), []byte("{"))
}

// largestDump is how many bytes of JSON are read.
const largestDump = 1 << 30

// snapshotInFile reads what vtdump --json has written.
func (s *settings) snapshotInFile() (*dump.Snapshot, error) {
	b, err := plainfile.Read(s.target, largestDump)
	if err != nil {
		return nil, hint{err, "vtdump --json PID > FILE, which writes one"}
	}
	snap, err := dump.ParseJSON(b)
	if err != nil {
		return nil, hint{fmt.Errorf("%s: %w", s.target, err), "a file that vtdump --json PID wrote"}
	}
	return snap, s.fits(snap)
}

func (s *settings) snapshotInBundle(b *incident.Bundle) (*dump.Snapshot, error) {
	text, err := b.JSON("snapshot")
	if err != nil {
		return nil, hint{err, "vtdump open " + s.target}
	}
	snap, err := dump.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: snapshot: %w", s.target, err)
	}
	return snap, s.fits(snap)
}

// fits refuses a filter of threads for those that are folded already.
func (s *settings) fits(snap *dump.Snapshot) error {
	if f := s.filter.String(); f != "" && f != snap.Filter {
		return hint{fmt.Errorf("--filter: %s has groups, and not the threads that a filter chooses", s.target),
			"vtdump --json --filter ... PID, when it is written"}
	}
	return nil
}

// dumpFile prints what vtdump --json has written.
func (s *settings) dumpFile(w world) error {
	if s.command != commandThreads {
		return usageError{fmt.Sprintf("%s is a dump, and %s needs a process", s.target, formOf(s.command).word), "vtdump " + s.target}
	}
	snap, err := s.snapshotInFile()
	if err != nil {
		return err
	}
	return s.printFolded(w, "a dump", snap)
}

// printFolded prints a snapshot whose threads are known by their groups alone.
func (s *settings) printFolded(w world, what string, snap *dump.Snapshot) error {
	for _, f := range []struct {
		given bool
		name  string
	}{{s.growth > 0, "--growth"}, {len(s.by) > 0, "--by"}, {s.similar != dump.SameLines, "--similar"}, {s.templates, "--templates"}} {
		if f.given {
			return hint{fmt.Errorf("%s: %s has one snapshot, of groups that are folded", f.name, what), "without " + f.name}
		}
	}
	if s.drill.waits {
		return hint{fmt.Errorf("--waits: %s has groups, and not who holds what", what), "vtdump PID --waits, of a process or a core file"}
	}
	if s.drill.thread != 0 {
		return hint{fmt.Errorf("--thread: %s has groups, and not threads", what), "--group 1, for the largest, with some of its threads"}
	}
	if s.drill.group != "" {
		return s.groupInFile(w, snap)
	}
	return s.print(w, snap)
}
