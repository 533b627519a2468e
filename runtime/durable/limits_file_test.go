package durable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// limited opens the store of a folder, and returns the roots that it has.
func limited(dir string, l journal.Limits) (*durable.FileStore, []*journal.Image, error) {
	s, err := durable.NewFileStore(dir, durable.FileOptions{SegmentSize: 1 << 20, Limits: l})
	if err != nil {
		return nil, nil, err
	}
	var trees journal.Trees
	if err := s.Load(func(e journal.Entry) error { return trees.Apply(&e) }); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, trees.Roots(), nil
}

// DU-13: what is more than the limits of a store is not committed; and what larger ones have let pass is not opened with smaller ones, and stays as it is.
func TestAStoreTakesNoMoreThanItReads(t *testing.T) {
	dir := t.TempDir()
	s, _, err := limited(dir, journal.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	large := journal.Entry{Thread: "a", Op: journal.OpNew, Body: "b", Args: json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)}
	if err := s.Commit(large); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sizes := func() (all []string) {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, l := range logs {
			info, err := os.Stat(l)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(filepath.Base(l), " ", info.Size()))
		}
		return all
	}
	before := sizes()
	for want, l := range map[error]journal.Limits{journal.ErrTooLarge: {Bytes: 1 << 20}, journal.ErrMemory: {Memory: 1 << 20}} {
		if _, _, err := limited(dir, l); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		s, _, err := limited(t.TempDir(), l)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(large); !errors.Is(err, want) {
			t.Errorf("a commit: got %v, want %v", err, want)
		}
		if err := s.Commit(journal.Entry{Thread: "c", Op: journal.OpNew, Body: "b"}); err != nil {
			t.Errorf("a commit after one that was too large: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := sizes(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the files are %q, and were %q", after, before)
	}
	if _, _, err := (limited(dir, journal.Limits{Memory: -1})); err == nil {
		t.Error("a limit of -1 was taken")
	}
}

// A thread that is more than a record may be, with all that it has learned, is folded all the same.
func TestAThreadLargerThanARecordIsFolded(t *testing.T) {
	dir := t.TempDir()
	l := journal.Limits{Bytes: 1 << 20}
	s, _, err := limited(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(journal.Entry{Thread: "a", Op: journal.OpNew, Body: "b"}); err != nil {
		t.Fatal(err)
	}
	value := json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`)
	const n = 40 // 8 MB, and a record has 2
	for i := range n {
		if err := s.Commit(journal.Entry{Thread: "a", Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepDo, Name: fmt.Sprint(i), Value: value}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, _, err = limited(dir, l); err != nil { // it is worth folding when it is opened, whatever was folded before
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := journal.List(dir)
	if err != nil || files.Base < 3 { // two of them are a record
		t.Errorf("got %+v, %v, want a base of more than a record", files, err)
	}
	s, roots, err := limited(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(roots) != 1 || len(roots[0].Steps) != n || roots[0].Steps[n-1].Name != fmt.Sprint(n-1) {
		t.Errorf("got %d roots", len(roots))
	}
}
