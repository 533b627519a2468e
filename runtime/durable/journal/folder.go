package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	logSuffix  = ".log"
	baseSuffix = ".base"
	lockName   = "lock"
)

// LockPath returns the path of the file in a folder that the process has locked which uses it.
func LockPath(dir string) string { return filepath.Join(dir, lockName) }

// LogPath returns the path of a log, a file of records, in a file store's folder.
func LogPath(dir string, number uint64) string { return path(dir, number, logSuffix) }

// BasePath returns the path of a base: a file of records that stands for all files of its number and before.
func BasePath(dir string, number uint64) string { return path(dir, number, baseSuffix) }

func path(dir string, number uint64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%012d%s", number, suffix))
}

// Files are those of a file store's folder.
type Files struct {
	Base  uint64   // the number of the base; 0: there is none
	Logs  []uint64 // numbers, sorted; all are greater than Base
	Stale []string // names of files that the base stands for, or that were never finished
}

// Newest returns the highest number, 0 if there is no file.
func (f *Files) Newest() uint64 {
	if len(f.Logs) > 0 {
		return f.Logs[len(f.Logs)-1]
	}
	return f.Base
}

// Check reports whether a log is missing: they have all numbers from the base on. The error matches [ErrDamaged] and [fs.ErrNotExist].
func (f *Files) Check(dir string) error {
	for i, n := range f.Logs {
		if want := f.Base + 1 + uint64(i); n != want {
			return fmt.Errorf("%w: %w: there is a file %d behind it", ErrDamaged, &fs.PathError{Op: "read", Path: LogPath(dir, want), Err: fs.ErrNotExist}, n)
		}
	}
	return nil
}

// List looks which files are in a folder.
func List(dir string) (f Files, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return f, err
	}
	var bases, logs []uint64
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".tmp") {
			f.Stale = append(f.Stale, name)
			continue
		}
		suffix := filepath.Ext(name)
		n, bad := strconv.ParseUint(strings.TrimSuffix(name, suffix), 10, 64)
		switch {
		case bad != nil:
		case suffix == baseSuffix:
			bases = append(bases, n)
			f.Base = max(f.Base, n)
		case suffix == logSuffix:
			logs = append(logs, n)
		}
	}
	slices.Sort(logs)
	for _, n := range bases {
		if n < f.Base {
			f.Stale = append(f.Stale, filepath.Base(BasePath(dir, n)))
		}
	}
	for _, n := range logs {
		if n > f.Base {
			f.Logs = append(f.Logs, n)
		} else {
			f.Stale = append(f.Stale, filepath.Base(LogPath(dir, n)))
		}
	}
	return f, nil
}

// A Folder is what a file store's folder held at a moment.
type Folder struct {
	Trees Trees
	Files Files
	Bytes int64 // of records
	Tail  int64 // bytes at the end of the newest file that are no record: it is being written, or its process died while it wrote it
}

// maxTries is how often a folder is read again whose files are folded meanwhile.
const maxTries = 20

// ReadFolder reads the folder of a file store, which a process may use: it takes no lock, changes nothing, and what is committed meanwhile may be missing. What it returns was so
// at one moment. The error matches [ErrDamaged], or is of the file system; what was read before it is returned too.
func ReadFolder(dir string) (*Folder, error) {
	for try := 1; ; try++ {
		folder, err := readFolder(dir)
		if !errors.Is(err, fs.ErrNotExist) || try == maxTries {
			return folder, err
		}
		if _, gone := os.Stat(dir); gone != nil {
			return folder, gone
		}
		// The store has made a base of files that were there a moment ago.
	}
}

func readFolder(dir string) (*Folder, error) {
	folder := &Folder{}
	var err error
	if folder.Files, err = List(dir); err == nil {
		err = folder.Files.Check(dir)
	}
	if err != nil {
		return folder, err
	}
	read := func(path string, newest bool) error {
		info, err := os.Stat(path) // before: it may grow
		if err != nil {
			return err
		}
		size, err := ReadFile(path, newest, func(e Entry) error { return folder.Trees.Apply(&e) })
		folder.Bytes += size
		if newest {
			folder.Tail = max(0, info.Size()-size)
		}
		return err
	}
	if folder.Files.Base > 0 {
		if err := read(BasePath(dir, folder.Files.Base), false); err != nil {
			return folder, err
		}
	}
	for i, n := range folder.Files.Logs {
		if err := read(LogPath(dir, n), i == len(folder.Files.Logs)-1); err != nil {
			return folder, err
		}
	}
	return folder, nil
}
