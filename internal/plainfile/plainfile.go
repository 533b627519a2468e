package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrIrregular is what errors match about a directory, pipe, socket, device or link in the place of a file.
var ErrIrregular = errors.New("not a regular file")

// Open opens a regular file for reading. It waits for nothing: a pipe is refused, whether or not somebody writes to it. It follows links.
func Open(path string) (*os.File, error) { return open(path, os.O_RDONLY) }

// OpenFile opens a regular file with flags of [os.OpenFile]. One that it makes has mode 0600. It follows no symbolic link.
func OpenFile(path string, flags int) (*os.File, error) { return open(path, flags|openNoFollow) }

// OpenOwn opens a regular file that no other name leads to: no symbolic link is followed, and a file with two names is refused. A name in a directory that
// another user may write to can otherwise lead to any file of this user.
func OpenOwn(path string) (*os.File, error) {
	f, err := OpenFile(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := Sole(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func open(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|openNonblock, 0o600)
	if err != nil {
		if isLink(err) {
			err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("a symbolic link: %w", ErrIrregular)}
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrIrregular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// MayBeOurs reports whether a file in a directory has one name, and the directory's owner, this user or root made it.
func MayBeOurs(file, dir fs.FileInfo) bool {
	uid, known := Owner(file)
	of, _ := Owner(dir)
	return links(file) == 1 && (!known || uid == of || uid == 0 || uid == os.Geteuid())
}

// Sole returns an error unless an open file has exactly one name.
func Sole(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if n := links(info); n != 1 {
		return &fs.PathError{Op: "open", Path: f.Name(), Err: fmt.Errorf("it has %d names: %w", n, ErrIrregular)}
	}
	return nil
}

// Read returns what a regular file holds, if that is at most most bytes.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d bytes", most)}
	if info, err := f.Stat(); err != nil || info.Size() > most { // a file of holes costs who made it nothing
		return nil, errors.Join(err, tooLarge)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow
	if err == nil && int64(len(text)) > most {
		err = tooLarge
	}
	return text, err
}

// Create makes a new file of mode 0600 for reading and writing. What had the name loses it, and is not written to; a directory stays, and is an error.
func Create(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil, &fs.PathError{Op: "create", Path: path, Err: ErrIrregular}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // a name that somebody made since then is an error
}

// Replace gives path a file that write has written, of the given mode. What had the name keeps it until the new file is complete, and for good if there is an error.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ModeOf returns the permissions of the regular file at path, for [Replace] to keep, or usual if there is none.
func ModeOf(path string, usual fs.FileMode) fs.FileMode {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	return usual
}
