package main

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
)

var _ dump.Moment = (*recording.Moment)(nil)

// replay prints the threads of a recording as they were at a moment.
func (s *settings) replay(ctx context.Context, w world) error {
	f, at, err := s.openRecording()
	if err != nil {
		return err
	}
	defer f.Close()
	switch {
	case at == "":
		at = s.at
	case s.at != "":
		return usageError{"two moments: " + at + " and " + s.at, "vtdump " + s.target}
	}
	when, err := moment(at, f)
	if err != nil {
		return err
	}
	if len(s.by) > 0 || s.drill.thread != 0 || s.drill.group != "" {
		m, err := f.At(ctx, when)
		if err != nil {
			return hint{err, "--at with a time in between, or without it for the end"}
		}
		if done, err := s.one(ctx, w, m); done {
			return err
		}
		return s.table(ctx, w, m)
	}
	snap, err := s.snapshotAt(ctx, f, when)
	if err != nil {
		return err
	}
	if s.growth > 0 {
		before, err := s.snapshotAt(ctx, f, when-s.growth)
		if err != nil {
			return err
		}
		snap.Taken = before.Taken.Add(s.growth)
		dump.Compare(before, snap)
	}
	return s.print(w, snap)
}

func (s *settings) snapshotAt(ctx context.Context, f *recording.File, when time.Duration) (*dump.Snapshot, error) {
	m, err := f.At(ctx, when)
	if err != nil {
		return nil, hint{err, "--at with a time in between, or without it for the end"}
	}
	return dump.Take(ctx, m, s.takeOptions())
}

// moment returns the time since the beginning of the recording that a text says: see [recording.File.When].
func moment(text string, f *recording.File) (time.Duration, error) {
	when, err := f.When(text)
	if err != nil {
		return 0, usageError{fmt.Sprintf("%q is no moment", text), "12s after the beginning, -3s before the end, or a time such as " + f.Info().From.Local().Format("15:04:05")}
	}
	return when, nil
}
