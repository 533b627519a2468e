package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
)

// markFlags are what flags about marks ask for.
type markFlags struct {
	file  string
	note  string
	known dump.Marks // what is in file
}

// usualMarks is the file that vtdump mark writes by default.
const usualMarks = "vtdump.marks"

// readMarks reads the marks of --marks. Without missing, the file must be there.
func (s *settings) readMarks(missing bool) error {
	text, err := plainfile.Read(s.marks.file, dump.MaxMarks)
	if errors.Is(err, fs.ErrNotExist) && missing {
		return nil
	}
	if err != nil {
		return hint{fmt.Errorf("--marks: %w", err), "vtdump mark TARGET GROUP good --marks " + s.marks.file + ", which makes one"}
	}
	known, err := dump.ParseMarks(string(text))
	if err != nil {
		return hint{fmt.Errorf("--marks: %s: %w", s.marks.file, err), "mend the line"}
	}
	s.marks.known = *known
	return nil
}

// mark marks a group in the file.
func (s *settings) mark(ctx context.Context, w world) error {
	usage := "vtdump mark " + s.target + " GROUP good, suspicious or none; a GROUP is its key, or N for the Nth largest"
	if len(s.more) != 2 {
		return usageError{"mark needs a group and a mark", usage}
	}
	mark := dump.Mark(s.more[1])
	if mark != dump.Good && mark != dump.Suspicious && mark != dump.NoMark {
		return usageError{fmt.Sprintf("%q is no mark", s.more[1]), usage}
	}
	s.marks.file = cmp.Or(s.marks.file, usualMarks)
	if err := s.readMarks(true); err != nil {
		return err
	}
	snap, err := s.snapshotOf(ctx, w, s.target)
	if err != nil {
		return err
	}
	key, err := snap.GroupKey(s.more[0])
	if err != nil {
		return s.noGroup(err, snap)
	}
	at := slices.IndexFunc(snap.Groups, func(g dump.Group) bool { return g.Key == key })
	similar := dump.SameFunctions // lines are others in the next build
	if s.given("similar") {
		similar = s.similar
	}
	line := s.marks.known.Remark(snap, at, similar, mark, s.marks.note)
	if err := writeWhole(s.marks.file, plainfile.ModeOf(s.marks.file, 0o644), func(to io.Writer) error { _, err := io.WriteString(to, s.marks.known.String()); return err }); err != nil {
		return hint{fmt.Errorf("write marks: %w", err), "--marks FILE, another file"}
	}
	return written(fmt.Fprintf(w.stdout, "%s: %s is marked %s\n    try: vtdump %s --marks %s\n", s.marks.file, dump.Printable(line.About), mark, s.target, s.marks.file))
}
