package vfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadFile reads all of a file, as [os.ReadFile].
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := 0
	if info, err := f.Stat(); err == nil {
		size = int(min(info.Size(), largest))
	}
	b := make([]byte, 0, max(size+1, 512)) // one more, to see the end; those of /proc say that they have nothing
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return b, err
		}
		if cap(b)-len(b) < 512 {
			b = append(b, make([]byte, 512)...)[:len(b)]
		}
	}
}

// WriteFile makes a file have these contents, as [os.WriteFile].
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	return err
}

// ReadDir lists a folder, sorted by name, as [os.ReadDir].
func ReadDir(name string) ([]fs.DirEntry, error) {
	return outside(name, false, func() ([]fs.DirEntry, error) { return os.ReadDir(name) })
}

// Stat describes a file, as [os.Stat].
func Stat(name string) (fs.FileInfo, error) {
	return outside(name, false, func() (fs.FileInfo, error) { return os.Stat(name) })
}

// Lstat describes a file or symbolic link, as [os.Lstat].
func Lstat(name string) (fs.FileInfo, error) {
	return outside(name, false, func() (fs.FileInfo, error) { return os.Lstat(name) })
}

// Readlink returns where a symbolic link points to, as [os.Readlink].
func Readlink(name string) (string, error) {
	return outside(name, false, func() (string, error) { return os.Readlink(name) })
}

// CreateTemp makes a file with a new name, as [os.CreateTemp].
func CreateTemp(dir, pattern string) (*File, error) {
	return wrapped(outside(dir, false, func() (*os.File, error) { return os.CreateTemp(dir, pattern) }))
}

// MkdirTemp makes a folder with a new name, as [os.MkdirTemp].
func MkdirTemp(dir, pattern string) (string, error) {
	return outside(dir, false, func() (string, error) { return os.MkdirTemp(dir, pattern) })
}

// Mkdir makes a folder, as [os.Mkdir].
func Mkdir(name string, perm fs.FileMode) error {
	return named(name, func() error { return os.Mkdir(name, perm) })
}

// MkdirAll makes a folder and those around it, as [os.MkdirAll].
func MkdirAll(name string, perm fs.FileMode) error {
	return named(name, func() error { return os.MkdirAll(name, perm) })
}

// Remove removes a file or an empty folder, as [os.Remove].
func Remove(name string) error { return named(name, func() error { return os.Remove(name) }) }

// RemoveAll removes a file, or a folder with all in it, as [os.RemoveAll].
func RemoveAll(name string) error { return named(name, func() error { return os.RemoveAll(name) }) }

// Rename gives a file another name, as [os.Rename].
func Rename(from, to string) error { return named(from, func() error { return os.Rename(from, to) }) }

// Link makes a hard link, as [os.Link].
func Link(from, to string) error { return named(to, func() error { return os.Link(from, to) }) }

// Symlink makes a symbolic link, as [os.Symlink].
func Symlink(from, to string) error { return named(to, func() error { return os.Symlink(from, to) }) }

// Truncate changes the size of a file, as [os.Truncate].
func Truncate(name string, size int64) error {
	return named(name, func() error { return os.Truncate(name, size) })
}

// Chmod changes the mode of a file, as [os.Chmod].
func Chmod(name string, mode fs.FileMode) error {
	return named(name, func() error { return os.Chmod(name, mode) })
}

func named(name string, call func() error) error {
	_, err := outside(name, false, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// DirFS is the tree of files below a folder, as [os.DirFS]. The result also is a [fs.StatFS], [fs.ReadFileFS], [fs.ReadDirFS] and [fs.ReadLinkFS].
func DirFS(dir string) fs.FS { return dirFS(dir) }

type dirFS string

func (d dirFS) os() fs.FS { return os.DirFS(string(d)) }

// join returns the path of a name.
func (d dirFS) join(op, name string) (string, error) {
	path, err := filepath.Localize(name)
	switch {
	case d == "":
		err = errors.New("vfile: DirFS with empty root")
	case err != nil:
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return filepath.Join(string(d), path), nil
}

// as gives an error the name that the caller knows.
func as(name string, err error) error {
	if e, ok := err.(*fs.PathError); ok {
		e.Path = name
	}
	return err
}

func (d dirFS) Open(name string) (fs.File, error) {
	path, err := d.join("open", name)
	if err != nil {
		return nil, err
	}
	f, err := Open(path)
	if err != nil {
		return nil, as(name, err)
	}
	return f, nil
}

func (d dirFS) ReadFile(name string) ([]byte, error) {
	path, err := d.join("readfile", name)
	if err != nil {
		return nil, err
	}
	b, err := ReadFile(path)
	if err != nil {
		return nil, as(name, err)
	}
	return b, nil
}

func (d dirFS) Stat(name string) (fs.FileInfo, error) {
	return outside(name, false, func() (fs.FileInfo, error) { return fs.Stat(d.os(), name) })
}

func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return outside(name, false, func() ([]fs.DirEntry, error) { return fs.ReadDir(d.os(), name) })
}

func (d dirFS) Lstat(name string) (fs.FileInfo, error) {
	return outside(name, false, func() (fs.FileInfo, error) { return fs.Lstat(d.os(), name) })
}

func (d dirFS) ReadLink(name string) (string, error) {
	return outside(name, false, func() (string, error) { return fs.ReadLink(d.os(), name) })
}
