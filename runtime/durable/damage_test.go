package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// What makes a store that nobody can open is refused when it is made.
func TestAStoreCanBeOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	register(t, r, "down", func(th *durable.Thread, n int) (int, error) {
		c, err := durable.Fork(th, "down", n+1)
		if err != nil {
			durable.Park(th, "bottom")
			return n, nil
		}
		return durable.Join[int](th, c)
	})
	register(t, r, "two", func(th *durable.Thread, _ int) (int, error) {
		_, err := durable.Fork(th, "one", 1)
		durable.Park(th, "p")
		return 0, err
	})
	register(t, r, "one", func(th *durable.Thread, _ int) (int, error) { durable.Park(th, "p"); return 0, nil })
	k := open(t, dir, r)
	for _, id := range []string{"order/1", "bad \xff"} {
		if _, err := k.Start(id, "one", 1); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
	if _, err := k.Start("order", "two", 1); err != nil {
		t.Fatal(err)
	}
	deep, err := k.Start("deep", "down", 1)
	if err != nil {
		t.Fatal(err)
	}
	bottom := func() *durable.Thread {
		th := deep
		for {
			c := th.Child(1)
			if c == nil {
				return th
			}
			th = c
		}
	}
	until(t, "the last generation", func() bool {
		s := bottom().Steps()
		return len(s) > 0 && s[len(s)-1].Kind == journal.StepPark
	})
	if n := strings.Count(bottom().ID(), "/"); n != journal.MaxGenerations-1 {
		t.Errorf("%d generations, want %d", n+1, journal.MaxGenerations)
	}
	closed(t, k)
	k = open(t, dir, r)
	deep = k.Thread("deep")
	if err := bottom().Unpark(); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.Result[int](deep); got != journal.MaxGenerations || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	closed(t, k)
}

// DU-13: only what a process was writing when it ended is cut off.
func TestDamageInTheMiddleOfTheNewestFileIsTold(t *testing.T) {
	dir := t.TempDir()
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(func(journal.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "000000000001.log")
	var ends []int64
	for i := range 4 {
		if err := s.Commit(journal.Entry{Thread: fmt.Sprint(i), Op: journal.OpNew, Body: "b"}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, info.Size())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	load := func(b []byte) error {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "000000000001.log"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.Load(func(journal.Entry) error { return nil })
		if _, read := journal.ReadFolder(dir); (read == nil) != (err == nil) {
			t.Errorf("Load: %v, ReadFolder: %v", err, read)
		}
		return err
	}
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 0x10
		err := load(damaged)
		if last := int64(i) >= ends[2]; last && err != nil || !last && !errors.Is(err, journal.ErrDamaged) {
			t.Fatalf("byte %d of %v was changed: %v", i, ends, err)
		}
	}
}

// DU-13: a file that is missing is damage.
func TestAMissingFileIsTold(t *testing.T) {
	dir := t.TempDir()
	r := durable.NewRegistry()
	register(t, r, "b", func(_ *durable.Thread, n int) (int, error) { return n, nil })
	for i := range 4 {
		s, err := durable.NewFileStore(dir, durable.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := durable.Open(durable.KeeperOptions{Registry: r, Store: s})
		if err != nil {
			t.Fatal(err)
		}
		th, err := k.Start("", "b", i)
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Join(); err != nil {
			t.Fatal(err)
		}
		closed(t, k)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) < 3 {
		t.Fatalf("%q, %v", logs, err)
	}
	if err := os.Remove(logs[1]); err != nil {
		t.Fatal(err)
	}
	s, err := durable.NewFileStore(dir, durable.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(func(journal.Entry) error { return nil }); !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), logs[1]) {
		t.Errorf("got %v, want one that tells of %s", err, logs[1])
	}
}
