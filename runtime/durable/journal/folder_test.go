package journal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

func begun(id string) journal.Entry {
	return journal.Entry{Thread: id, Op: journal.OpNew, Body: "b", Args: json.RawMessage("1")}
}

func stepped(id, name string) journal.Entry {
	return journal.Entry{Thread: id, Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepDo, Name: name, Value: json.RawMessage("1")}}
}

// write writes a file of records, each of one entry.
func write(t *testing.T, path string, entries ...journal.Entry) {
	t.Helper()
	var all []byte
	for _, e := range entries {
		record, err := journal.NewRecord([]journal.Entry{e})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record...)
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

// told is what a folder tells: each thread with the number of its steps.
func told(f *journal.Folder) (all []string) {
	for _, im := range f.Trees.Roots() {
		all = append(all, fmt.Sprint(im.ID, " ", len(im.Steps)))
	}
	return all
}

// names are the names of all files of a folder, with their sizes.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(e.Name(), " ", info.Size()))
	}
	return all
}

func TestAFolderIsReadWithoutBeingChanged(t *testing.T) {
	dir := t.TempDir()
	write(t, journal.LogPath(dir, 1), begun("gone"))
	write(t, journal.BasePath(dir, 2), begun("a"), stepped("a", "one"))
	write(t, journal.BasePath(dir, 3)+".tmp", begun("b"))
	write(t, journal.LogPath(dir, 3), stepped("a", "two"))
	write(t, journal.LogPath(dir, 4), begun("c"), stepped("c", "half"))
	info, err := os.Stat(journal.LogPath(dir, 4))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(journal.LogPath(dir, 4), info.Size()-10); err != nil {
		t.Fatal(err)
	}
	before := names(t, dir)
	f, err := journal.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := told(f), []string{"a 2", "c 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if f.Tail == 0 || f.Bytes == 0 || f.Files.Base != 2 || f.Files.Newest() != 4 || len(f.Files.Stale) != 2 {
		t.Errorf("got %d bytes at the end, %d in all, %+v", f.Tail, f.Bytes, f.Files)
	}
	if after := names(t, dir); !slices.Equal(before, after) {
		t.Errorf("the folder was changed: %q, before %q", after, before)
	}
}

func TestDamageOfAFolderIsTold(t *testing.T) {
	dir := t.TempDir()
	write(t, journal.LogPath(dir, 1), begun("a"), begun("b"))
	write(t, journal.LogPath(dir, 2))
	b, err := os.ReadFile(journal.LogPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-3] ^= 1
	if err := os.WriteFile(journal.LogPath(dir, 1), b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := journal.ReadFolder(dir)
	if !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if got := told(f); !slices.Equal(got, []string{"a 0"}) {
		t.Errorf("before the damage: got %q", got)
	}
	if _, err := journal.ReadFolder(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: got %v", err)
	}
}

func FuzzRecords(f *testing.F) {
	record, err := journal.NewRecord([]journal.Entry{begun("a"), stepped("a", "one"), {Thread: "a", Op: journal.OpWhole, Image: family()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	dir := f.TempDir()
	path := filepath.Join(dir, "records")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var trees journal.Trees
		size, _ := journal.ReadFile(path, true, func(e journal.Entry) error { return trees.Apply(&e) })
		if size > int64(len(b)) {
			t.Errorf("%d bytes of %d are records", size, len(b))
		}
		for _, im := range trees.Roots() {
			_ = im.Check()
		}
	})
}

// What cannot be read is not what a process was writing when it ended: nothing of it is cut off.
func TestAFileThatCannotBeReadIsNoTail(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(journal.LogPath(dir, 1), 0o700); err != nil { // it can be opened, and not be read
		t.Fatal(err)
	}
	if _, err := journal.ReadFile(journal.LogPath(dir, 1), true, func(journal.Entry) error { return nil }); err == nil {
		t.Error("it was read")
	}
}
